import {
  replacedWebhookOptionsSchema,
  webhookOptionsReplacementSchema,
  webhookOptionsSchema,
} from '../../../contract/webhooks/options.ts';
import { readOptions, replaceOptions } from '../../../store/webhooks/options.ts';
import { changeBy } from '../../context.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { operation } from '../../operation.ts';

const PATH = '/webhooks/classic/{webhookId}/options';

const read = operation({
  method: 'get',
  path: PATH,
  operationId: 'readWebhookOptions',
  tag: 'Webhooks',
  summary: 'Retrieve the options of a webhook',
  permission: 'webhooks:read',
  responses: taggedResponses(webhookOptionsSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readOptions(context.db, caller.entityId, id), 'webhook')),
});

const replace = operation({
  method: 'put',
  path: PATH,
  operationId: 'replaceWebhookOptions',
  tag: 'Webhooks',
  summary: 'Replace the options of a webhook',
  description:
    'Applies to events that are accepted from now on. Deliveries that exist already are sent as they are. A new finality applies to payments first seen after this change.',
  permission: 'webhooks:write',
  body: webhookOptionsReplacementSchema,
  responses: { 200: { description: 'The options', schema: replacedWebhookOptionsSchema } },
  problems: ['not_found', 'conflict'],
  handle: async ({ context, caller, id, body }) =>
    json(200, found(await replaceOptions(context.db, caller.entityId, id, body, changeBy(context, caller)), 'webhook')),
});

export const webhookOptionsOperations = [read, replace];
