import type { ReconciledEvent, Reconciliation } from '../../contract/events/reconciliation.ts';
import { DomainError } from '../../domain/errors.ts';
import { deliveryHex, firstHexAt } from '../../domain/ids.ts';
import {
  bookLine,
  canonicalAmount,
  canonicalToken,
  compareLines,
  type EventProgress,
} from '../../domain/reconciliation/book.ts';
import { DecimalSum } from '../../domain/reconciliation/decimal-sum.ts';
import { type Database, longReadsOf, type Queries, type SqlUuid } from '../database/database.ts';
import { entityKey, Parameters, type RowOf, valuesList } from '../database/sql.ts';
import { deliveryTable } from '../deliveries/tables.ts';
import { eventTable } from '../tables.ts';
import { readEndpointWebhooks } from './endpoint-webhooks.ts';
import { readProgress } from './progress.ts';

/** Reads the events of a day with their results, in steps that each have their own snapshot. */

export type DayScope = {
  readonly entityId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly networkId: number | undefined;
  /** If it is set, only events that this endpoint gets, with the endpoint's deliveries. */
  readonly endpointNo: number | undefined;
  readonly events: readonly string[] | undefined;
};

/** With events of the largest size, a step reads 25 MiB. */
const EVENTS_PER_STEP = 100;
/** Limit on the events of a day, whose lines are sorted in memory. */
const MAX_EVENTS = 200_000;
/** The number in the ids of deliveries that Paybell itself creates: test requests and alerts. */
const OWN_NO = 1;
/** Limit on the combinations of network, event kind and token. Sums over more combinations would not be useful. */
const MAX_TOTALS = 1_000;

const eventColumns = eventTable.pick(['no', 'eventId', 'event', 'networkId', 'body']);
type EventRow = RowOf<typeof eventColumns>;

/** Sums up a day: its totals, and the digest of the acknowledged events. */
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

/** Reads a part of the day after an event, or from the beginning of the day. */
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
  const { entityId, endpointNo } = scope;
  const entity = entityKey(dialect, entityId);
  let after = afterNo;
  for (;;) {
    const step = await longReadsOf(db, entityId).snapshot(async (queries) => {
      const rows = await readEvents(queries, db, scope, entity, after);
      const events = await withoutOwn(queries, db, entity, rows);
      const webhooks =
        endpointNo === undefined ? undefined : await readEndpointWebhooks(queries, db, entityId, endpointNo);
      const progress = await readProgress(queries, db, scope, events, webhooks);
      const own = endpointNo === undefined ? events : events.filter(({ no }) => progress.has(dialect.hexOf(no)));
      const final = await readFinal(queries, db, entityId, own);
      return { rows, entries: own.map((row) => entryOf(row, dialect.hexOf(row.no), progress, final)) };
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
    // Only the later one of the two bounds: SQLite seeks by one of them, and would otherwise read the whole day up to the other.
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

const ownColumns = deliveryTable.pick(['id']);

/**
 * Leaves out events that Paybell itself created: test requests, whose amounts are made up, and alerts. Each has one delivery with
 * a fixed number.
 */
async function withoutOwn(
  queries: Queries,
  { dialect: { bindUuid, hexOf } }: Database,
  entity: SqlUuid,
  rows: readonly EventRow[],
): Promise<readonly EventRow[]> {
  if (rows.length === 0) return rows;
  const idOf = ({ no }: EventRow) => deliveryHex(hexOf(no), OWN_NO);
  const which = `entity_id = $1 and id in ${valuesList(1, rows.length, 1)} and (test is not null or webhook_no < 0)`;
  const found = await ownColumns.all(
    queries,
    `select ${ownColumns.list} from deliveries where ${which} union all select ${ownColumns.list} from queue where ${which}`,
    [entity, ...rows.map((row) => bindUuid(idOf(row)))],
  );
  const own = new Set(found.map(({ id }) => hexOf(id)));
  return rows.filter((row) => !own.has(idOf(row)));
}

/** The numbers of the events whose payment is final. */
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
