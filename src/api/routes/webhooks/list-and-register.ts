import { type Config, knownEvents, knownNetworks } from '../../../config.ts';
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
    networks: knownNetworks(config),
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
    'Lists the webhooks of the entity that match all given filters, sorted and paginated. `totalResults` counts all ' +
    'matches and is consistent with the page. A page past the end is empty.',
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
      'Creates a webhook for each combination of network and event, all or none. Registration is idempotent: ' +
      'combinations that are already registered for the URL are returned unchanged, and with other `options` than the ' +
      'given ones the request fails.',
    permission: 'webhooks:write',
    body: registrationSchema(rules),
    responses: {
      200: { description: 'All webhooks were already registered', schema: webhookListSchema },
      201: { description: 'Registered', schema: webhookListSchema },
    },
    problems: ['webhook_limit', 'entity_exhausted', 'conflict'],
    handle: async ({ context, caller, body }) => {
      const { networkIds: _networks, events: _events, ...settings } = body;
      const options = { ...settings, pairs: pairsOf(body, rules), entityWebhookLimit };
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
