import { invalidRequest } from '../../contract/problems.ts';
import { statsQuerySchema, statsRange, statsSchema } from '../../contract/stats.ts';
import { oldestDueAgeMs, readStats } from '../../store/stats/read.ts';
import { nowS } from '../context.ts';
import { cacheableJson, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

const read = operation({
  method: 'get',
  path: '/stats',
  operationId: 'readStats',
  tag: 'Deliveries',
  summary: 'Retrieve statistics',
  description:
    'Accepted events, successful and failed deliveries and the delivery latency, per minute, hour or day, in total and ' +
    'by destination. Each is counted when it happens: a delivery of today can belong to an event of yesterday.',
  permission: 'deliveries:read',
  query: statsQuerySchema,
  responses: taggedResponses(statsSchema),
  handle: async ({ context, caller, request, query }) => {
    const { db, backlog } = context;
    const range = statsRange(query, nowS(context));
    if ('name' in range) throw invalidRequest([range]);
    const { entityId } = caller;
    return cacheableJson(request, {
      interval: query.interval,
      ...(await readStats(db, entityId, range, query.destination)),
      backlog: { waiting: await backlog.waiting(entityId), oldestDueAgeMs: await oldestDueAgeMs(db, entityId) },
    });
  },
});

export const statsOperations: readonly Operation[] = [read];
