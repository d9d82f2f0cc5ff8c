import type { Config } from '../../../config.ts';
import { sampleEvent } from '../../../contract/event-samples.ts';
import { Problem } from '../../../contract/problems.ts';
import {
  healthSchema,
  noticeUrlSchema,
  noticeUrlUpdateSchema,
  testResponseSchema,
} from '../../../contract/webhook-health.ts';
import { webhookSchema } from '../../../contract/webhooks.ts';
import { isSuccess } from '../../../domain/attempt.ts';
import { recordTest } from '../../../store/deliveries/single.ts';
import { resumeWebhook } from '../../../store/deliveries/states.ts';
import { newId } from '../../../store/new-id.ts';
import { readWebhook } from '../../../store/webhooks/change.ts';
import { readHealth, readNoticeUrl, setNoticeUrl } from '../../../store/webhooks/health.ts';
import { changeBy, nowS } from '../../context.ts';
import { InFlight } from '../../http/concurrency-limit.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** Whether a webhook works: try it, ask how it fares, put it back into service, be told when it is taken out. */
export function webhookHealthOperations(config: Config): Operation[] {
  return [
    test(config.DESTINATION_CONCURRENCY),
    health,
    resume,
    readNotice,
    setNotice({ allowInsecureTargets: config.ALLOW_INSECURE_TARGETS }),
  ];
}

/** They go out beside the queue and its bounds, and one to a receiver that hangs takes as long as an attempt may. */
function test(maxAtOnce: number): Operation {
  const posts = new InFlight('test posts', maxAtOnce);
  return operation({
    method: 'post',
    path: '/webhooks/classic/{webhookId}/test',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send one marked sample post now',
    description:
      'A realistic sample of the webhook’s event kind with `"test": true`, really signed, sent whether or not the webhook ' +
      'is suspended. It is logged as a delivery with one attempt.',
    permission: 'webhooks:write',
    responses: { 200: { description: 'What came of it', schema: testResponseSchema } },
    problems: ['not_found'],
    handle: async ({ context, caller, id }) => {
      const webhook = await readWebhook(context.db, caller.entityId, id);
      if (webhook === null) throw absent();
      const eventId = newId('evt');
      const sample = { ...sampleEvent(webhook.event, webhook.networkId, eventId, nowS(context)), test: true };
      const body = JSON.stringify(sample);
      const made = await posts.run(caller.entityId, () => context.sendTest(caller, webhook, eventId, body));
      const { outcome } = made;
      const delivered = isSuccess(outcome);
      await recordTest(context.db, webhook, made, delivered);
      const answered = outcome.kind === 'response';
      return json(200, {
        delivered,
        statusCode: answered ? outcome.statusCode : null,
        error: answered ? null : outcome.error,
        durationMs: Math.round(outcome.durationMs),
        response: answered ? outcome.body : null,
      });
    },
  });
}

const health = operation({
  method: 'get',
  path: '/webhooks/classic/{webhookId}/health',
  operationId: 'readWebhookHealth',
  tag: 'Webhooks',
  summary: 'See how a webhook fares',
  permission: 'webhooks:read',
  responses: taggedResponses(healthSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) => {
    const found = await readHealth(context.db, caller.entityId, id);
    if (found === null) throw absent();
    return cacheableJson(request, found);
  },
});

const resume = operation({
  method: 'post',
  path: '/webhooks/classic/{webhookId}/resume',
  operationId: 'resumeWebhook',
  tag: 'Webhooks',
  summary: 'Put a suspended webhook back into service',
  description: 'What was held for it is sent now. On one that is not suspended it changes nothing.',
  permission: 'webhooks:write',
  responses: { 200: { description: 'The webhook, in service', schema: webhookSchema } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    await resumeWebhook(context.db, caller.entityId, id, changeBy(context, caller));
    context.onWork();
    const webhook = await readWebhook(context.db, caller.entityId, id);
    if (webhook === null) throw absent();
    return json(200, webhook);
  },
});

const readNotice = operation({
  method: 'get',
  path: '/webhooks/notice-url',
  operationId: 'readNoticeUrl',
  tag: 'Webhooks',
  summary: 'Read where notices go',
  permission: 'webhooks:read',
  responses: taggedResponses(noticeUrlSchema),
  handle: async ({ context, caller, request }) =>
    cacheableJson(request, { noticeUrl: await readNoticeUrl(context.db, caller.entityId) }),
});

function setNotice(rules: { allowInsecureTargets: boolean }): Operation {
  return operation({
    method: 'put',
    path: '/webhooks/notice-url',
    operationId: 'setNoticeUrl',
    tag: 'Webhooks',
    summary: 'Set where notices go',
    description:
      'When a webhook is suspended, this URL gets a `webhook.suspended` post, signed and retried like any other. ' +
      'Null switches notices off.',
    permission: 'webhooks:write',
    body: noticeUrlUpdateSchema(rules),
    responses: { 200: { description: 'Set', schema: noticeUrlSchema } },
    handle: async ({ context, caller, body }) => {
      await setNoticeUrl(context.db, caller.entityId, body.noticeUrl, changeBy(context, caller));
      return json(200, { noticeUrl: body.noticeUrl });
    },
  });
}

function absent(): Problem {
  return new Problem('not_found', 'There is no such webhook.');
}
