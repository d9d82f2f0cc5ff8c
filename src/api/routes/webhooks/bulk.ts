import { type Config, knownEvents } from '../../../config.ts';
import { withKnownEvents } from '../../../contract/list-query.ts';
import { countSchema, webhookBulkUpdateSchema, webhookMatchSchema } from '../../../contract/webhooks.ts';
import { changeMatching, countMatching, deleteMatching } from '../../../store/webhooks/change.ts';
import { changeBy } from '../../context.ts';
import { json } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Changes of all webhooks that match a filter, all or none. */
export function webhookBulkOperations(config: Config): Operation[] {
  const query = withKnownEvents(webhookMatchSchema, knownEvents(config));
  return [changeMany({ allowInsecureTargets: config.ALLOW_INSECURE_TARGETS }, query), deleteMany(query)];
}

type Match = typeof webhookMatchSchema;

function changeMany(rules: { allowInsecureTargets: boolean }, query: Match): Operation {
  return operation({
    method: 'patch',
    path: '/webhooks/classic',
    operationId: 'updateWebhooks',
    tag: 'Webhooks',
    summary: 'Update webhooks in bulk',
    description:
      'Changes the URL, the options or both of all matching webhooks, all or none. At least one filter is required.',
    permission: 'webhooks:write',
    query,
    body: webhookBulkUpdateSchema(rules),
    responses: {
      200: { description: 'The number of changed webhooks, or of matches with `dryRun`', schema: countSchema },
    },
    problems: ['conflict', 'too_many_matches', 'ordered_deliveries_waiting'],
    handle: async ({ context, caller, query: { dryRun, ...match }, body }) => {
      const { db } = context;
      const totalResults =
        dryRun === 'true'
          ? await countMatching(db, caller.entityId, match, body)
          : await changeMatching(db, caller.entityId, match, body, changeBy(context, caller));
      context.onWork();
      return json(200, { totalResults });
    },
  });
}

const deleteMany = (query: Match) =>
  operation({
    method: 'delete',
    path: '/webhooks/classic',
    operationId: 'deleteWebhooks',
    tag: 'Webhooks',
    summary: 'Delete webhooks in bulk',
    description:
      'Deletes all matching webhooks, all or none, and cancels their pending deliveries. At least one filter is required.',
    permission: 'webhooks:write',
    query,
    responses: {
      200: { description: 'The number of deleted webhooks, or of matches with `dryRun`', schema: countSchema },
    },
    problems: ['too_many_matches'],
    handle: async ({ context, caller, query: { dryRun, ...match } }) => {
      const { db } = context;
      const totalResults =
        dryRun === 'true'
          ? await countMatching(db, caller.entityId, match, null)
          : await deleteMatching(db, caller.entityId, match, changeBy(context, caller));
      context.onWork();
      return json(200, { totalResults });
    },
  });
