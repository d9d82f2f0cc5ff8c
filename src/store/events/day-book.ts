import type { ReconciledEvent, Reconciliation } from '../../contract/events/reconciliation.ts';
import { DomainError } from '../../domain/errors.ts';
import { firstHexAt, lastDeliveryHex } from '../../domain/ids.ts';
import {
  bookLine,
  canonicalAmount,
  canonicalToken,
  compareLines,
  type EventProgress,
} from '../../domain/reconciliation/book.ts';
import { DecimalSum } from '../../domain/reconciliation/decimal-sum.ts';
import { findOpenEvents } from '../chain/read/open-events.ts';
import { type Database, longReadsOf, type Queries, type SqlUuid, type SqlValue } from '../database/database.ts';
import {
  Columns,
  entityKey,
  integer,
  nullable,
  Parameters,
  type RowOf,
  text,
  uuid,
  valuesList,
} from '../database/sql.ts';
import { STATUS_CODES } from '../deliveries/states.ts';

/** The events of a day with what became of them. Read in steps, each in a snapshot of its own. */

export type DayScope = {
  readonly entityId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly networkId: number | undefined;
  readonly events: readonly string[] | undefined;
};

/** Of the largest events, 25 MiB. */
const EVENTS_PER_STEP = 100;
/** The lines are sorted in memory. */
const MAX_EVENTS = 200_000;
/** Of networks, event kinds and tokens together: of payloads with a token of their own each, a sum says nothing. */
const MAX_TOTALS = 1_000;

const eventColumns = new Columns({
  no: uuid('no'),
  eventId: nullable(text('event_id')),
  event: text('event'),
  networkId: integer('network_id'),
  body: text('body'),
});
type EventRow = RowOf<typeof eventColumns>;

/** Of the deliveries of an event that it needs: a cancelled or superseded one is none of them. */
const countColumns = new Columns({
  no: uuid('no'),
  acknowledged: integer('acknowledged'),
  complete: integer('complete'),
  open: integer('open'),
  /** Those among the open ones that have had an attempt. */
  tried: integer('tried'),
});
type CountRow = RowOf<typeof countColumns>;
type Counts = Omit<CountRow, 'no'>;

/** Its totals and the digest of what was acknowledged. */
export async function summarizeDay(
  db: Database,
  scope: DayScope,
): Promise<Pick<Reconciliation, 'events' | 'acknowledged' | 'sha256' | 'totals'>> {
  const totals = new Map<string, Total>();
  const lines: string[] = [];
  let events = 0;
  for await (const step of stepsOf(db, scope, null)) {
    events += step.length;
    if (events > MAX_EVENTS) throw new DomainError('day_too_large', { what: 'events', limit: MAX_EVENTS });
    for (const entry of step) {
      if (totals.size > MAX_TOTALS) throw new DomainError('day_too_large', { what: 'tokens', limit: MAX_TOTALS });
      totalOf(totals, entry).add(entry);
      if (entry.progress === 'acknowledged') lines.push(bookLine(entry));
    }
  }
  const hash = new Bun.SHA256();
  for (const line of lines.sort(compareLines)) hash.update(line);
  const keys = [...totals.keys()].sort(compareLines);
  return {
    events,
    acknowledged: lines.length,
    sha256: hash.digest('hex'),
    totals: keys.flatMap((key) => totals.get(key)?.show() ?? []),
  };
}

/** A part of the day from an event on, or from its beginning. */
export async function readDay(
  db: Database,
  scope: DayScope,
  afterNo: string | null,
  limit: number,
): Promise<{ events: ReconciledEvent[]; isEnd: boolean }> {
  const events: ReconciledEvent[] = [];
  for await (const step of stepsOf(db, scope, afterNo)) {
    events.push(...step);
    if (events.length > limit) return { events: events.slice(0, limit), isEnd: false };
  }
  return { events, isEnd: true };
}

async function* stepsOf(db: Database, scope: DayScope, afterNo: string | null): AsyncGenerator<ReconciledEvent[]> {
  const { dialect } = db;
  const entity = entityKey(dialect, scope.entityId);
  let after = afterNo;
  for (;;) {
    const step = await longReadsOf(db, scope.entityId).snapshot(async (queries) => {
      const rows = await readEvents(queries, db, scope, entity, after);
      const progress = await readProgress(queries, db, entity, rows);
      for (const no of await findUnfinished(queries, db, scope.entityId, rows)) progress.set(no, 'waiting');
      const final = await readFinal(queries, db, scope.entityId, rows);
      return { rows, entries: rows.map((row) => entryOf(row, dialect.hexOf(row.no), progress, final)) };
    });
    if (step.entries.length > 0) yield step.entries;
    const last = step.rows.at(-1);
    if (last === undefined || step.rows.length < EVENTS_PER_STEP) return;
    after = dialect.hexOf(last.no);
  }
}

function readEvents(
  queries: Queries,
  { dialect: { bindUuid } }: Database,
  { sinceMs, untilMs, networkId, events }: DayScope,
  entity: SqlUuid,
  after: string | null,
): Promise<EventRow[]> {
  const parameters = new Parameters();
  const first = firstHexAt(sinceMs);
  const where = [
    `entity_id = ${parameters.bind(entity)}`,
    // The later one of both bounds alone: SQLite seeks by one of them, and would read the whole day up to the other.
    after === null || after < first
      ? `no >= ${parameters.bind(bindUuid(first))}`
      : `no > ${parameters.bind(bindUuid(after))}`,
    `no < ${parameters.bind(bindUuid(firstHexAt(untilMs)))}`,
  ];
  if (networkId !== undefined) where.push(`network_id = ${parameters.bind(networkId)}`);
  if (events !== undefined) where.push(`event in ${parameters.list(events)}`);
  const sql = `select ${eventColumns.list} from events where ${where.join(' and ')} order by no limit ${EVENTS_PER_STEP}`;
  return eventColumns.all(queries, sql, parameters.values);
}

/** By the number of the event. One that has neither a complete nor a waiting delivery has nothing to deliver. */
async function readProgress(
  queries: Queries,
  db: Database,
  entity: SqlUuid,
  events: readonly EventRow[],
): Promise<Map<string, EventProgress>> {
  if (events.length === 0) return new Map();
  const counts = await countByRange(queries, db, entity, events);
  const found = counts.filter(({ complete, open }) => complete + open > 0);
  return new Map(found.map((row) => [db.dialect.hexOf(row.no), progressOf(row)]));
}

const { delivered, cancelled, superseded } = STATUS_CODES;
const IS_DELIVERED = `status = ${delivered}`;
const IS_NEEDED = `status not in (${cancelled}, ${superseded})`;
const WAS_DELIVERED = `recorded = ${delivered}`;

/** Counted for each event: a join over the ranges reads all deliveries of the entity on PostgreSQL. */
function countByRange(
  queries: Queries,
  { dialect: { uuid, bindUuid, hexOf } }: Database,
  entity: SqlUuid,
  events: readonly EventRow[],
): Promise<CountRow[]> {
  const count = (table: string, condition = '') =>
    `(select count(*) from ${table} where entity_id = $1 and id > e.no and id <= e.last ${condition})`;
  return countColumns.all(
    queries,
    `with e (no, last) as (values ${valuesList(events.length, 2, 1, [uuid, uuid])}), counts as (
       select no, ${count('deliveries', `and ${IS_DELIVERED}`)} + ${count('queue', `and ${WAS_DELIVERED}`)} as acknowledged,
         ${count('deliveries', `and ${IS_NEEDED}`)} as complete, ${count('queue')} as open,
         ${count('queue', 'and attempts > 0')} as tried
       from e)
     select ${countColumns.list} from counts`,
    [entity, ...events.flatMap(({ no }): SqlValue[] => [no, bindUuid(lastDeliveryHex(hexOf(no)))])],
  );
}

function progressOf({ acknowledged, complete, open, tried }: Counts): EventProgress {
  if (acknowledged === complete + open) return 'acknowledged';
  if (open === 0) return 'failed';
  return complete + tried > 0 ? 'sent' : 'waiting';
}

/** Events with deliveries that are not made yet, however many others were acknowledged. */
async function findUnfinished(
  queries: Queries,
  { dialect }: Database,
  entityId: string,
  events: readonly EventRow[],
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const numbers = events.map(({ no }) => no);
  const tasks = await queries.all<{ no: SqlUuid }>(
    `select event_no as no from tasks where entity_id = $1 and event_no in ${valuesList(1, numbers.length, 1)}`,
    [entityKey(dialect, entityId), ...numbers],
  );
  const open = await findOpenEvents(queries, dialect, entityId, numbers);
  for (const { no } of tasks) open.add(dialect.hexOf(no));
  return open;
}

/** The numbers of those whose payment is final. */
async function readFinal(
  queries: Queries,
  { dialect: { hexOf } }: Database,
  entityId: string,
  events: readonly EventRow[],
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const rows = await queries.all<{ no: SqlUuid }>(
    `select l.event_no as no from fact_events l join facts f on f.entity_id = l.entity_id and f.id = l.fact_id
     where l.entity_id = $1 and l.event_no in ${valuesList(1, events.length, 1)} and f.state = 'final'`,
    [entityId, ...events.map(({ no }) => no)],
  );
  return new Set(rows.map(({ no }) => hexOf(no)));
}

function entryOf(
  { eventId, event, networkId, body }: EventRow,
  no: string,
  progress: ReadonlyMap<string, EventProgress>,
  final: ReadonlySet<string>,
): ReconciledEvent {
  const { token, currency, amount } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  return {
    eventId: eventId ?? `evt_${no}`,
    networkId,
    event,
    token: canonicalToken(token) ?? canonicalToken(currency),
    amount: canonicalAmount(amount),
    isFinal: final.has(no),
    progress: progress.get(no) ?? 'nothing',
  };
}

/** The sums of one network, event kind and token. */
class Total {
  readonly #counts = { events: 0, withoutAmount: 0, final: 0, sent: 0, acknowledged: 0 };
  readonly #amount = new DecimalSum();
  readonly #acknowledgedAmount = new DecimalSum();

  constructor(private readonly of: Pick<ReconciledEvent, 'networkId' | 'event' | 'token'>) {}

  add({ amount, isFinal, progress }: ReconciledEvent): void {
    const counts = this.#counts;
    const isAcknowledged = progress === 'acknowledged';
    counts.events++;
    if (isFinal) counts.final++;
    if (isAcknowledged) counts.acknowledged++;
    if (progress !== 'waiting' && progress !== 'nothing') counts.sent++;
    if (amount === null) counts.withoutAmount++;
    else {
      this.#amount.add(amount);
      if (isAcknowledged) this.#acknowledgedAmount.add(amount);
    }
  }

  show(): Reconciliation['totals'][number] {
    const { events, withoutAmount, final, sent, acknowledged } = this.#counts;
    const amounts = { amount: this.#amount.toString(), acknowledgedAmount: this.#acknowledgedAmount.toString() };
    return { ...this.of, events, withoutAmount, final, sent, acknowledged, ...amounts };
  }
}

function totalOf(totals: Map<string, Total>, { networkId, event, token }: ReconciledEvent): Total {
  const key = [String(networkId).padStart(16, '0'), event, token ?? ''].join('\t');
  const known = totals.get(key) ?? new Total({ networkId, event, token });
  totals.set(key, known);
  return known;
}
