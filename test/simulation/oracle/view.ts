import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid } from '../../../src/store/database/database.ts';
import { statusOfCode } from '../../../src/store/deliveries/states.ts';
import { WATCHING } from '../../../src/store/tasks/tasks.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';

/** The tables as the oracle sees them: everything that it knows about columns is in this file. */

/** A delivery that was made at some time. */
export type DeliveryView = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly event: string;
  readonly webhookId: string | null;
  /** `removed`: retention has deleted it. */
  readonly place: 'queue' | 'record' | 'removed';
  /** Null while an attempt is to come. */
  readonly status: string | null;
  readonly attempts: number;
  readonly error: string | null;
  /** Whether the store takes it that the receiver may have it. */
  readonly mayBeReceived: boolean;
  /** Whether an instance returned a claim without sending it: the receiver might have had it until then. */
  readonly wasReturned: boolean;
  readonly isParked: boolean;
  /** Whether its webhook is neither suspended nor paused nor deleted. */
  readonly isOpen: boolean;
  /** By the clock of the database; 0 outside of the queue. */
  readonly dueMs: number;
  readonly leaseMs: number;
};

export type FactView = {
  readonly factId: string;
  readonly transactionHash: string;
  readonly state: string;
  readonly revision: number;
  /** Whether retention removed it, or an earlier one of the same payment, when it was not final. */
  readonly wasForgotten: boolean;
  /** The invoice that took the payment; null for others, and for a fact that retention has removed. */
  readonly invoiceId: string | null;
  readonly isSilent: boolean;
};

/** An invoice as it is stored. */
export type InvoiceView = {
  readonly invoiceId: string;
  readonly reference: string;
  readonly fromBlock: number;
  /** The last block whose payments it takes; null while it is watched. */
  readonly untilBlock: number | null;
  /** The tips at which its expiry had passed, and at which it was called late; null before. */
  readonly passedBlock: number | null;
  readonly lateBlock: number | null;
  readonly isCancelled: boolean;
};

/** An event that has the state of an invoice. */
export type InvoiceEventView = {
  readonly eventId: string;
  readonly event: string;
  /** At which it counts the payments. */
  readonly finality: string;
  readonly invoiceId: string;
  readonly version: number;
  readonly state: string;
  readonly received: string;
};

export type StoreView = {
  readonly deliveries: readonly DeliveryView[];
  readonly facts: readonly FactView[];
  /** Ids of events that retention has removed. */
  readonly removedEvents: ReadonlySet<string>;
  /** Those of them that were sent again afterwards. Paybell then takes them for new events. */
  readonly acceptedAnew: ReadonlySet<string>;
  readonly invoices: readonly InvoiceView[];
  /** Ids of invoices that retention has removed. */
  readonly removedInvoices: ReadonlySet<string>;
  /** Removed events included. */
  readonly invoiceEvents: readonly InvoiceEventView[];
};

type Row = {
  readonly id: SqlUuid;
  readonly may_be_received: SqlInteger | null;
  readonly webhook_no: SqlInteger;
  readonly status: SqlInteger | null;
  readonly attempts: SqlInteger;
  readonly error: string | null;
};
type QueuedRow = Row &
  Readonly<Record<'due_ms' | 'lease_ms' | 'blocked', SqlInteger>> & { readonly generation: SqlInteger | null };
type FactRow = Readonly<Record<'id' | 'transaction_hash' | 'state', string>> & {
  readonly revision: SqlInteger;
  readonly invoice_id?: string | null;
  readonly is_silent?: SqlInteger;
};
type InvoiceRow = Readonly<Record<'id' | 'reference', string>> &
  Readonly<Record<'until_block' | 'passed_block' | 'late_block' | 'cancelled_at', SqlInteger | null>> & {
    readonly from_block: SqlInteger;
  };
type EventRow = { readonly no: SqlUuid; readonly event_id: string | null; readonly event: string };
type BodyRow = EventRow & { readonly body: string };

/** Of an id, before the round and the number of the queue. */
const EVENT_DIGITS = 22;

export async function readView(db: Database): Promise<StoreView> {
  return db.snapshot(async (queries) => {
    const { hexOf } = db.dialect;
    const queued = await queries.all<QueuedRow>(
      `select q.id, case when q.may_be_received = 1 or q.is_shown = 1 then 1 else 0 end as may_be_received, q.webhook_no,
         q.recorded as status, q.attempts, q.error, q.due_ms, q.lease_ms, q.generation, h.blocked
       from queue q join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no order by q.id`,
    );
    const columns = 'id, may_be_received, webhook_no, status, attempts, error';
    const recorded = await queries.all<Row>(`select ${columns} from deliveries order by id`);
    const removed = await queries.all<Row>(`select ${columns} from simulated_deliveries order by no`);
    const returned = await queries.all<{ id: SqlUuid }>('select id from simulated_returns');
    const removedEvents = await queries.all<BodyRow>('select no, event_id, event, body from simulated_events');
    const events = [...(await queries.all<BodyRow>('select no, event_id, event, body from events')), ...removedEvents];
    const heads = await queries.all<{ webhook_no: SqlInteger; webhook_id: string }>(
      'select webhook_no, webhook_id from queue_heads',
    );
    const facts = await queries.all<FactRow>(
      'select id, transaction_hash, state, revision, invoice_id, is_silent from facts order by id',
    );
    const removedFacts = await queries.all<FactRow>(
      'select id, transaction_hash, state, revision from simulated_facts',
    );
    const eventOf = new Map(events.map((one) => [hexOf(one.no).slice(0, EVENT_DIGITS), one]));
    const webhookOf = new Map(heads.map((head) => [Number(head.webhook_no), head.webhook_id]));
    const returnedIds = new Set(returned.map(({ id }) => hexOf(id)));
    const viewOf = (row: Row, place: DeliveryView['place']): DeliveryView => {
      const event = eventOf.get(hexOf(row.id).slice(0, EVENT_DIGITS));
      const status = row.status === null ? null : statusOfCode(Number(row.status));
      const attempts = Number(row.attempts);
      return {
        deliveryId: `dlv_${hexOf(row.id)}`,
        eventId: event?.event_id ?? '',
        event: event?.event ?? '',
        webhookId: webhookOf.get(Number(row.webhook_no)) ?? null,
        ...{ place, status, attempts, error: row.error },
        mayBeReceived: attempts > 0 || Number(row.may_be_received ?? 0) === 1,
        wasReturned: returnedIds.has(hexOf(row.id)),
        ...{ isParked: false, isOpen: true, dueMs: 0, leaseMs: 0 },
      };
    };
    const inQueue = queued.map((row) => ({
      ...viewOf(row, 'queue'),
      isParked: row.generation === null,
      isOpen: Number(row.blocked) === 0,
      dueMs: Number(row.due_ms),
      leaseMs: Number(row.lease_ms),
    }));
    const inRecord = recorded.map((row) => viewOf(row, 'record'));
    const kept = new Set([...inQueue, ...inRecord].map(({ deliveryId }) => deliveryId));
    const gone = new Map(removed.map((row) => viewOf(row, 'removed')).map((one) => [one.deliveryId, one]));
    return {
      deliveries: [...inQueue, ...inRecord, ...[...gone.values()].filter(({ deliveryId }) => !kept.has(deliveryId))],
      facts: factsOf(facts, removedFacts),
      removedEvents: new Set(removedEvents.flatMap(({ event_id }) => event_id ?? [])),
      acceptedAnew: acceptedAnew(events, removedEvents),
      ...(await readInvoices(queries)),
      invoiceEvents: events.flatMap(invoiceEventOf),
    };
  });
}

async function readInvoices(queries: Queries): Promise<Pick<StoreView, 'invoices' | 'removedInvoices'>> {
  const rows = await queries.all<InvoiceRow>(
    'select id, reference, from_block, until_block, passed_block, late_block, cancelled_at from invoices order by id',
  );
  const removed = await queries.all<{ id: string }>('select id from simulated_invoices');
  const blockOf = (block: SqlInteger | null) => (block === null ? null : Number(block));
  return {
    invoices: rows.map(({ id, reference, ...row }) => ({
      ...{ invoiceId: id, reference, fromBlock: Number(row.from_block), untilBlock: blockOf(row.until_block) },
      ...{ passedBlock: blockOf(row.passed_block), lateBlock: blockOf(row.late_block) },
      isCancelled: row.cancelled_at !== null,
    })),
    removedInvoices: new Set(removed.map(({ id }) => id)),
  };
}

function invoiceEventOf({ event_id: eventId, event, body }: BodyRow): InvoiceEventView[] {
  if (eventId === null || !body.includes('"invoice":')) return [];
  const { invoice, finality } = JSON.parse(body) as {
    readonly invoice?: Omit<InvoiceEventView, 'eventId' | 'event' | 'finality'>;
    readonly finality?: string | number;
  };
  if (invoice === undefined) return [];
  const { invoiceId, version, state, received } = invoice;
  // Events of the invoice itself count what is seen, and a retraction names the finality of its original.
  const own = event === RETRACTION ? eventId.slice(eventId.lastIndexOf('_') + 1) : String(finality ?? 'seen');
  return [{ eventId, event, finality: own, invoiceId, version, state, received }];
}

function factsOf(stored: readonly FactRow[], removed: readonly FactRow[]): FactView[] {
  const forgotten = new Set(removed.flatMap(({ id, state }) => (state === 'final' ? [] : id)));
  const latest = new Map([...removed, ...stored].map((row) => [row.id, row]));
  return [...latest.values()].map(({ id, transaction_hash, state, revision, invoice_id, is_silent }) => ({
    ...{ factId: id, transactionHash: transaction_hash, state, revision: Number(revision) },
    ...{ wasForgotten: forgotten.has(id), invoiceId: invoice_id ?? null, isSilent: Number(is_silent ?? 0) === 1 },
  }));
}

/** How much work is left: deliveries, tasks, redeliveries and events of payments that were not published. */
export type WorkLeft = Readonly<Record<'queue' | 'tasks' | 'redeliveries' | 'facts', number>>;

export async function readWorkLeft(db: Database): Promise<WorkLeft> {
  const row = await db.get<Record<keyof WorkLeft, SqlInteger>>(
    `select (select count(*) from queue) as queue, (select count(*) from tasks where phase <> '${WATCHING}') as tasks,
       (select count(*) from redeliveries where finished_at is null) as redeliveries,
       (select count(*) from fact_events where event_no is null) as facts`,
  );
  const numberOf = (name: keyof WorkLeft) => Number(row?.[name] ?? 0);
  return {
    queue: numberOf('queue'),
    tasks: numberOf('tasks'),
    redeliveries: numberOf('redeliveries'),
    facts: numberOf('facts'),
  };
}

/** How far the network is read: the newest block with its logs, the newest final one, and payments below it that are not final. */
export type Progress = Readonly<Record<'tip' | 'final' | 'unconfirmed', number>>;

export async function readProgress(db: Database): Promise<Progress> {
  const row = await db.get<Record<keyof Progress, SqlInteger | null>>(
    `select max(tip_number) as tip, max(final) as final, (select count(*) from facts f join chains c
       on c.network_id = f.network_id where f.state = 'seen' and f.block_number <= c.final) as unconfirmed from chains`,
  );
  return { tip: Number(row?.tip ?? -1), final: Number(row?.final ?? -1), unconfirmed: Number(row?.unconfirmed ?? 0) };
}

/** How far ahead of the clock of the database each kind of time is at most, in milliseconds. */
export type TimesAhead = Readonly<Record<'networkLease' | 'lease' | 'due' | 'taskWait', number>>;

export async function readTimesAhead(db: Database): Promise<TimesAhead> {
  const ahead = (column: string, table: string) =>
    `coalesce((select max(${column}) from ${table}), 0) - ${db.dialect.nowMs}`;
  const row = await db.get<Record<'network_lease' | 'lease' | 'due' | 'task_wait', SqlInteger>>(
    `select ${ahead('lease_ms', 'chains')} as network_lease, ${ahead('lease_ms', 'queue')} as lease,
       ${ahead('due_ms', 'queue')} as due, ${ahead('wait_ms', `tasks where phase <> '${WATCHING}'`)} as task_wait`,
  );
  return {
    networkLease: Number(row?.network_lease ?? 0),
    lease: Number(row?.lease ?? 0),
    due: Number(row?.due ?? 0),
    taskWait: Number(row?.task_wait ?? 0),
  };
}

/** The ids of the events that work is left for: a task, a delivery that waits, or a finality that was not published. */
export async function readOpenEvents(queries: Queries, { hexOf }: Dialect): Promise<ReadonlySet<string>> {
  const events = await queries.all<EventRow>('select no, event_id, event from events');
  const rows = await queries.all<{ no: SqlUuid }>(
    `select event_no as no from tasks where event_no is not null union all select id from queue where recorded is null
     union all select f.event_no from facts f join fact_events e on e.entity_id = f.entity_id and e.fact_id = f.id
       where f.event_no is not null and e.event_no is null and e.event <> '${RETRACTION}'`,
  );
  const open = new Set(rows.map(({ no }) => hexOf(no).slice(0, EVENT_DIGITS)));
  return new Set(
    events.flatMap(({ no, event_id }) => (open.has(hexOf(no).slice(0, EVENT_DIGITS)) ? (event_id ?? '') : [])),
  );
}

/** A hint may hide a delivery for this long. */
const LONGEST_HIDDEN_MS = 300_000;

/** The ids of the events with deliveries that could be claimed, and were not for too long. */
export async function readOverdue(db: Database): Promise<string[]> {
  const { deliveries } = await readView(db);
  return deliveries.flatMap(({ eventId, place, isOpen, isParked, dueMs, leaseMs }) => {
    const isClaimable = place === 'queue' && isOpen && !isParked;
    return isClaimable && world.wallMs - Math.max(dueMs, leaseMs) > LONGEST_HIDDEN_MS ? [eventId] : [];
  });
}

/** So that the other laws can be evaluated although an instance cannot take over a network. */
export async function releaseNetworks(db: Database): Promise<void> {
  await db.transaction((queries) => queries.run('update chains set lease_ms = 0'));
}

/** Every endpoint by its number, those without webhooks included. */
export async function readEndpointNos(db: Database): Promise<number[]> {
  const rows = await db.all<{ no: SqlInteger }>('select no from endpoints order by no');
  return rows.map(({ no }) => Number(no));
}

export async function readWebhookIds(db: Database): Promise<string[]> {
  return (await db.all<{ id: string }>('select id from webhooks order by id')).map(({ id }) => id);
}

export async function readSourceIds(db: Pick<Database, 'all'>): Promise<string[]> {
  return (await db.all<{ id: string }>('select id from sources order by id')).map(({ id }) => id);
}

const DAY_MS = 86_400_000;

/** Makes the hints of heads with waiting deliveries wrong: a head is due in a day, or claims start after its rows. */
export async function spoilHints(db: Database, draw: Random, which: 'one head' | 'all heads'): Promise<void> {
  const heads = await db.all<{ entity_id: SqlUuid; webhook_no: SqlInteger }>(
    `select entity_id, webhook_no from queue_heads h where blocked = 0 and exists (
       select 1 from queue q where q.entity_id = h.entity_id and q.webhook_no = h.webhook_no and q.lease_ms = 0)
     order by webhook_no`,
  );
  const { nowMs } = db.dialect;
  const picked = which === 'all heads' ? heads : heads.slice(draw.below(heads.length)).slice(0, 1);
  for (const { entity_id, webhook_no } of picked) {
    const hints = draw.chance(0.5)
      ? `next_due_ms = ${nowMs} + ${DAY_MS}`
      : `look_from_ms = ${nowMs} - 11000, full_look_ms = ${nowMs} + 299000, next_due_ms = ${nowMs} + 299000`;
    const sql = `update queue_heads set ${hints} where entity_id = $1 and webhook_no = $2`;
    await db.transaction((queries) => queries.run(sql, [entity_id, Number(webhook_no)]));
  }
}

function acceptedAnew(events: readonly EventRow[], removed: readonly EventRow[]): Set<string> {
  const times = Map.groupBy(events, ({ event_id }) => event_id);
  return new Set(removed.flatMap(({ event_id: id }) => (id !== null && (times.get(id)?.length ?? 0) > 1 ? id : [])));
}
