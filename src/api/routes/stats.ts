import { invalidRequest } from '../../contract/problems.ts';
import { statsQuerySchema, statsRange, statsSchema } from '../../contract/stats.ts';
import { intervalOf } from '../../domain/stats.ts';
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
    'Accepted events, successful and failed deliveries, attempts and the delivery latency, per minute, hour or day, in total and ' +
    'by destination. Each is counted when it happens: a delivery of today can belong to an event of yesterday. The figures of ' +
    'a destination are kept by the hour.',
  permission: 'deliveries:read',
  query: statsQuerySchema,
  responses: taggedResponses(statsSchema),
  handle: async ({ context, caller, request, query }) => {
    const { db, usage, config } = context;
    const range = statsRange(query, nowS(context));
    if ('name' in range) throw invalidRequest([range]);
    const { entityId } = caller;
    const { waiting, storedBytes } = await usage.read(entityId);
    const { ENTITY_STORAGE_LIMIT: limit, ENTITY_BACKLOG_LIMIT } = config;
    return cacheableJson(request, {
      interval: intervalOf(range.intervalS),
      ...(await readStats(db, entityId, range, query.destination, query.sortBy)),
      backlog: { waiting, oldestDueAgeMs: await oldestDueAgeMs(db, entityId), limit: ENTITY_BACKLOG_LIMIT },
      storage: { usedBytes: storedBytes, limitBytes: limit === 'off' ? null : limit },
    });
  },
});

export const statsOperations: readonly Operation[] = [read];
