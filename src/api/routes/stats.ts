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
    const { db, usage, config } = context;
    const range = statsRange(query, nowS(context));
    if ('name' in range) throw invalidRequest([range]);
    const { entityId } = caller;
    const { waiting, storedBytes } = await usage.read(entityId);
    const { ENTITY_STORAGE_LIMIT: limit } = config;
    return cacheableJson(request, {
      interval: query.interval,
      ...(await readStats(db, entityId, range, query.destination)),
      backlog: { waiting, oldestDueAgeMs: await oldestDueAgeMs(db, entityId) },
      storage: { usedBytes: storedBytes, limitBytes: limit === 'off' ? null : limit },
    });
  },
});

export const statsOperations: readonly Operation[] = [read];
