import type { DeliveryListQuery } from '../../../contract/deliveries.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid } from '../../database/database.ts';
import { chunks, Parameters, readInteger, valuesList } from '../../database/sql.ts';
import { countSources, findBuckets } from './count.ts';
import { type DeliveryRow, deliveryColumns, IN_QUEUE, IN_RECORD } from './rows.ts';
import type { Scope } from './scope.ts';
import {
  FEW_WEBHOOKS,
  queueSources,
  recordSources,
  SOURCES_PER_STATEMENT,
  type Source,
  scheduledSources,
  textWithin,
  unscheduledQueueSources,
} from './sources.ts';
import { countWithStatus } from './waiting.ts';

/**
 * One page of a list, merged from `deliveries` and `queue`. Ids come first, each along an index. Only the rows of the
 * page itself are then read, by id.
 */

type Direction = 'asc' | 'desc';
type Window = { readonly offset: number; readonly limit: number };
type Listing = { readonly scope: Scope; readonly sortDir: Direction; readonly totalResults: number };
/** The ids of a page, in its order. */
type ReadIds = (queries: Queries, dialect: Dialect, listing: Listing, window: Window) => Promise<string[]>;

export async function readPageRows(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  query: Pick<DeliveryListQuery, 'page' | 'limit' | 'sortBy' | 'sortDir'>,
  totalResults: number,
): Promise<DeliveryRow[]> {
  const { page, limit, sortDir } = query;
  const window = { offset: (page - 1) * limit, limit: Math.min(limit, totalResults - (page - 1) * limit) };
  const read = query.sortBy === 'dateCreated' ? idsByDate : idsByNextAttempt;
  const ids = await read(queries, dialect, { scope, sortDir, totalResults }, window);
  return readRows(queries, dialect, scope.entity, ids);
}

/** Returns at most `most` ids, newest first. */
export function newestIds(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  totalResults: number,
  most: number,
): Promise<string[]> {
  const window = { offset: 0, limit: Math.min(most, totalResults) };
  return idsByDate(queries, dialect, { scope, sortDir: 'desc', totalResults }, window);
}

/** Reads ids in the order of dates, from the nearer end. */
const idsByDate: ReadIds = async (queries, dialect, { scope, sortDir, totalResults }, { offset, limit }) => {
  const behind = totalResults - offset - limit;
  const isBackwards = behind < offset;
  const direction = (sortDir === 'asc') !== isBackwards ? 'asc' : 'desc';
  const window = { offset: isBackwards ? behind : offset, limit };
  const part = await findBuckets(queries, dialect, scope, window, direction);
  const sources = [...(await orderedRecordSources(queries, dialect, part.scope)), ...queueSources(part.scope, dialect)];
  const maxSkipped = scope.status === 'delivered' && scope.webhooks !== null ? MAX_LOOKED_UP : MAX_SKIPPED;
  if (part.offset > maxSkipped) throw new DomainError('page_too_deep', { limit: maxSkipped });
  const ids = await mergedIds(queries, dialect, sources, direction, { offset: part.offset, limit });
  return isBackwards ? ids.reverse() : ids;
};

/**
 * If a filter selects more than `FEW_WEBHOOKS` and more than 1 in 50 of the entity's webhooks, one order is read and
 * filtered. Otherwise the order of each webhook is read and merged.
 */
const DENSE = 50;

/** Each of these can be read in the order of ids by an index. */
async function orderedRecordSources(queries: Queries, dialect: Dialect, scope: Scope): Promise<Source[]> {
  const { webhooks } = scope;
  if (webhooks === null || scope.eventNos !== null) return recordSources(scope, dialect);
  const isDense = webhooks.length > FEW_WEBHOOKS && webhooks.length * DENSE > (await countHeads(queries, scope.entity));
  if (isDense) return recordSources(scope, dialect);
  return webhooks.flatMap(({ webhookNo }) => recordSources(scope, dialect, [webhookNo]));
}

function countHeads(queries: Queries, entity: SqlUuid): Promise<number> {
  return readInteger(queries, 'count(*)', 'from queue_heads where entity_id = $1', [entity]);
}

/**
 * Skipping more matches than these takes too long for one request. The index by webhook does not have the status, so
 * there each row is looked up. From several sources, each may have all of the matches.
 */
const MAX_SKIPPED = 25_000;
const MAX_LOOKED_UP = 8_000;
const MAX_READ = 4 * MAX_SKIPPED;

/** The matches of all sources in the order of their ids. */
async function mergedIds(
  queries: Queries,
  dialect: Dialect,
  sources: readonly Source[],
  direction: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  if (offset > MAX_SKIPPED) throw new DomainError('page_too_deep', { limit: MAX_SKIPPED });
  const most = offset + limit;
  if (offset * sources.length > MAX_READ) throw new DomainError('page_too_deep', { limit: MAX_SKIPPED });
  if (sources.length <= SOURCES_PER_STATEMENT) return readIds(queries, dialect, sources, direction, { offset, limit });
  const lists: string[][] = [];
  for (let at = 0; at < sources.length; at += SOURCES_PER_STATEMENT) {
    const some = sources.slice(at, at + SOURCES_PER_STATEMENT);
    lists.push(await readIds(queries, dialect, some, direction, { offset: 0, limit: most }));
  }
  const merged = lists.flat().sort();
  if (direction === 'desc') merged.reverse();
  return merged.slice(offset, offset + limit);
}

/** Reads ids in one statement, so that skipped ids are not decoded. */
async function readIds(
  queries: Queries,
  dialect: Dialect,
  sources: readonly Source[],
  direction: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  if (sources.length === 0) return [];
  const parameters = new Parameters(offset + limit);
  const lists = sources.map((source, index) => {
    const column = source.table === 'deliveries' ? 'd.id' : 'q.id';
    const text = textWithin(source, parameters);
    return `select id from (select ${column} as id ${text} order by ${source.order} ${direction} limit $1) list${index}`;
  });
  const page = `limit ${parameters.bind(limit)} offset ${parameters.bind(offset)}`;
  const rows = await queries.all<{ id: SqlUuid }>(
    `select id from (${lists.join(' union all ')}) lists order by id ${direction} ${page}`,
    parameters.values,
  );
  return rows.map(({ id }) => dialect.hexOf(id));
}

/** Sorting more than these by their next attempt takes too long for one request. */
const MAX_SORTED = 20_000;

/** Deliveries without an attempt to come follow those that have one, in the order of their ids. */
const idsByNextAttempt: ReadIds = async (queries, dialect, listing, { offset, limit }) => {
  const { scope, sortDir } = listing;
  const scheduled = await countScheduled(queries, dialect, scope);
  if (scheduled === 0) return idsByDate(queries, dialect, listing, { offset, limit });
  const unscheduled = listing.totalResults - scheduled;
  const parts = [
    { size: scheduled, read: scheduledIds },
    { size: unscheduled, read: unscheduledIds },
  ];
  if (sortDir === 'desc') parts.reverse();
  const ids: string[] = [];
  let skip = offset;
  for (const { size, read } of parts) {
    const wanted = Math.min(limit - ids.length, size - skip);
    if (wanted > 0) ids.push(...(await read(queries, dialect, scope, sortDir, { offset: skip, limit: wanted })));
    skip = Math.max(0, skip - size);
  }
  return ids;
};

async function countScheduled(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const sources = scheduledSources(scope, dialect);
  if (sources.length === 0) return 0;
  const isCounted = scope.eventNos === null && scope.sinceMs === null && scope.untilMs === null;
  const statuses = scope.status === null ? (['pending', 'retrying'] as const) : [scope.status];
  const count = isCounted
    ? scope.waiting.reduce(
        (sum, each) => sum + statuses.reduce((all, status) => all + countWithStatus(each, status), 0),
        0,
      )
    : await countSources(queries, sources);
  if (count > MAX_SORTED) throw new DomainError('sort_too_large', { limit: MAX_SORTED });
  return count;
}

async function scheduledIds(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  sortDir: Direction,
  { offset, limit }: Window,
): Promise<string[]> {
  const rows: { hex: string; nextMs: number }[] = [];
  for (const { sql, parameters } of scheduledSources(scope, dialect)) {
    const most = parameters.values.length + 1;
    const found = await queries.all<{ id: SqlUuid; next_ms: SqlInteger }>(
      `select q.id as id, coalesce(q.scheduled_ms, q.due_ms) as next_ms ${sql}
       order by next_ms ${sortDir}, id ${sortDir} limit $${most}`,
      [...parameters.values, offset + limit],
    );
    for (const row of found) rows.push({ hex: dialect.hexOf(row.id), nextMs: Number(row.next_ms) });
  }
  rows.sort((a, b) => a.nextMs - b.nextMs || (a.hex < b.hex ? -1 : 1));
  if (sortDir === 'desc') rows.reverse();
  return rows.slice(offset, offset + limit).map(({ hex }) => hex);
}

async function unscheduledIds(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  direction: Direction,
  window: Window,
): Promise<string[]> {
  const sources = [
    ...(await orderedRecordSources(queries, dialect, scope)),
    ...unscheduledQueueSources(scope, dialect),
  ];
  return mergedIds(queries, dialect, sources, direction, window);
}

/** Reads rows in the order of the ids. Outside of a snapshot, a delivery may complete between the two statements. */
export async function readRows(
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
      `select ${IN_RECORD} from deliveries d where d.entity_id = $1 and d.id in ${list}`,
      `select ${IN_QUEUE} from queue q where q.entity_id = $1 and q.id in ${list}`,
    ]) {
      for (const row of await deliveryColumns.all(queries, sql, parameters.values))
        found.set(dialect.hexOf(row.id), row);
    }
  }
  return ids.flatMap((hex) => found.get(hex) ?? []);
}
