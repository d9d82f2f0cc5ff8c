import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { firstHexAt } from '../../../domain/ids.ts';
import type { Queries } from '../../database/database.ts';
import { chunks, Parameters, readInteger } from '../../database/sql.ts';
import { type Buckets, countByBuckets, findInBuckets } from '../../list/buckets.ts';
import type { Window } from '../../list/page.ts';
import { ENTITY_BUCKET_MS, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../counts/counts.ts';
import { STATUS_CODES } from '../states.ts';
import { deliveryCountTable } from '../tables.ts';
import type { Scope } from './scope.ts';
import {
  FEW_WEBHOOKS,
  queueSources,
  recordSources,
  SOURCES_PER_STATEMENT,
  type Source,
  sourcesOf,
  textWithin,
} from './sources.ts';
import { countWithStatus } from './waiting.ts';

/** Exact totals. Rows are counted one by one only if no counter has them, or if the filter names events. */

export async function countScope(scope: Scope): Promise<number> {
  const { status } = scope;
  if (scope.eventNos !== null) return countRows(scope);
  const isTimed = scope.sinceMs !== null || scope.untilMs !== null;
  switch (status) {
    case 'pending':
    case 'retrying':
    case 'held':
      return isTimed ? countRows(scope) : countWaiting(scope, status);
    case 'cancelled': {
      // Until the task of a deleted webhook reaches a delivery, the delivery is in the queue and no counter has it as cancelled.
      const unswept = countWaiting(scope, status);
      if (isTimed && unswept > 0) return countRows(scope);
      return unswept + (await countByBuckets(scope.queries, bucketsOf(scope), scope));
    }
    default:
      return countByBuckets(scope.queries, bucketsOf(scope), scope);
  }
}

export function countWaiting({ waiting }: Scope, status: DeliveryStatus): number {
  return waiting.reduce((total, webhook) => total + countWithStatus(webhook, status), 0);
}

async function countRows(scope: Scope): Promise<number> {
  const { queries, status, webhooks, eventNos } = scope;
  if (webhooks === null || webhooks.length > FEW_WEBHOOKS || eventNos !== null) {
    return countSources(queries, sourcesOf(scope));
  }
  // Counts webhook by webhook, so that each count reads the entries of a single index.
  const records = (wanted: DeliveryStatus | null) =>
    webhooks.flatMap(({ webhookNo }) => recordSources({ ...scope, status: wanted }, [webhookNo]));
  const queued = queueSources(scope);
  if (status !== 'delivered') return countSources(queries, [...records(status), ...queued]);
  // The index by webhook does not have the status, so delivered rows are the total minus all others.
  const others = NOT_DELIVERED.flatMap(records);
  const total = await countSources(queries, [...records(null), ...queued]);
  return total - (await countSources(queries, others));
}

const NOT_DELIVERED = ['failed', 'cancelled', 'superseded'] as const;

export async function countSources(queries: Queries, sources: readonly Source[]): Promise<number> {
  let total = 0;
  for (const some of chunks(sources, SOURCES_PER_STATEMENT)) {
    const parameters = new Parameters();
    const counts = some.map((source) => `(select count(*) ${textWithin(source, parameters)})`);
    total += await readInteger(queries, counts.join(' + '), '', parameters.values);
  }
  return total;
}

/** The counters of all webhooks together, or of some of them. */
function bucketsOf({ webhooks }: Scope): Buckets<Scope> {
  const webhookNos = webhooks?.map(({ webhookNo }) => webhookNo) ?? [WHOLE_ENTITY];
  return {
    bucketMs: webhooks === null ? ENTITY_BUCKET_MS : WEBHOOK_BUCKET_MS,
    counters: ({ entity, status }, first, end) =>
      [...chunks(webhookNos)].map((webhookNo) => {
        const parameters = new Parameters();
        const bucket = { from: first, before: end };
        const where = deliveryCountTable.where(parameters, { entity, bucket, webhookNo });
        const total = status !== null && status in STATUS_CODES ? status : 'created';
        return { total, from: `from delivery_counts where ${where}`, parameters: parameters.values };
      }),
    countRows,
    cut,
  };
}

/** The part of the scope whose ids lie between two moments. The scope's own dates stay as they are. */
function cut(scope: Scope, { sinceMs, untilMs }: { sinceMs?: number | null; untilMs?: number | null }): Scope {
  const [from, to] = [firstHexAt(sinceMs ?? 0), untilMs == null ? scope.toHex : firstHexAt(untilMs)];
  return {
    ...scope,
    fromHex: from > scope.fromHex ? from : scope.fromHex,
    toHex: to < scope.toHex ? to : scope.toHex,
  };
}

/** Finds the rows of a window by whole buckets: returns the part of the scope to read, and how many matches to skip in it. */
export async function findPart(scope: Scope, window: Window): Promise<{ scope: Scope; skip: number }> {
  const { webhooks, status } = scope;
  // An index has exactly these deliveries in the order of the list, so a few matches can be skipped by reading them.
  const isNear = webhooks === null && status !== 'delivered' && window.skip < NEAR;
  if (!isInBuckets(scope) || isNear || (webhooks?.length ?? 0) > MAX_WEBHOOKS) return { scope, skip: window.skip };
  return findInBuckets(scope.queries, bucketsOf(scope), scope, window);
}

/** Whether the counters of buckets contain every match. They count waiting deliveries only in the total of all states. */
function isInBuckets(scope: Scope): boolean {
  const { eventNos, status } = scope;
  if (eventNos !== null || (status !== null && !(status in STATUS_CODES))) return false;
  return status !== 'cancelled' || countWaiting(scope, status) === 0;
}

/** Up to this many skipped matches, walking them is faster than reading counters. */
const NEAR = 1_000;

/** With more webhooks, reading their counters costs more than it saves, and takes more than one statement. */
const MAX_WEBHOOKS = 100;
