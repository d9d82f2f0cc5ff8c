import type { DeliveryListQuery } from '../../../contract/deliveries.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid } from '../../database/database.ts';
import { chunks, Parameters, valuesList } from '../../database/sql.ts';
import { readQueueCounts, skipBuckets } from './count.ts';
import { type DeliveryRow, QUEUE_COLUMNS, RECORD_COLUMNS } from './rows.ts';
import type { Scope } from './scope.ts';
import { FEW_WEBHOOKS, queueSourcesWithHeads, type Source, sourcesOf } from './sources.ts';

/**
 * One page of a list, from the record and the queue together. Ids come first, along an index of each, and are merged
 * here; then the rows of the page are read by their ids, so that nothing that is skipped is read.
 */

type Direction = 'asc' | 'desc';
type Window = { readonly offset: number; readonly limit: number };

/** Of more matches than these by webhooks, each webhook's own order is read and merged. */
const DENSE = 50;

export async function readPageRows(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  query: Pick<DeliveryListQuery, 'page' | 'limit' | 'sortBy' | 'sortDir'>,
  totalResults: number,
): Promise<DeliveryRow[]> {
  const { page, limit, sortDir } = query;
  const window = { offset: (page - 1) * limit, limit: Math.min(limit, totalResults - (page - 1) * limit) };
  const ids =
    query.sortBy === 'dateCreated'
      ? await idsByDate(queries, dialect, scope, sortDir, window, totalResults)
      : await idsByNextAttempt(queries, dialect, scope, sortDir, window);
  return readRows(queries, dialect, scope.entity, ids);
}

/** From whichever end is nearer. */
async function idsByDate(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  sortDir: Direction,
  { offset, limit }: Window,
  totalResults: number,
): Promise<string[]> {
  const behind = totalResults - offset - limit;
  const isBackwards = behind < offset;
  const direction = (sortDir === 'asc') !== isBackwards ? 'asc' : 'desc';
  const skipped = await skipBuckets(queries, scope, isBackwards ? behind : offset, direction);
  const ids = await mergedIds(queries, dialect, skipped.scope, direction, { offset: skipped.offset, limit });
  return isBackwards ? ids.reverse() : ids;
}

async function mergedIds(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  direction: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  const most = offset + limit;
  const lists: string[][] = [];
  for (const source of await orderedSources(queries, dialect, scope)) {
    lists.push(await readIds(queries, dialect, source, direction, most));
  }
  const merged = [...new Set(lists.flat())].sort();
  if (direction === 'desc') merged.reverse();
  return merged.slice(offset, offset + limit);
}

/** Each of these can be read in the order of ids by an index. */
async function orderedSources(queries: Queries, dialect: Dialect, scope: Scope): Promise<Source[]> {
  const { webhooks } = scope;
  if (webhooks === null || scope.eventNo !== null) return sourcesOf(scope, dialect);
  const all = webhooks.map(({ webhookNo }) => webhookNo);
  const isDense = all.length > FEW_WEBHOOKS && all.length * DENSE > (await countHeads(queries, scope.entity));
  if (isDense) return sourcesOf(scope, dialect);
  const queued = new Set((await readQueueCounts(queries, scope)).map(({ webhookNo }) => webhookNo));
  const isEmpty = (webhookNo: number, { table }: Source) =>
    table === 'queue' && scope.status !== null && !queued.has(webhookNo) && WAITING.includes(scope.status);
  return all.flatMap((webhookNo) =>
    sourcesOf(scope, dialect, [webhookNo]).filter((source) => !isEmpty(webhookNo, source)),
  );
}

const WAITING: readonly string[] = ['pending', 'retrying', 'held'];

async function countHeads(queries: Queries, entity: SqlUuid): Promise<number> {
  const row = await queries.get<{ total: number | string }>(
    'select count(*) as total from queue_heads where entity_id = $1',
    [entity],
  );
  return Number(row?.total ?? 0);
}

async function readIds(
  queries: Queries,
  dialect: Dialect,
  { table, sql, parameters }: Source,
  direction: Direction,
  most: number,
): Promise<string[]> {
  const alias = table === 'deliveries' ? 'd' : 'q';
  const next = parameters.values.length + 1;
  const rows = await queries.all<{ id: SqlUuid }>(
    `select ${alias}.id as id ${sql} order by ${alias}.id ${direction} limit $${next}`,
    [...parameters.values, most],
  );
  return rows.map(({ id }) => dialect.hexOf(id));
}

/** Sorting more than these by their next attempt takes too long for one request. */
const MAX_SORTED = 20_000;

/** Deliveries without an attempt to come follow those that have one, in the order of their ids. */
async function idsByNextAttempt(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  sortDir: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  const scheduled = await scheduledIds(queries, dialect, scope, sortDir);
  const others = async (from: number, count: number) =>
    count <= 0 ? [] : unscheduledIds(queries, dialect, scope, sortDir, { offset: Math.max(0, from), limit: count });
  if (sortDir === 'asc') {
    const first = scheduled.slice(offset, offset + limit);
    return [...first, ...(await others(offset - scheduled.length, limit - first.length))];
  }
  const withoutAttempt = await others(offset, limit);
  const missing = limit - withoutAttempt.length;
  if (missing === 0) return withoutAttempt;
  const before = withoutAttempt.length > 0 ? 0 : offset - (await countUnscheduled(queries, dialect, scope));
  return [...withoutAttempt, ...scheduled.slice(Math.max(0, before), Math.max(0, before) + missing)];
}

const NEXT_ATTEMPT = 'coalesce(q.scheduled_ms, q.due_ms)';
const IS_SCHEDULED = 'q.recorded is null and h.blocked = 0';

async function scheduledIds(queries: Queries, dialect: Dialect, scope: Scope, sortDir: Direction): Promise<string[]> {
  if (scope.status !== null && scope.status !== 'pending' && scope.status !== 'retrying') return [];
  const found: { hex: string; nextMs: number }[] = [];
  for (const { sql, parameters } of queueSourcesWithHeads(scope, dialect)) {
    const rows = await queries.all<{ id: SqlUuid; next_ms: SqlInteger }>(
      `select q.id as id, ${NEXT_ATTEMPT} as next_ms ${sql} and ${IS_SCHEDULED} limit ${MAX_SORTED + 1}`,
      parameters.values,
    );
    for (const row of rows) found.push({ hex: dialect.hexOf(row.id), nextMs: Number(row.next_ms) });
  }
  if (found.length > MAX_SORTED) throw new DomainError('sort_too_large', { limit: MAX_SORTED });
  found.sort((a, b) => a.nextMs - b.nextMs || (a.hex < b.hex ? -1 : 1));
  if (sortDir === 'desc') found.reverse();
  return found.map(({ hex }) => hex);
}

async function unscheduledIds(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  direction: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  if (scope.status === 'pending' || scope.status === 'retrying') return [];
  const lists: string[][] = [];
  for (const source of unscheduledSources(scope, dialect)) {
    lists.push(await readIds(queries, dialect, source, direction, offset + limit));
  }
  const merged = lists.flat().sort();
  if (direction === 'desc') merged.reverse();
  return merged.slice(offset, offset + limit);
}

async function countUnscheduled(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  if (scope.status === 'pending' || scope.status === 'retrying') return 0;
  let total = 0;
  for (const { sql, parameters } of unscheduledSources(scope, dialect)) {
    const row = await queries.get<{ total: number | string }>(`select count(*) as total ${sql}`, parameters.values);
    total += Number(row?.total ?? 0);
  }
  return total;
}

function unscheduledSources(scope: Scope, dialect: Dialect): Source[] {
  return [
    ...sourcesOf(scope, dialect).filter(({ table }) => table === 'deliveries'),
    ...queueSourcesWithHeads(scope, dialect).map((queue) => ({
      ...queue,
      sql: `${queue.sql} and not (${IS_SCHEDULED})`,
    })),
  ];
}

/** In the order of the ids. A delivery may have been completed between two statements only outside of a snapshot. */
async function readRows(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  ids: readonly string[],
): Promise<DeliveryRow[]> {
  const found = new Map<string, DeliveryRow>();
  for (const chunk of chunks(ids)) {
    const list = valuesList(1, chunk.length, 1);
    const parameters = new Parameters();
    parameters.bind(entity);
    for (const hex of chunk) parameters.bind(dialect.bindUuid(hex));
    for (const sql of [
      `select ${RECORD_COLUMNS} from deliveries d where d.entity_id = $1 and d.id in ${list}`,
      `select ${QUEUE_COLUMNS} from queue q where q.entity_id = $1 and q.id in ${list}`,
    ]) {
      for (const row of await queries.all<DeliveryRow>(sql, parameters.values)) found.set(dialect.hexOf(row.id), row);
    }
  }
  return ids.flatMap((hex) => found.get(hex) ?? []);
}
