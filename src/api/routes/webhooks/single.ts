import type { Config } from '../../../config.ts';
import { type Webhook, webhookSchema, webhookUpdateSchema } from '../../../contract/webhooks.ts';
import { deleteWebhook, moveWebhook, readWebhook } from '../../../store/webhooks/change.ts';
import { changeBy } from '../../context.ts';
import { found } from '../../http/found.ts';
import { allows, cacheableJson, etagOf, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Operations on one webhook. */
export function singleWebhookOperations(config: Config): Operation[] {
  return [read, move({ allowInsecureTargets: config.ALLOW_INSECURE_TARGETS }), remove];
}

const TAG = 'A hash of the body. Send it as `If-Match` to change the webhook only if it has not changed since.';

const read = operation({
  method: 'get',
  path: '/webhooks/classic/{webhookId}',
  operationId: 'readWebhook',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook',
  permission: 'webhooks:read',
  responses: taggedResponses(webhookSchema, TAG),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readWebhook(context.db, caller.entityId, id), 'webhook')),
});

function move(rules: { allowInsecureTargets: boolean }): Operation {
  return operation({
    method: 'patch',
    path: '/webhooks/classic/{webhookId}',
    operationId: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Update a webhook',
    description:
      'Changes the URL of a webhook. Its pending deliveries are sent to the new URL. With `If-Match`, the request fails ' +
      'if the webhook has changed since.',
    permission: 'webhooks:write',
    body: webhookUpdateSchema(rules),
    responses: { 200: { description: 'The updated webhook', schema: webhookSchema, headers: { ETag: TAG } } },
    problems: ['not_found', 'conflict', 'ordered_deliveries_waiting', 'precondition_failed'],
    handle: async ({ context, caller, request, id, body }) => {
      const { db } = context;
      const change = changeBy(context, caller);
      const moved = await moveWebhook(db, caller.entityId, id, body.postUrl, unchangedSince(request), change);
      context.onWork();
      return cacheableJson(request, found(moved, 'webhook'));
    },
  });
}

const remove = operation({
  method: 'delete',
  path: '/webhooks/classic/{webhookId}',
  operationId: 'deleteWebhook',
  tag: 'Webhooks',
  summary: 'Delete a webhook',
  description: 'Deletes a webhook permanently and cancels its pending deliveries.',
  permission: 'webhooks:write',
  responses: { 204: { description: 'Deleted' } },
  problems: ['not_found', 'precondition_failed'],
  handle: async ({ context, caller, request, id }) => {
    const change = changeBy(context, caller);
    found(await deleteWebhook(context.db, caller.entityId, id, unchangedSince(request), change), 'webhook');
    context.onWork();
    return new Response(null, { status: 204 });
  },
});

function unchangedSince(request: Request): (webhook: Webhook) => boolean {
  const header = request.headers.get('if-match');
  return (webhook) => header === null || allows(header, etagOf(JSON.stringify(webhook)));
}
