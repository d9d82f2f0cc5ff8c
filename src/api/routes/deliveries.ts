import {
  deliveryDetailSchema,
  deliveryListQuerySchema,
  deliveryListSchema,
  deliverySchema,
  redeliverQuerySchema,
  redeliverySchema,
} from '../../contract/deliveries.ts';
import { Problem } from '../../contract/problems.ts';
import { countSchema } from '../../contract/webhooks.ts';
import { countDeliveries, listDeliveries, readDelivery } from '../../store/deliveries/read.ts';
import { readRedelivery, redeliver, startRedelivery } from '../../store/deliveries/redeliver.ts';
import { changeBy } from '../context.ts';
import { cacheableJson, json, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

const list = operation({
  method: 'get',
  path: '/deliveries',
  operationId: 'listDeliveries',
  tag: 'Deliveries',
  summary: 'List deliveries',
  description: 'Where each event stands on its way to each webhook, in the grammar of every list.',
  permission: 'deliveries:read',
  query: deliveryListQuerySchema,
  responses: taggedResponses(deliveryListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listDeliveries(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/deliveries/{deliveryId}',
  operationId: 'readDelivery',
  tag: 'Deliveries',
  summary: 'Read one delivery with its attempts',
  permission: 'deliveries:read',
  responses: taggedResponses(deliveryDetailSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readDelivery(context.db, caller.entityId, id), 'delivery')),
});

const redeliverOne = operation({
  method: 'post',
  path: '/deliveries/{deliveryId}/redeliver',
  operationId: 'redeliver',
  tag: 'Deliveries',
  summary: 'Send one delivery again',
  description:
    'Whatever its state, as often as you ask: each request is one more post, with the same id and the same bytes, and ' +
    'is logged as an attempt of its own kind. One that fails does not undo an earlier success.',
  permission: 'deliveries:write',
  responses: { 202: { description: 'It is on its way', schema: deliverySchema } },
  problems: ['not_found', 'conflict'],
  handle: async ({ context, caller, id }) => {
    if (!(await redeliver(context.db, caller.entityId, id))) throw missing('delivery');
    context.onWork();
    const { body: _, attemptLog: __, ...view } = found(await readDelivery(context.db, caller.entityId, id), 'delivery');
    return json(202, view);
  },
});

const redeliverMany = operation({
  method: 'post',
  path: '/deliveries/redeliver',
  operationId: 'redeliverMany',
  tag: 'Deliveries',
  summary: 'Send all matching deliveries again',
  description:
    'In the background, never faster than the limits of each destination. `dryRun=true` only counts. ' +
    '`GET /redeliveries/{redeliveryId}` tells how far it has come.',
  permission: 'deliveries:write',
  query: redeliverQuerySchema,
  responses: {
    200: { description: 'How many would be sent again', schema: countSchema },
    202: { description: 'Started', schema: redeliverySchema },
  },
  handle: async ({ context, caller, query: { dryRun, ...filter } }) => {
    const { db } = context;
    const { entityId } = caller;
    if (dryRun === 'true') return json(200, { totalResults: await countDeliveries(db, entityId, filter) });
    const redeliveryId = await startRedelivery(db, entityId, filter, changeBy(context, caller));
    context.runRedeliveries();
    return json(202, found(await readRedelivery(db, entityId, redeliveryId), 'redelivery'));
  },
});

const readProgress = operation({
  method: 'get',
  path: '/redeliveries/{redeliveryId}',
  operationId: 'readRedelivery',
  tag: 'Deliveries',
  summary: 'See how far a bulk redelivery has come',
  permission: 'deliveries:read',
  responses: taggedResponses(redeliverySchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readRedelivery(context.db, caller.entityId, id), 'redelivery')),
});

function missing(what: string): Problem {
  return new Problem('not_found', `There is no such ${what}.`);
}

/** The same for an id of another entity, one that never was, and one that retention has removed. */
function found<Value>(value: Value | null, what: string): Value {
  if (value === null) throw missing(what);
  return value;
}

export const deliveryOperations: readonly Operation[] = [list, read, redeliverOne, redeliverMany, readProgress];
