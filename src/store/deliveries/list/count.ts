import { firstHexAt, timeOfHex } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger } from '../../database/database.ts';
import { chunks, valuesList } from '../../database/sql.ts';
import { ENTITY_BUCKET_MS, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../counts/counts.ts';
import { BLOCKED } from '../heads.ts';
import { STATUS_CODES } from '../states.ts';
import type { Scope, ScopedWebhook } from './scope.ts';
import { sourcesOf } from './sources.ts';

/**
 * Exact totals. Whole buckets of time come from the counters; only the rows of a bucket that the filter cuts are counted
 * one by one, and those of one event, which are few.
 */

/** What a scope sums up: all webhooks together, or some of them. */
type Buckets = { readonly webhookNos: readonly number[]; readonly bucketMs: number };

export async function countScope(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  if (scope.eventNo !== null) return countRows(queries, dialect, scope);
  const isTimed = scope.sinceMs !== null || scope.untilMs !== null;
  switch (scope.status) {
    case 'pending':
    case 'retrying':
    case 'held':
      return isTimed ? countRows(queries, dialect, scope) : countWaiting(queries, scope);
    case 'cancelled': {
      // Those that the sweep has not reached are in the queue, and no counter knows them as cancelled yet.
      const unswept = isTimed ? 0 : await countUnswept(queries, scope);
      if (isTimed && (await countUnswept(queries, scope)) > 0) return countRows(queries, dialect, scope);
      return unswept + (await countBuckets(queries, dialect, scope));
    }
    default:
      return countBuckets(queries, dialect, scope);
  }
}

async function countRows(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  let total = 0;
  for (const { sql, parameters } of sourcesOf(scope, dialect)) {
    const row = await queries.get<{ total: SqlInteger }>(`select count(*) as total ${sql}`, parameters.values);
    total += Number(row?.total ?? 0);
  }
  return total;
}

export type QueueCount = ScopedWebhook & { waiting: number; retrying: number };

/** What waits for each webhook that has anything waiting. */
export async function readQueueCounts(queries: Pick<Queries, 'all'>, scope: Scope): Promise<QueueCount[]> {
  const rows = await queries.all<{
    webhook_no: SqlInteger;
    blocked: SqlInteger;
    waiting: SqlInteger;
    retrying: SqlInteger;
  }>(
    `select c.webhook_no, h.blocked, sum(c.waiting) as waiting, sum(c.retrying) as retrying
     from queue_counts c join queue_heads h on h.entity_id = c.entity_id and h.webhook_no = c.webhook_no
     where c.entity_id = $1 group by c.webhook_no, h.blocked having sum(c.waiting) <> 0`,
    [scope.entity],
  );
  const wanted = scope.webhooks === null ? null : new Set(scope.webhooks.map(({ webhookNo }) => webhookNo));
  return rows
    .map((row) => ({
      webhookNo: Number(row.webhook_no),
      blocked: Number(row.blocked),
      waiting: Number(row.waiting),
      retrying: Number(row.retrying),
    }))
    .filter(({ webhookNo }) => wanted === null || wanted.has(webhookNo));
}

async function countWaiting(queries: Queries, scope: Scope): Promise<number> {
  let total = 0;
  for (const { blocked, waiting, retrying } of await readQueueCounts(queries, scope)) {
    if (scope.status === 'held' && blocked !== 0 && (blocked & BLOCKED.deleted) === 0) total += waiting;
    if (scope.status === 'pending' && blocked === 0) total += waiting - retrying;
    if (scope.status === 'retrying' && blocked === 0) total += retrying;
  }
  return total;
}

async function countUnswept(queries: Queries, scope: Scope): Promise<number> {
  const counts = await readQueueCounts(queries, scope);
  return counts.reduce((total, { blocked, waiting }) => total + ((blocked & BLOCKED.deleted) !== 0 ? waiting : 0), 0);
}

export function bucketsOf(scope: Scope): Buckets {
  if (scope.webhooks === null) return { webhookNos: [WHOLE_ENTITY], bucketMs: ENTITY_BUCKET_MS };
  return { webhookNos: scope.webhooks.map(({ webhookNo }) => webhookNo), bucketMs: WEBHOOK_BUCKET_MS };
}

export function countedColumn({ status }: Scope): string {
  return status !== null && status in STATUS_CODES ? status : 'created';
}

async function countBuckets(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const { bucketMs } = bucketsOf(scope);
  const { first, end } = wholeBuckets(scope, bucketMs);
  if (first >= end) return countRows(queries, dialect, scope);
  let total = await sumBuckets(queries, scope, first, end);
  // What lies before the first whole bucket and after the last one.
  const before = cut(scope, { untilMs: first * bucketMs });
  const after = cut(scope, { sinceMs: end * bucketMs });
  if (scope.sinceMs !== null) total += await countRows(queries, dialect, before);
  if (scope.untilMs !== null) total += await countRows(queries, dialect, after);
  return total;
}

const FIRST_BUCKET = 0;
const LAST_BUCKET = 2 ** 31 - 1;

/** Buckets of ids that lie wholly in the range of dates, also where an old id's time is off by its skew. */
function wholeBuckets(scope: Scope, bucketMs: number): { first: number; end: number } {
  const { sinceMs, untilMs, fromHex, toHex } = scope;
  const skewMs = sinceMs !== null ? sinceMs - timeOfHex(fromHex) : untilMs !== null ? timeOfHex(toHex) - untilMs : 0;
  return {
    first: sinceMs === null ? FIRST_BUCKET : Math.ceil((sinceMs + skewMs) / bucketMs),
    end: untilMs === null ? LAST_BUCKET : Math.floor((untilMs - skewMs) / bucketMs),
  };
}

/** The part of the scope whose ids lie before or from a moment on; the dates asked for stay as they are. */
function cut(scope: Scope, { sinceMs, untilMs }: { sinceMs?: number; untilMs?: number }): Scope {
  const fromHex = sinceMs === undefined ? scope.fromHex : maxHex(scope.fromHex, firstHexAt(sinceMs));
  const toHex = untilMs === undefined ? scope.toHex : minHex(scope.toHex, firstHexAt(untilMs));
  return { ...scope, fromHex, toHex };
}

function maxHex(a: string, b: string): string {
  return a > b ? a : b;
}

function minHex(a: string, b: string): string {
  return a < b ? a : b;
}

async function sumBuckets(queries: Queries, scope: Scope, first: number, end: number): Promise<number> {
  let total = 0;
  for (const chunk of chunks(bucketsOf(scope).webhookNos)) {
    const row = await queries.get<{ total: SqlInteger | null }>(
      `select sum(${countedColumn(scope)}) as total from delivery_counts
       where entity_id = $1 and bucket >= $2 and bucket < $3 and webhook_no in ${valuesList(1, chunk.length, 3)}`,
      [scope.entity, first, end, ...chunk],
    );
    total += Number(row?.total ?? 0);
  }
  return total;
}

/** Skips whole buckets of an ordered list: where to start reading, and how many matches to skip from there. */
export async function skipBuckets(
  queries: Queries,
  scope: Scope,
  offset: number,
  direction: 'asc' | 'desc',
): Promise<{ scope: Scope; offset: number }> {
  const { webhookNos, bucketMs } = bucketsOf(scope);
  const isCountable = scope.eventNo === null && (scope.status === null || scope.status in STATUS_CODES);
  const isTimed = scope.sinceMs !== null || scope.untilMs !== null;
  if (!isCountable || isTimed || scope.status === 'cancelled' || webhookNos.length > MAX_SKIPPED_WEBHOOKS) {
    return { scope, offset };
  }
  const rows = await queries.all<{ bucket: SqlInteger; total: SqlInteger }>(
    `select bucket, sum(${countedColumn(scope)}) as total from delivery_counts
     where entity_id = $1 and webhook_no in ${valuesList(1, webhookNos.length, 1)}
     group by bucket order by bucket ${direction}`,
    [scope.entity, ...webhookNos],
  );
  let left = offset;
  for (const row of rows) {
    const bucket = Number(row.bucket);
    if (left < Number(row.total)) {
      const narrowed = direction === 'asc' ? { sinceMs: bucket * bucketMs } : { untilMs: (bucket + 1) * bucketMs };
      return { scope: cut(scope, narrowed), offset: left };
    }
    left -= Number(row.total);
  }
  return { scope, offset };
}

/** With more than these, reading their counters costs more than it saves. */
const MAX_SKIPPED_WEBHOOKS = 100;
