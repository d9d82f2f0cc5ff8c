import type { Config } from '../../../config.ts';
import { noticeUrlSchema, noticeUrlUpdateSchema } from '../../../contract/webhook-health.ts';
import { readNoticeUrl, setNoticeUrl } from '../../../store/deliveries/alerts.ts';
import { changeBy } from '../../context.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

/** The URL for alerts about failing endpoints and suspended webhooks. */
export function noticeUrlOperations(config: Config): Operation[] {
  return [readAlertUrl, setAlertUrl({ allowInsecureTargets: config.ALLOW_INSECURE_TARGETS })];
}

const readAlertUrl = operation({
  method: 'get',
  path: '/webhooks/notice-url',
  operationId: 'readNoticeUrl',
  tag: 'Webhooks',
  summary: 'Retrieve the alert URL',
  permission: 'webhooks:read',
  responses: taggedResponses(noticeUrlSchema),
  handle: async ({ context, caller, request }) =>
    cacheableJson(request, { noticeUrl: await readNoticeUrl(context.db, caller.entityId) }),
});

function setAlertUrl(rules: { allowInsecureTargets: boolean }): Operation {
  return operation({
    method: 'put',
    path: '/webhooks/notice-url',
    operationId: 'setNoticeUrl',
    tag: 'Webhooks',
    summary: 'Set the alert URL',
    description:
      'Sets the URL that receives alerts: `endpoint.failing` when all attempts to a URL have failed for an hour, and then ' +
      'every day, `endpoint.recovered` when one succeeds again, and `webhook.suspended` when a webhook is suspended. Alerts ' +
      'are signed and retried like all deliveries. Null turns them off.',
    permission: 'webhooks:write',
    body: noticeUrlUpdateSchema(rules),
    responses: { 200: { description: 'Updated', schema: noticeUrlSchema } },
    handle: async ({ context, caller, body }) => {
      await setNoticeUrl(context.db, caller.entityId, body.noticeUrl, changeBy(context, caller));
      return json(200, { noticeUrl: body.noticeUrl });
    },
  });
}
