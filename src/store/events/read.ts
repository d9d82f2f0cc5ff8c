import type { Event, EventListQuery } from '../../contract/deliveries.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { DomainError } from '../../domain/errors.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import { firstHexAt } from '../../domain/ids.ts';
import { findEventsOfTransaction } from '../chain/event-facts.ts';
import {
  type Database,
  type Dialect,
  longReadsOf,
  type Queries,
  type SqlInteger,
  type SqlUuid,
  type SqlValue,
} from '../database/database.ts';
import { requireLight } from '../database/paginate.ts';
import {
  Columns,
  entityKey,
  integer,
  nullable,
  Parameters,
  type RowOf,
  readInteger,
  seconds,
  text,
  uuid,
  valuesList,
} from '../database/sql.ts';
import { EVENT_BUCKET_MS } from '../deliveries/counts/counts.ts';
import { findEventNo } from './event-ids.ts';
import { findEventsAbout } from './subjects.ts';
import { countUndelivered, eventsThatFollow, type Match, matchCondition, unmatchedAmong } from './unmatched.ts';

/** Reads accepted events. Totals come from the counters, but for the two hours that a range of dates cuts. */

/** A retraction can be outdated too, but not retracted. */
export const RETRACTED_BY = `case when event <> '${RETRACTION}' then outdated_by end`;
/**
 * The id that the sender of the retraction chose, if there is one. The subselect names the entity by the first parameter:
 * Citus rejects a statement that locks events and takes the entity of a subselect from their rows.
 */
export const RETRACTED_BY_ID = '(select r.event_id from events r where r.entity_id = $1 and r.no = events.outdated_by)';

const eventColumns = new Columns({
  no: uuid('no'),
  eventId: nullable(text('event_id')),
  event: text('event'),
  networkId: integer('network_id'),
  body: text('body'),
  dateCreated: seconds('created_at_ms'),
  deliveries: integer('deliveries'),
  retractedByNo: nullable(uuid(RETRACTED_BY)),
  retractedById: nullable(text(RETRACTED_BY_ID)),
});
type EventRow = RowOf<typeof eventColumns>;

/** The filter of a list. `nos` is set if the list contains only these events. */
type Scope = {
  entityId: string;
  entity: SqlUuid;
  nos: readonly string[] | null;
  event: string | undefined;
  networkId: number | undefined;
  match: Match | undefined;
  sinceMs: number | null;
  untilMs: number | null;
};

export function listEvents(
  db: Database,
  entityId: string,
  query: EventListQuery,
): Promise<{ totalResults: number; events: Event[] }> {
  const { dialect } = db;
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    await queries.get(dialect.planForClaims);
    const nos = await findNamed(queries, dialect, entityId, query);
    if (nos?.length === 0) return { totalResults: 0, events: [] };
    const scope: Scope = {
      entityId,
      entity: entityKey(dialect, entityId),
      nos,
      event: query.event,
      networkId: query.networkId,
      match: query.matched === undefined ? undefined : query.matched === 'true' ? 'matched' : 'unmatched',
      sinceMs: query.since === undefined ? null : query.since * 1000,
      untilMs: query.until === undefined ? null : query.until * 1000,
    };
    const totalResults = await countScope(queries, dialect, scope);
    const offset = (query.page - 1) * query.limit;
    if (offset >= totalResults) return { totalResults, events: [] };
    const shown = await readNumbers(queries, dialect, scope, query, offset, totalResults);
    if (query.limit > DEFAULT_LIMIT) {
      const from = `from events where entity_id = $1 and no in ${valuesList(1, shown.length, 1)}`;
      await requireLight(queries, 'octet_length(body)', from, [scope.entity, ...shown]);
    }
    return { totalResults, events: await readRows(queries, dialect, scope, shown) };
  });
}

/** The numbers of the events that `eventId`, `q` and `transactionHash` name together; null if none of them is given. */
async function findNamed(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { eventId, q, since, transactionHash }: Pick<EventListQuery, 'eventId' | 'q' | 'since' | 'transactionHash'>,
): Promise<string[] | null> {
  const found = q === undefined ? null : await findByText(queries, dialect, entityId, q, since);
  const named = await keepTransaction(queries, dialect, entityId, transactionHash, found);
  if (eventId === undefined) return named;
  const no = await findEventNo(queries, dialect, entityId, eventId);
  return no !== null && (named === null || named.includes(no)) ? [no] : [];
}

/** The given events as far as they are about a transaction; all its events if none are given. */
async function keepTransaction(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  transactionHash: string | undefined,
  nos: string[] | null,
): Promise<string[] | null> {
  if (transactionHash === undefined) return nos;
  const events = await findEventsOfTransaction(queries, dialect, entityId, transactionHash);
  return nos === null ? events : nos.filter((no) => events.includes(no));
}

/** The event with this id. If there is none, the events of the transfer or of the agreement with this id. */
async function findByText(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  q: string,
  since: number | undefined,
): Promise<string[]> {
  const no = await findEventNo(queries, dialect, entityId, q);
  return no === null ? findEventsAbout(queries, dialect, entityKey(dialect, entityId), q, since) : [no];
}

export async function readEvent(db: Database, entityId: string, eventId: string): Promise<Event | null> {
  const { dialect } = db;
  const no = await findEventNo(db, dialect, entityId, eventId);
  if (no === null) return null;
  const [event = null] = await readRows(db, dialect, { entityId, entity: entityKey(dialect, entityId) }, [
    dialect.bindUuid(no),
  ]);
  return event;
}

function conditions(scope: Scope, dialect: Dialect, parameters: Parameters): string {
  const { bindUuid } = dialect;
  const { entityId, entity, nos, event, networkId, match, sinceMs, untilMs } = scope;
  const all = [`entity_id = ${parameters.bind(entity)}`];
  if (nos !== null) all.push(`no in ${parameters.list(nos.map(bindUuid))}`);
  if (sinceMs !== null) all.push(`no >= ${parameters.bind(bindUuid(firstHexAt(sinceMs)))}`);
  if (untilMs !== null) all.push(`no < ${parameters.bind(bindUuid(firstHexAt(untilMs)))}`);
  if (event !== undefined) all.push(`event = ${parameters.bind(event)}`);
  if (networkId !== undefined) all.push(`network_id = ${parameters.bind(networkId)}`);
  if (match !== undefined) all.push(matchCondition(dialect, entityId, match, parameters));
  return all.join(' and ');
}

function countRows(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const parameters = new Parameters();
  const from = `from events where ${conditions(scope, dialect, parameters)}`;
  return readInteger(queries, 'count(*)', from, parameters.values);
}

/** Whether nothing but the match limits the list. */
function isWhole({ nos, event, networkId, sinceMs, untilMs }: Scope): boolean {
  return nos === null && event === undefined && networkId === undefined && sinceMs === null && untilMs === null;
}

/**
 * Counts the events without deliveries, along a counter or an index, and subtracts the few that may still get some. Checking each
 * event takes ten times as long.
 */
async function countUnmatched(queries: Queries, dialect: Dialect, given: Scope): Promise<number> {
  const scope: Scope = { ...given, match: 'undelivered' };
  const undelivered = isWhole(scope)
    ? await countUndelivered(queries, scope.entity)
    : await countRows(queries, dialect, scope);
  if (undelivered === 0) return 0;
  const parameters = new Parameters();
  const table = eventsThatFollow(dialect, scope.entityId, parameters);
  const from = `from ${table} where ${conditions(scope, dialect, parameters)}`;
  return undelivered - (await readInteger(queries, 'count(*)', from, parameters.values));
}

const LAST_BUCKET = 2 ** 31 - 1;

function wholeBuckets({ sinceMs, untilMs }: Scope): { first: number; end: number } {
  return {
    first: sinceMs === null ? 0 : Math.ceil(sinceMs / EVENT_BUCKET_MS),
    end: untilMs === null ? LAST_BUCKET : Math.floor(untilMs / EVENT_BUCKET_MS),
  };
}

async function countScope(queries: Queries, dialect: Dialect, scope: Scope): Promise<number> {
  const { match, sinceMs, untilMs } = scope;
  if (match === 'unmatched') return countUnmatched(queries, dialect, scope);
  if (match === 'matched') {
    const all = await countScope(queries, dialect, { ...scope, match: undefined });
    return all - (await countUnmatched(queries, dialect, scope));
  }
  const { first, end } = wholeBuckets(scope);
  if (scope.nos !== null || first >= end) return countRows(queries, dialect, scope);
  const row = await queries.get<{ total: SqlInteger | null }>(
    ...bucketsText('sum(events) as total', scope, first, end),
  );
  let total = Number(row?.total ?? 0);
  if (sinceMs !== null) total += await countRows(queries, dialect, { ...scope, untilMs: first * EVENT_BUCKET_MS });
  if (untilMs !== null) total += await countRows(queries, dialect, { ...scope, sinceMs: end * EVENT_BUCKET_MS });
  return total;
}

function bucketsText(columns: string, scope: Scope, first: number, end: number, tail = ''): [string, SqlValue[]] {
  const parameters = new Parameters();
  const all = [
    `entity_id = ${parameters.bind(scope.entity)}`,
    `bucket >= ${parameters.bind(first)}`,
    `bucket < ${parameters.bind(end)}`,
  ];
  if (scope.event !== undefined) all.push(`event = ${parameters.bind(scope.event)}`);
  if (scope.networkId !== undefined) all.push(`network_id = ${parameters.bind(scope.networkId)}`);
  return [`select ${columns} from event_counts where ${all.join(' and ')} ${tail}`, parameters.values];
}

/** Skipping more than these takes too long for one request. */
const MAX_SKIPPED = 25_000;

/** From whichever end is nearer, and past whole hours of the counters. */
async function readNumbers(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  { sortDir, limit }: Pick<EventListQuery, 'sortDir' | 'limit'>,
  offset: number,
  totalResults: number,
): Promise<SqlUuid[]> {
  const count = Math.min(limit, totalResults - offset);
  const behind = totalResults - offset - count;
  const isBackwards = behind < offset;
  const direction = (sortDir === 'asc') !== isBackwards ? 'asc' : 'desc';
  const window = { offset: isBackwards ? behind : offset, count };
  const part = await findBuckets(queries, dialect, scope, window, direction);
  if (part.offset > MAX_SKIPPED) throw new DomainError('page_too_deep', { limit: MAX_SKIPPED });
  const parameters = new Parameters();
  const where = conditions(part.scope, dialect, parameters);
  const rows = await queries.all<{ no: SqlUuid }>(
    `select no from events where ${where} order by no ${direction}
     limit ${parameters.bind(count)} offset ${parameters.bind(part.offset)}`,
    parameters.values,
  );
  const nos = rows.map(({ no }) => no);
  return isBackwards ? nos.reverse() : nos;
}

/** Up to here, a list without a filter is walked faster than its counters are read. */
const NEAR = 1_000;

/** Finds a page by the hourly counters. If a range of dates cuts an hour, the rows in that part are counted. */
async function findBuckets(
  queries: Queries,
  dialect: Dialect,
  scope: Scope,
  { offset, count }: { offset: number; count: number },
  direction: 'asc' | 'desc',
): Promise<{ scope: Scope; offset: number }> {
  const { first, end } = wholeBuckets(scope);
  const isEvery = scope.event === undefined && scope.networkId === undefined;
  // The counters do not tell which events have matched.
  if (scope.match !== undefined) return { scope, offset };
  if (scope.nos !== null || first >= end || (isEvery && offset < NEAR)) return { scope, offset };
  const isUp = direction === 'asc';
  const from = (ms: number) => (isUp ? { sinceMs: ms } : { untilMs: ms });
  const to = (ms: number) => (isUp ? { untilMs: ms } : { sinceMs: ms });
  const startMs = (isUp ? first : end) * EVENT_BUCKET_MS;
  const isCut = (isUp ? scope.sinceMs : scope.untilMs) !== null;
  const atEdge = isCut ? await countRows(queries, dialect, { ...scope, ...to(startMs) }) : 0;
  if (offset < atEdge) return { scope, offset };
  const tail = `group by bucket order by bucket ${direction}`;
  const rows = await queries.all<{ bucket: SqlInteger; total: SqlInteger }>(
    ...bucketsText('bucket, sum(events) as total', scope, first, end, tail),
  );
  let before = atEdge;
  let part: { scope: Scope; offset: number } | null = null;
  for (const row of rows) {
    const [lowMs, highMs] = [0, 1].map((step) => (Number(row.bucket) + step) * EVENT_BUCKET_MS) as [number, number];
    const total = Number(row.total);
    if (part === null && offset < before + total) {
      part = { scope: { ...scope, ...from(isUp ? lowMs : highMs) }, offset: offset - before };
    }
    before += total;
    if (part !== null && offset + count <= before) {
      return { ...part, scope: { ...part.scope, ...to(isUp ? highMs : lowMs) } };
    }
  }
  return part ?? { scope: { ...scope, ...from((isUp ? end : first) * EVENT_BUCKET_MS) }, offset: offset - before };
}

async function readRows(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  { entityId, entity }: Pick<Scope, 'entityId' | 'entity'>,
  nos: readonly SqlUuid[],
): Promise<Event[]> {
  if (nos.length === 0) return [];
  const rows = await eventColumns.all(
    queries,
    `select ${eventColumns.list} from events where entity_id = $1 and no in ${valuesList(1, nos.length, 1)}`,
    [entity, ...nos],
  );
  const byNo = new Map(rows.map((row) => [dialect.hexOf(row.no), row]));
  const undelivered = rows.filter(({ deliveries }) => deliveries === 0).map(({ no }) => no);
  const unmatched = await unmatchedAmong(queries, dialect, entityId, undelivered);
  return nos.flatMap((no) => {
    const hex = dialect.hexOf(no);
    const row = byNo.get(hex);
    return row === undefined ? [] : [toEvent(dialect, row, !unmatched.has(hex))];
  });
}

function toEvent(
  { hexOf }: Dialect,
  { no, eventId, retractedByNo, retractedById, ...event }: EventRow,
  matched: boolean,
): Event {
  const retractedBy = retractedByNo === null ? null : (retractedById ?? `evt_${hexOf(retractedByNo)}`);
  return { eventId: eventId ?? `evt_${hexOf(no)}`, ...event, matched, retractedBy };
}

const sourceColumns = new Columns({
  body: text('body'),
  factId: nullable(
    text(`(select f.fact_id from fact_events f where f.entity_id = $3 and f.event_no = events.no
      and f.fact_id like 'fct_%' limit 1)`),
  ),
});

/** The body and the payment of a delivery's event. Retention may have removed the event. */
export async function readSource(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  eventNo: string,
): Promise<{ body: string; factId: string | null }> {
  const row = await sourceColumns.get(
    queries,
    `select ${sourceColumns.list} from events where entity_id = $1 and no = $2`,
    [entityKey(dialect, entityId), dialect.bindUuid(eventNo), entityId],
  );
  return row ?? { body: '', factId: null };
}
