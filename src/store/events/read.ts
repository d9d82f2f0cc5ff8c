import type { Event, EventListQuery } from '../../contract/events/accepted-event.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import { firstHexAt } from '../../domain/ids.ts';
import { findEventsOfTransaction } from '../chain/event-facts.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../database/database.ts';
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
} from '../database/sql.ts';
import { EVENT_BUCKET_MS, EVENT_DAY_MS } from '../deliveries/counts/event-counts.ts';
import { type Buckets, countByBuckets, findInBuckets } from '../list/buckets.ts';
import { readWindow, requireNear, type Window, windowOf } from '../list/page.ts';
import { eventCountTable, eventDayCountTable } from '../tables.ts';
import { findEventNo } from './event-ids.ts';
import { findEventsAbout } from './subjects.ts';
import { countUndelivered, eventsThatFollow, type Match, matchCondition, unmatchedAmong } from './unmatched.ts';

/** Reads accepted events. Totals come from the counters, except for the two hours that the range of dates cuts. */

/** Only an event that is not a retraction can be retracted. A retraction can be outdated too. */
export const RETRACTED_BY = `case when event <> '${RETRACTION}' then outdated_by end`;
/**
 * The id that the sender of the retraction chose, if there is one. The subselect names the entity by the first parameter. Citus
 * rejects a statement that locks events if the subselect takes the entity from the rows of the events.
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

/** A filter in terms of the table, with the connection of its list. `nos` is set if the list contains only these events. */
type Scope = Pick<EventListQuery, 'event' | 'networkId'> & {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly entityId: string;
  readonly nos: readonly string[] | null;
  readonly match: Match | undefined;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
};

export function listEvents(
  db: Database,
  entityId: string,
  query: EventListQuery,
): Promise<{ totalResults: number; events: Event[] }> {
  const { dialect } = db;
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const [, nos] = await Promise.all([
      queries.get(dialect.planForClaims),
      findNamed(queries, dialect, entityId, query),
    ]);
    if (nos?.length === 0) return { totalResults: 0, events: [] };
    const { event, networkId, matched, since, until } = query;
    const scope: Scope = {
      ...{ queries, dialect, entityId, nos, event, networkId },
      match: matched === undefined ? undefined : matched === 'true' ? 'matched' : 'unmatched',
      sinceMs: since === undefined ? null : since * 1000,
      untilMs: until === undefined ? null : until * 1000,
    };
    const totalResults = await countScope(scope);
    const window = windowOf(query, totalResults);
    return { totalResults, events: window === null ? [] : await readEvents(scope, window) };
  });
}

/** The numbers of the events that `eventId`, `q` and `transactionHash` name together; null if none of them is given. */
async function findNamed(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { eventId, q, since, transactionHash }: EventListQuery,
): Promise<string[] | null> {
  const named: string[][] = [];
  if (q !== undefined) {
    // If no event has this id, the text is the id of a transfer or an agreement.
    const no = await findEventNo(queries, dialect, entityId, q);
    const entity = entityKey(dialect, entityId);
    named.push(no === null ? await findEventsAbout(queries, dialect, entity, q, since) : [no]);
  }
  if (transactionHash !== undefined) {
    named.push(await findEventsOfTransaction(queries, dialect, entityId, transactionHash));
  }
  if (eventId !== undefined) named.push([(await findEventNo(queries, dialect, entityId, eventId)) ?? []].flat());
  const [first = null, ...others] = named;
  return first?.filter((no) => others.every((nos) => nos.includes(no))) ?? null;
}

export async function readEvent(db: Database, entityId: string, eventId: string): Promise<Event | null> {
  const { dialect } = db;
  const no = await findEventNo(db, dialect, entityId, eventId);
  if (no === null) return null;
  const from = 'from events where entity_id = $1 and no in';
  const rows = await eventColumns.allIn(db, from, [entityKey(dialect, entityId)], [dialect.bindUuid(no)]);
  const [event = null] = await toEvents(db, dialect, entityId, rows);
  return event;
}

function conditions(scope: Scope, parameters: Parameters): string {
  const { dialect, entityId, nos, event, networkId, match, sinceMs, untilMs } = scope;
  const { bindUuid } = dialect;
  const all = [`entity_id = ${parameters.bind(entityKey(dialect, entityId))}`];
  if (nos !== null) all.push(`no in ${parameters.list(nos.map(bindUuid))}`);
  if (sinceMs !== null) all.push(`no >= ${parameters.bind(bindUuid(firstHexAt(sinceMs)))}`);
  if (untilMs !== null) all.push(`no < ${parameters.bind(bindUuid(firstHexAt(untilMs)))}`);
  if (event !== undefined) all.push(`event = ${parameters.bind(event)}`);
  if (networkId !== undefined) all.push(`network_id = ${parameters.bind(networkId)}`);
  if (match !== undefined) all.push(matchCondition(dialect, entityId, match, parameters));
  return all.join(' and ');
}

function countRows(scope: Scope, tableOf: (parameters: Parameters) => string = () => 'events'): Promise<number> {
  const parameters = new Parameters();
  const from = `from ${tableOf(parameters)} where ${conditions(scope, parameters)}`;
  return readInteger(scope.queries, 'count(*)', from, parameters.values);
}

/** Whether nothing but the match limits the list. */
function isWhole({ nos, event, networkId, sinceMs, untilMs }: Scope): boolean {
  return nos === null && event === undefined && networkId === undefined && sinceMs === null && untilMs === null;
}

/**
 * Counts the events without deliveries, along a counter or an index, and subtracts the few that may still get some. Checking each
 * event takes ten times as long.
 */
async function countUnmatched(given: Scope): Promise<number> {
  const scope: Scope = { ...given, match: 'undelivered' };
  const { queries, dialect, entityId } = scope;
  const undelivered = await (isWhole(scope)
    ? countUndelivered(queries, entityKey(dialect, entityId))
    : countRows(scope));
  if (undelivered === 0) return 0;
  return undelivered - (await countRows(scope, (parameters) => eventsThatFollow(dialect, entityId, parameters)));
}

const cut = (scope: Scope, range: Partial<Scope>): Scope => ({ ...scope, ...range });

const HOURS: Buckets<Scope> = {
  bucketMs: EVENT_BUCKET_MS,
  counters({ dialect, entityId, event, networkId }, first, end) {
    const parameters = new Parameters();
    const bucket = { from: first, before: end };
    const where = eventCountTable.where(parameters, { entity: entityKey(dialect, entityId), bucket, event, networkId });
    return [{ total: 'events', from: `from event_counts where ${where}`, parameters: parameters.values }];
  },
  countRows: (scope) => countRows(scope),
  cut,
};

/** Buckets for lists of every network and kind. Days that the range of dates cuts are counted by hours. */
const DAYS: Buckets<Scope> = {
  bucketMs: EVENT_DAY_MS,
  counters({ dialect, entityId }, first, end) {
    const parameters = new Parameters();
    const bucket = { from: first, before: end };
    const where = eventDayCountTable.where(parameters, { entity: entityKey(dialect, entityId), bucket });
    return [{ total: 'events', from: `from event_day_counts where ${where}`, parameters: parameters.values }];
  },
  countRows: (scope) => countByBuckets(scope.queries, HOURS, scope),
  cut,
};

const isOfAllKinds = ({ event, networkId }: Scope) => event === undefined && networkId === undefined;

async function findPart(scope: Scope, window: Window): Promise<{ scope: Scope; skip: number }> {
  const { queries } = scope;
  if (!isOfAllKinds(scope)) return findInBuckets(queries, HOURS, scope, window);
  const days = await findInBuckets(queries, DAYS, scope, window);
  return findInBuckets(queries, HOURS, days.scope, { ...window, skip: days.skip });
}

async function countScope(scope: Scope): Promise<number> {
  const { match, nos } = scope;
  if (match === 'unmatched') return countUnmatched(scope);
  if (match === 'matched') {
    return (await countScope({ ...scope, match: undefined })) - (await countUnmatched(scope));
  }
  return nos === null ? countByBuckets(scope.queries, isOfAllKinds(scope) ? DAYS : HOURS, scope) : countRows(scope);
}

/** Up to this many skipped events, walking a list without a filter is faster than reading its counters. */
const NEAR = 1_000;

const EVENTS = {
  table: 'events',
  columns: eventColumns,
  order: ['no'],
  keys: { name: 'no', from: 0 },
  size: { bytes: 'octet_length(body)', fits: DEFAULT_LIMIT },
} as const;

/**
 * Reads the page at the window, and skips whole hours by the counters. The counters do not say which events have matched, so a
 * list by match skips row by row.
 */
async function readEvents(scope: Scope, window: Window): Promise<Event[]> {
  const { queries, dialect, entityId, match, nos } = scope;
  const isNear = isOfAllKinds(scope) && window.skip < NEAR;
  const isCounted = match === undefined && nos === null && !isNear;
  const part = isCounted ? await findPart(scope, window) : { scope, skip: window.skip };
  requireNear(part.skip);
  const parameters = new Parameters();
  const source = { ...EVENTS, where: conditions(part.scope, parameters), parameters: parameters.values };
  const rows = await readWindow(queries, source, { ...window, skip: part.skip });
  return toEvents(queries, dialect, entityId, rows);
}

async function toEvents(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  rows: readonly EventRow[],
): Promise<Event[]> {
  const undelivered = rows.filter(({ deliveries }) => deliveries === 0).map(({ no }) => no);
  const unmatched = await unmatchedAmong(queries, dialect, entityId, undelivered);
  return rows.map(({ no, eventId, retractedByNo, retractedById, ...event }) => {
    const [hex, retractionHex] = [dialect.hexOf(no), retractedByNo && dialect.hexOf(retractedByNo)];
    return {
      eventId: eventId ?? `evt_${hex}`,
      ...event,
      matched: !unmatched.has(hex),
      retractedBy: retractionHex && (retractedById ?? `evt_${retractionHex}`),
    };
  });
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
