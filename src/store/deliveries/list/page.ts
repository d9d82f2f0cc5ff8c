import type { DeliveryListQuery } from '../../../contract/deliveries.ts';
import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { SqlInteger, SqlUuid } from '../../database/database.ts';
import { chunks, Parameters, readInteger } from '../../database/sql.ts';
import { mergedText } from '../../list/merged.ts';
import { inOrder, MAX_SKIPPED, requireNear, type Slice, windowOf } from '../../list/page.ts';
import { countSources, countWaiting, findPart } from './count.ts';
import { type DeliveryRow, readRows } from './rows.ts';
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

/**
 * One page of a list, merged from `deliveries` and `queue`. Ids come first, each along an index. Only the rows of the
 * page itself are then read, by id.
 */

type PageQuery = Pick<DeliveryListQuery, 'page' | 'limit' | 'sortDir'>;

export async function readPageRows(
  scope: Scope,
  query: PageQuery & Pick<DeliveryListQuery, 'sortBy'>,
  totalResults: number,
): Promise<DeliveryRow[]> {
  if (windowOf(query, totalResults) === null) return [];
  const read = query.sortBy === 'dateCreated' ? idsByDate : idsByNextAttempt;
  return readRows(scope.queries, scope.dialect, scope.entity, await read(scope, query, totalResults));
}

/** The ids of a page in the order of dates. They are read from the nearer end. */
export async function idsByDate(scope: Scope, query: PageQuery, totalResults: number): Promise<string[]> {
  const window = windowOf(query, totalResults);
  if (window === null) return [];
  const part = await findPart(scope, window);
  const sources = [...(await orderedRecordSources(part.scope)), ...queueSources(part.scope)];
  requireNear(part.skip, scope.status === 'delivered' && scope.webhooks !== null ? MAX_LOOKED_UP : MAX_SKIPPED);
  return inOrder(window, await mergedIds(scope, sources, { ...window, skip: part.skip }));
}

/**
 * If a filter selects more than `FEW_WEBHOOKS` and more than 1 in 50 of the entity's webhooks, one order is read and
 * filtered. Otherwise the order of each webhook is read and merged.
 */
const DENSE = 50;

/** The sources of completed deliveries. An index can read each of them in the order of ids. */
async function orderedRecordSources(scope: Scope): Promise<Source[]> {
  const { queries, webhooks, entity } = scope;
  if (webhooks === null || scope.eventNos !== null) return recordSources(scope);
  const ofEntity = () => readInteger(queries, 'count(*)', 'from queue_heads where entity_id = $1', [entity]);
  if (webhooks.length > FEW_WEBHOOKS && webhooks.length * DENSE > (await ofEntity())) return recordSources(scope);
  return webhooks.flatMap(({ webhookNo }) => recordSources(scope, [webhookNo]));
}

/** Limit on the rows that a page looks up to skip them. The index by webhook does not have the status. */
const MAX_LOOKED_UP = 8_000;
/** Up to this many sources can be read as if each had all matches. With more sources, a page can skip fewer matches. */
const SOURCES_OF_ALL = 4;

/** The matches of all sources in the order of their ids. */
async function mergedIds(scope: Scope, sources: readonly Source[], slice: Slice): Promise<string[]> {
  const { skip, count, direction } = slice;
  requireNear(skip * Math.max(1, sources.length / SOURCES_OF_ALL));
  if (sources.length <= SOURCES_PER_STATEMENT) return readIds(scope, sources, slice);
  const lists: string[][] = [];
  for (const some of chunks(sources, SOURCES_PER_STATEMENT)) {
    lists.push(await readIds(scope, some, { direction, skip: 0, count: skip + count }));
  }
  const merged = lists.flat().sort();
  if (direction === 'desc') merged.reverse();
  return merged.slice(skip, skip + count);
}

async function readIds({ queries, dialect }: Scope, sources: readonly Source[], slice: Slice): Promise<string[]> {
  if (sources.length === 0) return [];
  const parameters = new Parameters();
  const ordered = sources.map((source) => ({
    columns: source.table === 'deliveries' ? 'd.id as id' : 'q.id as id',
    from: textWithin(source, parameters),
    order: [source.order],
  }));
  const rows = await queries.all<{ id: SqlUuid }>(mergedText(ordered, ['id'], slice, parameters), parameters.values);
  return rows.map(({ id }) => dialect.hexOf(id));
}

/** Sorting more than these by their next attempt takes too long for one request. */
const MAX_SORTED = 20_000;

/** The ids of a page in the order of the next attempts. Deliveries without one follow in the order of their ids. */
async function idsByNextAttempt(scope: Scope, query: PageQuery, totalResults: number): Promise<string[]> {
  const scheduled = await countScheduled(scope);
  if (scheduled === 0) return idsByDate(scope, query, totalResults);
  const { page, limit, sortDir: direction } = query;
  const parts = [
    { size: scheduled, read: scheduledIds },
    { size: totalResults - scheduled, read: unscheduledIds },
  ];
  if (direction === 'desc') parts.reverse();
  const ids: string[] = [];
  let skip = (page - 1) * limit;
  for (const { size, read } of parts) {
    const count = Math.min(limit - ids.length, size - skip);
    if (count > 0) ids.push(...(await read(scope, { direction, skip, count })));
    skip = Math.max(0, skip - size);
  }
  return ids;
}

async function countScheduled(scope: Scope): Promise<number> {
  const { queries, status, eventNos, sinceMs, untilMs } = scope;
  const sources = scheduledSources(scope);
  if (sources.length === 0) return 0;
  const isCounted = eventNos === null && sinceMs === null && untilMs === null;
  const statuses: readonly DeliveryStatus[] = status === null ? ['pending', 'retrying'] : [status];
  const count = isCounted
    ? statuses.reduce((sum, each) => sum + countWaiting(scope, each), 0)
    : await countSources(queries, sources);
  if (count > MAX_SORTED) throw new DomainError('sort_too_large', { limit: MAX_SORTED });
  return count;
}

async function scheduledIds(scope: Scope, { direction, skip, count }: Slice): Promise<string[]> {
  const { queries, dialect } = scope;
  const rows: { hex: string; nextMs: number }[] = [];
  for (const { sql, parameters } of scheduledSources(scope)) {
    const found = await queries.all<{ id: SqlUuid; next_ms: SqlInteger }>(
      `select q.id as id, coalesce(q.scheduled_ms, q.due_ms) as next_ms ${sql}
       order by next_ms ${direction}, id ${direction} limit $${parameters.values.length + 1}`,
      [...parameters.values, skip + count],
    );
    for (const row of found) rows.push({ hex: dialect.hexOf(row.id), nextMs: Number(row.next_ms) });
  }
  rows.sort((a, b) => a.nextMs - b.nextMs || (a.hex < b.hex ? -1 : 1));
  if (direction === 'desc') rows.reverse();
  return rows.slice(skip, skip + count).map(({ hex }) => hex);
}

async function unscheduledIds(scope: Scope, slice: Slice): Promise<string[]> {
  const sources = [...(await orderedRecordSources(scope)), ...unscheduledQueueSources(scope)];
  return mergedIds(scope, sources, slice);
}
