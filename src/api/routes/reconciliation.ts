import {
  DAY_MS,
  type ReconciliationQuery,
  reconciledEventsQuerySchema,
  reconciledEventsSchema,
  reconciliationQuerySchema,
  reconciliationSchema,
} from '../../contract/events/reconciliation.ts';
import { invalidRequest } from '../../contract/problems.ts';
import { findEventNo } from '../../store/events/event-ids.ts';
import { type DayScope, readDay, summarizeDay } from '../../store/reconciliation/day-book.ts';
import { findEndpointNo } from '../../store/reconciliation/endpoint-webhooks.ts';
import { sumTokens } from '../../store/reconciliation/token-sums.ts';
import type { ApiContext, Caller } from '../context.ts';
import { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import { cacheableJson, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

/**
 * Limit on concurrent reconciliations of an entity. Each reads up to 200,000 events in 2,000 steps, and keeps a line of
 * each event in memory.
 */
const MAX_AT_ONCE = 2;

/** Progress of the events of a day. */
export function reconciliationOperations(): Operation[] {
  return [read(new ConcurrencyLimit('reconciliations', MAX_AT_ONCE)), list];
}

function read(limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'get',
    path: '/reconciliation',
    operationId: 'readReconciliation',
    tag: 'Events',
    summary: 'Reconcile a day',
    description:
      'Sums up the events that were accepted on a day: how many were sent and acknowledged, their amounts as exact decimals, ' +
      'and a digest of all that were acknowledged. A receiver that makes the same digest of its own list knows that both ' +
      'have the same. With `endpointId`, the figures and the digest are of that endpoint alone, so that an outage of another ' +
      'endpoint makes no difference. A day has to be within the retention, one request sums up at most 200,000 events, and an entity has ' +
      `at most ${MAX_AT_ONCE} such requests at a time.`,
    permission: 'deliveries:read',
    query: reconciliationQuerySchema,
    responses: taggedResponses(reconciliationSchema),
    handle: async ({ context, caller, request, query }) => {
      const scope = await scopeOf(context, caller, query);
      const isOver = scope.untilMs <= context.nowMs();
      const summary = await limit.run(caller.entityId, async () => ({
        ...(await summarizeDay(context.db, scope)),
        ...(await sumTokens(context.db, scope)),
      }));
      return cacheableJson(request, { day: query.day, endpointId: query.endpointId ?? null, isOver, ...summary });
    },
  });
}

const list = operation({
  method: 'get',
  path: '/reconciliation/events',
  operationId: 'listReconciledEvents',
  tag: 'Events',
  summary: 'List the events of a day',
  description:
    'Lists the events that a reconciliation sums up, in the order of acceptance, so that you can find a difference to your records.',
  permission: 'deliveries:read',
  query: reconciledEventsQuerySchema,
  responses: taggedResponses(reconciledEventsSchema),
  handle: async ({ context, caller, request, query }) => {
    const { db } = context;
    const scope = await scopeOf(context, caller, query);
    const afterNo = query.after === undefined ? null : await findEventNo(db, db.dialect, caller.entityId, query.after);
    if (afterNo === null && query.after !== undefined) {
      throw invalidRequest([{ in: 'query', name: 'after', message: 'must be the id of an event' }]);
    }
    const { events, isEnd } = await readDay(db, scope, afterNo, query.limit);
    return cacheableJson(request, { events, after: isEnd ? null : (events.at(-1)?.eventId ?? null) });
  },
});

/**
 * Rejects a day whose events retention has begun to remove, because every figure would be too low. Also rejects an
 * unknown endpoint, which would never show a difference.
 */
async function scopeOf(context: ApiContext, { entityId }: Caller, query: ReconciliationQuery): Promise<DayScope> {
  const { day, networkId, endpointId, events } = query;
  const sinceMs = Date.parse(`${day}T00:00:00Z`);
  const message = dayError(context, sinceMs);
  if (message !== null) throw invalidRequest([{ in: 'query', name: 'day', message }]);
  const endpointNo = endpointId === undefined ? undefined : await findEndpointNo(context.db, entityId, endpointId);
  if (endpointNo === null) {
    throw invalidRequest([{ in: 'query', name: 'endpointId', message: 'must be the id of an endpoint' }]);
  }
  return { entityId, sinceMs, untilMs: sinceMs + DAY_MS, networkId, endpointNo, events };
}

function dayError({ config, nowMs }: ApiContext, sinceMs: number): string | null {
  const now = nowMs();
  if (sinceMs > now) return 'must not be in the future';
  if (sinceMs >= now - config.RETENTION) return null;
  const first = new Date(now - config.RETENTION + DAY_MS).toISOString().slice(0, 10);
  return `must be ${first} or later: events are removed after their retention`;
}
