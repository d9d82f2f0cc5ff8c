import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Dialect, Queries, SqlValue } from '../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, text, textByRows, valuesList } from '../database/sql.ts';
import type { Claimed, DirectDispatch, Sendable } from '../deliveries/claimed.ts';
import { newId } from '../new-id.ts';
import { eventTable } from '../tables.ts';

/** Acceptance: an event and one delivery for each webhook that is registered for it, in one transaction. */

export type NewEvent = {
  entityId: string;
  eventId: string;
  event: string;
  networkId: number;
  body: string;
  createdAtMs: number;
  /** From acceptance to the first attempt; the first step of the schedule. */
  firstDelayMs: number;
};

/** `repeated` when the same body was accepted under this id before: the result of the first acceptance is returned. */
export type Acceptance = { eventId: string; deliveries: number; repeated: boolean };

/** Called for every new event with the destination of each of its deliveries, before the commit. */
export type NoteAccepted = (entityId: string, destinations: readonly DestinationKey[]) => void;

/** What acceptance calls and fills in while it builds the rows of a group. */
export type AcceptContext = {
  readonly note: NoteAccepted;
  readonly directDispatch: DirectDispatch | null;
  /** Deliveries that have a slot for direct dispatch; stored as claimed, not committed yet. */
  readonly dispatched: Sendable[];
  /** Destinations with deliveries to be claimed, and since when they are due by the database's clock. */
  readonly due: Map<DestinationKey, number>;
};

const REGISTERED = new Columns({
  entityId: text('w.entity_id'),
  networkId: integer('w.network_id'),
  event: text('w.event'),
  webhookId: text('w.id'),
  postUrl: text('w.post_url'),
  suspendedAt: nullable(integer('w.suspended_at')),
  failingSinceMs: nullable(integer('w.failing_since_ms')),
  revision: integer('(select n.revision from entities n where n.id = w.entity_id)'),
  nowMs: integer(),
});

/** A webhook that is registered for an event. The destination is computed once for all events of a group. */
type Receiver = RowOf<typeof REGISTERED> & { destination: DestinationKey };

/** An event to be accepted, with everything that is computed once for it. */
type Incoming = { readonly event: NewEvent; readonly key: string; readonly receivers: readonly Receiver[] };

/**
 * Accepts a whole group in a handful of statements, none of which can fail because of the content of one event. Each
 * event has its own result: an acceptance, or the error that concerns it alone.
 */
export async function acceptEvents(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
  context: AcceptContext = { note: () => undefined, directDispatch: null, dispatched: [], due: new Map() },
): Promise<(Acceptance | DomainError)[]> {
  const found = await findReceivers(queries, dialect, events);
  const incoming = events.map((event): Incoming => {
    const key = `${event.entityId} ${event.eventId}`;
    return { event, key, receivers: found.get(cellKey(event)) ?? [] };
  });
  const fresh = await insertEvents(queries, incoming);
  const results: (Acceptance | DomainError)[] = [];
  const accepted: Incoming[] = [];
  for (const one of incoming) {
    const { event, key, receivers } = one;
    // Of two events with one id in a group, only the first was inserted; the second is a repeat like any other.
    if (fresh.delete(key)) {
      accepted.push(one);
      results.push({ eventId: event.eventId, deliveries: receivers.length, repeated: false });
    } else results.push(await compareRepeat(queries, event));
  }
  await insertDeliveries(queries, accepted, context);
  return results;
}

/** Due times are by the database's clock, like the claims that compare with them, so it is read with the receivers. */
async function findReceivers(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
): Promise<Map<string, Receiver[]>> {
  const cells = new Map(events.map((event) => [cellKey(event), event]));
  const receivers = new Map<string, Receiver[]>();
  for (const chunk of chunks([...cells.values()])) {
    const parameters = chunk.flatMap((event) => [event.entityId, event.networkId, event.event]);
    const read = (lock: string) =>
      REGISTERED.all(
        queries,
        `with cells (entity_id, network_id, event) as
         (values ${valuesList(chunk.length, 3, 0, ['text', 'bigint', 'text'])})
       select ${REGISTERED.list}, ${dialect.nowMs} as "nowMs" from cells c cross join webhooks w
       where w.entity_id = c.entity_id and w.network_id = c.network_id and w.event = c.event ${lock}`,
        parameters,
      );
    const unlocked = await read('');
    // A resume between this read and the commit would miss the deliveries held here, and they would never be sent.
    const rows = unlocked.some(({ suspendedAt }) => suspendedAt !== null) ? await read(dialect.lockWebhooks) : unlocked;
    for (const row of rows) {
      const receiver = { ...row, destination: destinationKey(row.entityId, row.postUrl) };
      const known = receivers.get(cellKey(row));
      if (known === undefined) receivers.set(cellKey(row), [receiver]);
      else known.push(receiver);
    }
  }
  return receivers;
}

// The rows of events and deliveries are written out by hand: this is the hottest path of the store, and `insertion()`
// would look up each value by its name.

const insertEventsText = textByRows(
  (rows) => `insert into events (entity_id, id, event, network_id, body, deliveries, created_at_ms)
    values ${valuesList(rows, 7)} on conflict (entity_id, id) do nothing returning entity_id, id`,
);

async function insertEvents(queries: Queries, incoming: readonly Incoming[]): Promise<Set<string>> {
  const inserted = new Set<string>();
  // In the same order on every instance: two that accept the same events would otherwise deadlock.
  const ordered = incoming.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  for (const chunk of chunks(ordered)) {
    const values: SqlValue[] = [];
    for (const { event, receivers } of chunk) {
      const { entityId, eventId, networkId, body, createdAtMs } = event;
      values.push(entityId, eventId, event.event, networkId, body, receivers.length, createdAtMs);
    }
    const rows = await queries.all<{ entity_id: string; id: string }>(insertEventsText(chunk.length), values);
    for (const row of rows) inserted.add(`${row.entity_id} ${row.id}`);
  }
  return inserted;
}

const insertDeliveriesText = textByRows(
  (rows) => `insert into deliveries
      (entity_id, id, event_id, webhook_id, destination, status, due_ms, next_attempt_ms, claimed, claim_token,
       created_at_ms, event, network_id, post_url)
    values ${valuesList(rows, 14)}`,
);

async function insertDeliveries(
  queries: Queries,
  accepted: readonly Incoming[],
  context: AcceptContext,
): Promise<void> {
  const rows: SqlValue[][] = [];
  for (const { event, receivers } of accepted) {
    context.note(
      event.entityId,
      receivers.map(({ destination }) => destination),
    );
    for (const receiver of receivers) rows.push(newDelivery(event, receiver, context));
  }
  for (const chunk of chunks(rows)) {
    await queries.run(insertDeliveriesText(chunk.length), chunk.flat());
  }
}

/** Its row, stored as claimed when direct dispatch has a slot for it. */
function newDelivery(
  event: NewEvent,
  receiver: Receiver,
  { directDispatch, dispatched, due }: AcceptContext,
): SqlValue[] {
  const { destination, nowMs: createdAtMs } = receiver;
  const deliveryId = newId('dlv');
  const held = receiver.suspendedAt !== null;
  const nextAttemptMs = held ? null : createdAtMs + event.firstDelayMs;
  let dueMs = nextAttemptMs;
  let token = 0;
  if (!held && event.firstDelayMs === 0 && directDispatch?.reserve(destination)) {
    dueMs = createdAtMs + directDispatch.leaseMs;
    token = 1;
    dispatched.push(firstClaim(event, receiver, { deliveryId, token }));
  } else if (!held) due.set(destination, createdAtMs);
  return [
    event.entityId,
    deliveryId,
    event.eventId,
    receiver.webhookId,
    destination,
    held ? 'held' : 'pending',
    dueMs,
    nextAttemptMs,
    token,
    token,
    createdAtMs,
    event.event,
    event.networkId,
    receiver.postUrl,
  ];
}

function firstClaim(
  { entityId, eventId, body }: NewEvent,
  { destination, webhookId, postUrl, failingSinceMs, revision }: Receiver,
  { deliveryId, token }: Pick<Claimed, 'deliveryId' | 'token'>,
): Sendable {
  return {
    deliveryId,
    token,
    destination,
    entityId,
    eventId,
    isAlert: false,
    webhookId,
    kind: 'first',
    status: 'pending',
    attempts: 0,
    steps: 0,
    postUrl,
    suspended: false,
    failingSinceMs,
    body,
    revision,
    acceptedAtMs: Date.now(),
  };
}

const STORED = eventTable.pick(['body', 'deliveries']);

/** The same body returns the first acceptance again; another body under the same id is never accepted. */
async function compareRepeat(
  queries: Queries,
  { entityId, eventId, body }: NewEvent,
): Promise<Acceptance | DomainError> {
  const sql = `select ${STORED.list} from events where entity_id = $1 and id = $2`;
  const stored = await STORED.get(queries, sql, [entityId, eventId]);
  // Retention has removed it since the insert met it: the client sends it again, and it is new then.
  if (stored === undefined) return new DomainError('event_just_removed', { eventId });
  if (stored.body === body) return { eventId, deliveries: stored.deliveries, repeated: true };
  return new DomainError('event_conflict', { eventId });
}

function cellKey({ entityId, networkId, event }: Pick<NewEvent, 'entityId' | 'networkId' | 'event'>): string {
  return `${entityId} ${networkId} ${event}`;
}
