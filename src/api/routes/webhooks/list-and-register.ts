import { type Config, knownEvents } from '../../../config.ts';
import {
  pairsOf,
  type RegistrationRules,
  registrationSchema,
  webhookListQuerySchema,
  webhookListSchema,
} from '../../../contract/webhooks.ts';
import { registerWebhooks } from '../../../store/webhooks/register.ts';
import { changeBy } from '../../context.ts';
import { json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

export function webhookOperations(config: Config): Operation[] {
  const rules: RegistrationRules = {
    allowInsecureTargets: config.ALLOW_INSECURE_TARGETS,
    networks: config.NETWORKS,
    events: knownEvents(config),
  };
  return [list, register(rules, config.ENTITY_WEBHOOK_LIMIT)];
}

const list = operation({
  method: 'get',
  path: '/webhooks/classic',
  operationId: 'listWebhooks',
  tag: 'Webhooks',
  summary: 'List webhooks',
  description:
    'Lists the webhooks of the caller’s entity that match every filter given, sorted and paged. ' +
    '`totalResults` counts all matches and is of the same moment as the page. A page past the end is empty.',
  permission: 'webhooks:read',
  query: webhookListQuerySchema,
  responses: taggedResponses(webhookListSchema),
  handle: ({ context, caller, request, query, search }) => context.webhookLists.respond(request, caller, query, search),
});

function register(rules: RegistrationRules, entityWebhookLimit: number): Operation {
  return operation({
    method: 'post',
    path: '/webhooks/classic',
    operationId: 'registerWebhooks',
    tag: 'Webhooks',
    summary: 'Register webhooks',
    description:
      'Makes one webhook for each pair of network and event, all or none. A pair that is registered for this URL ' +
      'already is returned as it is, so the request is safe to repeat.',
    permission: 'webhooks:write',
    body: registrationSchema(rules),
    responses: {
      200: { description: 'All were registered already', schema: webhookListSchema },
      201: { description: 'Registered', schema: webhookListSchema },
    },
    problems: ['webhook_limit'],
    handle: async ({ context, caller, body }) => {
      const options = { postUrl: body.postUrl, pairs: pairsOf(body, rules), entityWebhookLimit };
      const { created, webhooks } = await registerWebhooks(
        context.db,
        caller.entityId,
        options,
        changeBy(context, caller),
      );
      return json(created > 0 ? 201 : 200, { totalResults: webhooks.length, webhooks });
    },
  });
}
