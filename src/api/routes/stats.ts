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
  summary: 'How events and deliveries fare over time',
  description:
    'Accepted, delivered, failed and the time from acceptance to receipt, for each minute, hour or day, in all and by ' +
    'destination. Each is counted when it happens: a delivery of today may be of an event of yesterday.',
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
