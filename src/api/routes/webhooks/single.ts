import { type Config, knownEvents } from '../../../config.ts';
import { Problem } from '../../../contract/problems.ts';
import { coverageSchema, type Webhook, webhookSchema, webhookUpdateSchema } from '../../../contract/webhooks.ts';
import { deleteWebhook, moveWebhook, readWebhook } from '../../../store/webhooks/change.ts';
import { readCoverage } from '../../../store/webhooks/coverage.ts';
import { changeBy } from '../../context.ts';
import { allows, cacheableJson, etagOf, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** One webhook by its id, and the grid of all of them. */
export function singleWebhookOperations(config: Config): Operation[] {
  return [read, move({ allowInsecureTargets: config.ALLOW_INSECURE_TARGETS }), remove, coverage(config)];
}

const TAG = 'A hash of the body; send it as If-Match to change only what you have seen.';

const read = operation({
  method: 'get',
  path: '/webhooks/classic/{webhookId}',
  operationId: 'readWebhook',
  tag: 'Webhooks',
  summary: 'Read one webhook',
  permission: 'webhooks:read',
  responses: taggedResponses(webhookSchema, TAG),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readWebhook(context.db, caller.entityId, id))),
});

function move(rules: { allowInsecureTargets: boolean }): Operation {
  return operation({
    method: 'patch',
    path: '/webhooks/classic/{webhookId}',
    operationId: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Move one webhook to another URL',
    description:
      'Posts that wait for it go to the new URL. `If-Match` with its ETag changes it only if it is unchanged.',
    permission: 'webhooks:write',
    body: webhookUpdateSchema(rules),
    responses: { 200: { description: 'The webhook as it is now', schema: webhookSchema, headers: { ETag: TAG } } },
    problems: ['not_found', 'conflict', 'precondition_failed'],
    handle: async ({ context, caller, request, id, body }) => {
      const { db } = context;
      const change = changeBy(context, caller);
      const moved = await moveWebhook(db, caller.entityId, id, body.postUrl, unchangedSince(request), change);
      return cacheableJson(request, found(moved));
    },
  });
}

const remove = operation({
  method: 'delete',
  path: '/webhooks/classic/{webhookId}',
  operationId: 'deleteWebhook',
  tag: 'Webhooks',
  summary: 'Delete one webhook',
  description: 'Final, and it cancels every post that was not sent yet.',
  permission: 'webhooks:write',
  responses: { 204: { description: 'Deleted' } },
  problems: ['not_found', 'precondition_failed'],
  handle: async ({ context, caller, request, id }) => {
    const change = changeBy(context, caller);
    found(await deleteWebhook(context.db, caller.entityId, id, unchangedSince(request), change));
    return new Response(null, { status: 204 });
  },
});

function coverage(config: Config): Operation {
  const known = { networks: config.NETWORKS, events: knownEvents(config) };
  return operation({
    method: 'get',
    path: '/webhooks/coverage',
    operationId: 'readCoverage',
    tag: 'Webhooks',
    summary: 'See which networks and events are registered',
    description: 'The grid of networks and events with counts, so that a gap is visible at once.',
    permission: 'webhooks:read',
    responses: taggedResponses(coverageSchema),
    handle: async ({ context, caller, request }) =>
      cacheableJson(request, await readCoverage(context.db, caller.entityId, known)),
  });
}

/** The same for an id of another entity and for one that never was. */
function found(webhook: Webhook | null): Webhook {
  if (webhook === null) throw new Problem('not_found', 'There is no such webhook.');
  return webhook;
}

function unchangedSince(request: Request): (webhook: Webhook) => boolean {
  const header = request.headers.get('if-match');
  return (webhook) => header === null || allows(header, etagOf(JSON.stringify(webhook)));
}
