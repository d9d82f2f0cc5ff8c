import { type Config, sentEvents } from '../../config.ts';
import { redeliverQuerySchema, redeliverySchema } from '../../contract/deliveries/redelivery.ts';
import {
  deliveryCountsQuerySchema,
  deliveryCountsSchema,
  deliveryDetailSchema,
  deliveryListQuerySchema,
  deliveryListSchema,
  deliverySchema,
  withoutDetail,
} from '../../contract/deliveries.ts';
import { withKnownEvents } from '../../contract/list-query.ts';
import { countSchema } from '../../contract/webhooks.ts';
import { countStatuses, listDeliveries, readDelivery } from '../../store/deliveries/read.ts';
import { readRedelivery, startRedelivery } from '../../store/deliveries/redeliver/bulk.ts';
import { countRedelivering } from '../../store/deliveries/redeliver/count.ts';
import { redeliver } from '../../store/deliveries/redeliver/redeliver.ts';
import { withRequestHeaders } from '../../store/deliveries/request-headers.ts';
import { changeBy } from '../context.ts';
import { found, missing } from '../http/found.ts';
import { cacheableJson, json, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

const list = (events: readonly string[]) =>
  operation({
    method: 'get',
    path: '/deliveries',
    operationId: 'listDeliveries',
    tag: 'Deliveries',
    summary: 'List deliveries',
    description: 'Lists the deliveries of the entity that match all given filters, sorted and paginated.',
    permission: 'deliveries:read',
    query: withKnownEvents(deliveryListQuerySchema, events),
    responses: taggedResponses(deliveryListSchema),
    handle: async ({ context, caller, request, query }) =>
      cacheableJson(request, await listDeliveries(context.db, caller.entityId, query)),
  });

const counts = (events: readonly string[]) =>
  operation({
    method: 'get',
    path: '/deliveries/counts',
    operationId: 'countDeliveries',
    tag: 'Deliveries',
    summary: 'Count deliveries',
    description: 'Counts the deliveries of the entity that match all given filters, in each state.',
    permission: 'deliveries:read',
    query: withKnownEvents(deliveryCountsQuerySchema, events),
    responses: taggedResponses(deliveryCountsSchema),
    handle: async ({ context, caller, request, query }) =>
      cacheableJson(request, await countStatuses(context.db, caller.entityId, query)),
  });

const read = operation({
  method: 'get',
  path: '/deliveries/{deliveryId}',
  operationId: 'readDelivery',
  tag: 'Deliveries',
  summary: 'Retrieve a delivery',
  description: 'Returns a delivery with its body and its attempts.',
  permission: 'deliveries:read',
  responses: taggedResponses(deliveryDetailSchema),
  problems: ['not_found'],
  handle: async ({ context: { db, box, config }, caller: { entityId }, request, id }) => {
    const delivery = found(await readDelivery(db, entityId, id), 'delivery');
    const detail = await withRequestHeaders(db, box, entityId, delivery, config.BODY_SIGNATURE_HEADER);
    return cacheableJson(request, detail);
  },
});

const redeliverOne = operation({
  method: 'post',
  path: '/deliveries/{deliveryId}/redeliver',
  operationId: 'redeliver',
  tag: 'Deliveries',
  summary: 'Redeliver',
  description:
    'Sends a delivery once more, whatever its state, with the same `webhook-id` and the same body. The attempt is ' +
    'recorded as a redelivery. If it fails, an earlier success stays.',
  permission: 'deliveries:write',
  responses: { 202: { description: 'Queued', schema: deliverySchema } },
  problems: ['not_found', 'conflict', 'event_retracted', 'event_outdated'],
  handle: async ({ context, caller, id }) => {
    if (!(await redeliver(context.db, caller.entityId, id))) throw missing('delivery');
    context.onWork();
    return json(202, withoutDetail(found(await readDelivery(context.db, caller.entityId, id), 'delivery')));
  },
});

const redeliverMany = (events: readonly string[]) =>
  operation({
    method: 'post',
    path: '/deliveries/redeliver',
    operationId: 'redeliverMany',
    tag: 'Deliveries',
    summary: 'Redeliver in bulk',
    description:
      'Sends all matching deliveries once more, in the background and within the limits of each destination, but for test ' +
      'requests and alerts. At least one filter is required. `dryRun=true` only counts the matches. `GET /redeliveries/{redeliveryId}` returns the progress.',
    permission: 'deliveries:write',
    query: withKnownEvents(redeliverQuerySchema, events),
    responses: {
      200: { description: 'The number of matches, with `dryRun`', schema: countSchema },
      202: { description: 'Started', schema: redeliverySchema },
    },
    handle: async ({ context, caller, query: { dryRun, ...filter } }) => {
      const { db } = context;
      const { entityId } = caller;
      if (dryRun === 'true') return json(200, { totalResults: await countRedelivering(db, entityId, filter) });
      const redeliveryId = await startRedelivery(db, entityId, filter, changeBy(context, caller));
      context.onTask();
      return json(202, found(await readRedelivery(db, entityId, redeliveryId), 'redelivery'));
    },
  });

const readProgress = operation({
  method: 'get',
  path: '/redeliveries/{redeliveryId}',
  operationId: 'readRedelivery',
  tag: 'Deliveries',
  summary: 'Retrieve a bulk redelivery',
  permission: 'deliveries:read',
  responses: taggedResponses(redeliverySchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readRedelivery(context.db, caller.entityId, id), 'redelivery')),
});

export function deliveryOperations(config: Config): Operation[] {
  const events = sentEvents(config);
  return [list(events), counts(events), read, redeliverOne, redeliverMany(events)];
}

/** The progress of bulk redeliveries. */
export const redeliveryOperations: readonly Operation[] = [readProgress];
