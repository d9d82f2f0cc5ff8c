import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { firstHexAt } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger } from '../../database/database.ts';
import { chunks, Parameters, valuesList } from '../../database/sql.ts';
import { ENTITY_BUCKET_MS, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../counts/counts.ts';
import { STATUS_CODES } from '../states.ts';
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

/**
 * Exact totals. Whole buckets of time come from the counters. Rows are counted one by one only in a bucket that the
 * filter cuts, and for a few events.
 */

/** The buckets that a scope sums up: all webhooks together, or some of them. */
type Buckets = { readonly webhookNos: readonly number[]; readonly bucketMs: number };

export async function countScope(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  if (scope.eventNos !== null) return countRows(queries, dialect, scope);
  const isTimed = scope.sinceMs !== null || scope.untilMs !== null;
  switch (scope.status) {
    case 'pending':
    case 'retrying':
    case 'held':
      return isTimed ? countRows(queries, dialect, scope) : countWaiting(scope, scope.status);
    case 'cancelled': {
      // Until the task of a deleted webhook reaches a delivery, the delivery is in the queue and no counter has it as cancelled.
      const unswept = countWaiting(scope, scope.status);
      if (isTimed && unswept > 0) return countRows(queries, dialect, scope);
      return unswept + (await countBuckets(queries, dialect, scope));
    }
    default:
      return countBuckets(queries, dialect, scope);
  }
}

function countWaiting({ waiting }: Scope, status: DeliveryStatus): number {
  return waiting.reduce((total, webhook) => total + countWithStatus(webhook, status), 0);
}

async function countRows(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const { status, webhooks, eventNos } = scope;
  if (webhooks === null || webhooks.length > FEW_WEBHOOKS || eventNos !== null) {
    return countSources(queries, sourcesOf(scope, dialect));
  }
  // Per webhook, so that only entries of one index are counted.
  const records = (wanted: DeliveryStatus | null) =>
    webhooks.flatMap(({ webhookNo }) => recordSources({ ...scope, status: wanted }, dialect, [webhookNo]));
  const queued = queueSources(scope, dialect);
  if (status !== 'delivered') return countSources(queries, [...records(status), ...queued]);
  // The index by webhook does not have the status, so delivered rows are the total minus all others.
  const others = NOT_DELIVERED.flatMap(records);
  const total = await countSources(queries, [...records(null), ...queued]);
  return total - (await countSources(queries, others));
}

const NOT_DELIVERED = ['failed', 'cancelled', 'superseded'] as const;

export async function countSources(queries: Queries, sources: readonly Source[]): Promise<number> {
  let total = 0;
  for (let at = 0; at < sources.length; at += SOURCES_PER_STATEMENT) {
    const parameters = new Parameters();
    const counts = sources
      .slice(at, at + SOURCES_PER_STATEMENT)
      .map((source) => `(select count(*) ${textWithin(source, parameters)})`);
    const row = await queries.get<{ total: SqlInteger }>(`select ${counts.join(' + ')} as total`, parameters.values);
    total += Number(row?.total ?? 0);
  }
  return total;
}

function bucketsOf(scope: Scope): Buckets {
  if (scope.webhooks === null) return { webhookNos: [WHOLE_ENTITY], bucketMs: ENTITY_BUCKET_MS };
  return { webhookNos: scope.webhooks.map(({ webhookNo }) => webhookNo), bucketMs: WEBHOOK_BUCKET_MS };
}

function countedColumn({ status }: Scope): string {
  return status !== null && status in STATUS_CODES ? status : 'created';
}

async function countBuckets(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const { bucketMs } = bucketsOf(scope);
  const { first, end } = wholeBuckets(scope, bucketMs);
  if (first >= end) return countRows(queries, dialect, scope);
  let total = await sumBuckets(queries, scope, first, end);
  // Rows before the first whole bucket and after the last one.
  const before = cut(scope, { untilMs: first * bucketMs });
  const after = cut(scope, { sinceMs: end * bucketMs });
  if (scope.sinceMs !== null) total += await countRows(queries, dialect, before);
  if (scope.untilMs !== null) total += await countRows(queries, dialect, after);
  return total;
}

const FIRST_BUCKET = 0;
const LAST_BUCKET = 2 ** 31 - 1;

/** Buckets of ids that lie wholly in the range of dates. */
function wholeBuckets({ sinceMs, untilMs }: Scope, bucketMs: number): { first: number; end: number } {
  return {
    first: sinceMs === null ? FIRST_BUCKET : Math.ceil(sinceMs / bucketMs),
    end: untilMs === null ? LAST_BUCKET : Math.floor(untilMs / bucketMs),
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

/**
 * Finds a page of an ordered list by whole buckets: returns the part of the scope to read, and how many matches to skip
 * in it. If the range of dates cuts a bucket, the rows in that part are counted one by one.
 */
export async function findBuckets(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  direction: 'asc' | 'desc',
): Promise<{ scope: Scope; offset: number }> {
  const { webhookNos, bucketMs } = bucketsOf(scope);
  const { first, end } = wholeBuckets(scope, bucketMs);
  // One index has these in the order of the list, and nothing else.
  const isNear = scope.webhooks === null && scope.status !== 'delivered' && offset < NEAR;
  if (!isInBuckets(scope) || isNear || first >= end || webhookNos.length > MAX_WEBHOOKS) return { scope, offset };
  const isUp = direction === 'asc';
  const from = (ms: number) => (isUp ? { sinceMs: ms } : { untilMs: ms });
  const to = (ms: number) => (isUp ? { untilMs: ms } : { sinceMs: ms });
  const startMs = (isUp ? first : end) * bucketMs;
  const isCut = (isUp ? scope.sinceMs : scope.untilMs) !== null;
  const atEdge = isCut ? await countRows(queries, dialect, cut(scope, to(startMs))) : 0;
  if (offset < atEdge) return { scope, offset };
  const rows = await readBuckets(queries, scope, first, end, direction);
  let before = atEdge;
  let part: { scope: Scope; offset: number } | null = null;
  for (const { bucket, total } of rows) {
    const [nearMs, farMs] = isUp
      ? [bucket * bucketMs, (bucket + 1) * bucketMs]
      : [(bucket + 1) * bucketMs, bucket * bucketMs];
    if (part === null && offset < before + total) part = { scope: cut(scope, from(nearMs)), offset: offset - before };
    before += total;
    if (part !== null && offset + limit <= before) return { ...part, scope: cut(part.scope, to(farMs)) };
  }
  return part ?? { scope: cut(scope, from((isUp ? end : first) * bucketMs)), offset: offset - before };
}

/** Whether the counters of buckets know every match: none of them waits, other than in the sum of all. */
function isInBuckets(scope: Scope): boolean {
  const { eventNos, status } = scope;
  if (eventNos !== null || (status !== null && !(status in STATUS_CODES))) return false;
  return status !== 'cancelled' || countWaiting(scope, status) === 0;
}

async function readBuckets(
  queries: Queries,
  scope: Scope,
  first: number,
  end: number,
  direction: 'asc' | 'desc',
): Promise<{ bucket: number; total: number }[]> {
  const { webhookNos } = bucketsOf(scope);
  const rows = await queries.all<{ bucket: SqlInteger; total: SqlInteger }>(
    `select bucket, sum(${countedColumn(scope)}) as total from delivery_counts
     where entity_id = $1 and bucket >= $2 and bucket < $3 and webhook_no in ${valuesList(1, webhookNos.length, 3)}
     group by bucket order by bucket ${direction}`,
    [scope.entity, first, end, ...webhookNos],
  );
  return rows.map((row) => ({ bucket: Number(row.bucket), total: Number(row.total) }));
}

/** Up to here, matches are walked faster than counters are read. */
const NEAR = 1_000;

/** With more than these, reading their counters costs more than it saves. */
const MAX_WEBHOOKS = 100;
