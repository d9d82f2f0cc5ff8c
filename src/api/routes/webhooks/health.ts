import type { Config } from '../../../config.ts';
import { sampleEvent } from '../../../contract/events/samples.ts';
import { healthSchema, testResponseSchema } from '../../../contract/webhook-health.ts';
import { webhookSchema } from '../../../contract/webhooks.ts';
import { isSuccess } from '../../../domain/attempt.ts';
import { newTestIds, recordTest } from '../../../store/deliveries/test-records.ts';
import { findEndpointNo } from '../../../store/endpoints/read.ts';
import { readWebhook } from '../../../store/webhooks/change.ts';
import { readHealth } from '../../../store/webhooks/health.ts';
import { resumeWebhook } from '../../../store/webhooks/suspension.ts';
import { changeBy, nowS } from '../../context.ts';
import { ConcurrencyLimit } from '../../http/concurrency-limit.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Tests, health and resumption of a webhook. */
export function webhookHealthOperations(config: Config): Operation[] {
  return [test(config.DESTINATION_CONCURRENCY), health, resume];
}

/** Test requests bypass the limits of the queue, so they have a separate limit. */
function test(maxAtOnce: number): Operation {
  const limit = new ConcurrencyLimit('test requests', maxAtOnce);
  return operation({
    method: 'post',
    path: '/webhooks/classic/{webhookId}/test',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test request',
    description:
      'Sends a signed sample of the webhook’s event kind with `"test": true`, even if the webhook is suspended, and ' +
      'returns the result. It is recorded as a delivery with one attempt.',
    permission: 'webhooks:write',
    responses: { 200: { description: 'The result of the request', schema: testResponseSchema } },
    problems: ['not_found'],
    handle: async ({ context, caller, id }) => {
      const webhook = found(await readWebhook(context.db, caller.entityId, id), 'webhook');
      const { eventId, deliveryId } = await newTestIds(context.db);
      const sample = { ...sampleEvent(webhook.event, webhook.networkId, eventId, nowS(context)), test: true };
      const body = JSON.stringify(sample);
      const endpointNo = await findEndpointNo(context.db, caller.entityId, webhook.postUrl);
      const made = await limit.run(caller.entityId, () =>
        context.sendTest(caller, webhook, { eventId, deliveryId, endpointNo, body }),
      );
      const { outcome } = made;
      await recordTest(context.db, webhook, made);
      const responded = outcome.kind === 'response';
      return json(200, {
        delivered: isSuccess(outcome),
        statusCode: responded ? outcome.statusCode : null,
        error: responded ? null : outcome.error,
        durationMs: Math.round(outcome.durationMs),
        response: responded ? outcome.body : null,
      });
    },
  });
}

const health = operation({
  method: 'get',
  path: '/webhooks/classic/{webhookId}/health',
  operationId: 'readWebhookHealth',
  tag: 'Webhooks',
  summary: 'Retrieve the health of a webhook',
  permission: 'webhooks:read',
  responses: taggedResponses(healthSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readHealth(context.db, caller.entityId, id), 'webhook')),
});

const resume = operation({
  method: 'post',
  path: '/webhooks/classic/{webhookId}/resume',
  operationId: 'resumeWebhook',
  tag: 'Webhooks',
  summary: 'Resume a webhook',
  description: 'Ends the suspension of a webhook and sends its held deliveries. An active webhook does not change.',
  permission: 'webhooks:write',
  responses: { 200: { description: 'The active webhook', schema: webhookSchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    await resumeWebhook(context.db, caller.entityId, id, changeBy(context, caller));
    context.onWork();
    return json(200, found(await readWebhook(context.db, caller.entityId, id), 'webhook'));
  },
});
