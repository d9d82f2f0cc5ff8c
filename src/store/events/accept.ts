import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Dialect, Queries, SqlInteger, SqlValue } from '../database/database.ts';
import { chunks, textByRows, valuesList } from '../database/sql.ts';
import type { Claimed, DirectDispatch, Sendable } from '../deliveries/claimed.ts';
import { newId } from '../new-id.ts';

/** Acceptance: an event and one delivery for each webhook that asked for it, in one transaction. */

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

/** `repeated` when the same bytes had been accepted under this id before: the first answer counts. */
export type Acceptance = { eventId: string; deliveries: number; repeated: boolean };

/** Told of every event that is new, with the destination of each of its deliveries; it is not committed yet. */
export type NoteAccepted = (entityId: string, destinations: readonly DestinationKey[]) => void;

/** Who is to know of what is accepted, and what came of it. */
export type Reception = {
  readonly note: NoteAccepted;
  readonly directDispatch: DirectDispatch | null;
  /** Deliveries that `handOver` has a place for; stored as claimed, not committed yet. */
  readonly handed: Sendable[];
  /** Where something is due that somebody has to claim, and since when by the database's clock. */
  readonly due: Map<DestinationKey, number>;
};

type Receiver = {
  /** Worked out once for all events of a group. */
  destination: DestinationKey;
  id: string;
  post_url: string;
  suspended_at: SqlInteger | null;
  failing_since_ms: SqlInteger | null;
  revision: SqlInteger;
  now_ms: SqlInteger;
};
type ReceiverRow = Omit<Receiver, 'destination'> & { entity_id: string; network_id: SqlInteger; event: string };

/** An event on its way into the store, with all that is worked out about it once. */
type Incoming = { readonly event: NewEvent; readonly key: string; readonly receivers: readonly Receiver[] };

/**
 * A whole group in a handful of statements, none of which can fail on what one of its members carries. Each member
 * gets its own answer: an acceptance, or the problem that it alone has.
 */
export async function acceptEvents(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
  reception: Reception = { note: () => undefined, directDispatch: null, handed: [], due: new Map() },
): Promise<(Acceptance | DomainError)[]> {
  const found = await findReceivers(queries, dialect, events);
  const incoming = events.map((event): Incoming => {
    const key = `${event.entityId} ${event.eventId}`;
    return { event, key, receivers: found.get(cellKey(event.entityId, event.networkId, event.event)) ?? [] };
  });
  const fresh = await insertEvents(queries, incoming);
  const answers: (Acceptance | DomainError)[] = [];
  const accepted: Incoming[] = [];
  for (const one of incoming) {
    const { event, key, receivers } = one;
    // Of two with one id in a group only the first was inserted; the second is a repeat like any other.
    if (fresh.delete(key)) {
      accepted.push(one);
      answers.push({ eventId: event.eventId, deliveries: receivers.length, repeated: false });
    } else answers.push(await answerRepeat(queries, event));
  }
  await insertDeliveries(queries, accepted, reception);
  return answers;
}

/** Due times are by the database's clock, like the claims that compare with them: it comes along with the receivers. */
async function findReceivers(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
): Promise<Map<string, Receiver[]>> {
  const cells = new Map(events.map((event) => [cellKey(event.entityId, event.networkId, event.event), event]));
  const receivers = new Map<string, Receiver[]>();
  for (const chunk of chunks([...cells.values()])) {
    const parameters = chunk.flatMap((event) => [event.entityId, event.networkId, event.event]);
    const read = (lock: string) =>
      queries.all<ReceiverRow>(
        `with cells (entity_id, network_id, event) as
         (values ${valuesList(chunk.length, 3, 0, ['text', 'bigint', 'text'])})
       select w.entity_id, w.network_id, w.event, w.id, w.post_url, w.suspended_at, w.failing_since_ms,
         (select n.revision from entities n where n.id = w.entity_id) as revision, ${dialect.nowMs} as now_ms
       from cells c cross join webhooks w
       where w.entity_id = c.entity_id and w.network_id = c.network_id and w.event = c.event ${lock}`,
        parameters,
      );
    const seen = await read('');
    // A resume between this look and our commit would miss what we hold, and nothing would ever send it.
    const rows = seen.some(({ suspended_at }) => suspended_at !== null) ? await read(dialect.lockWebhooks) : seen;
    for (const row of rows) {
      const key = cellKey(row.entity_id, Number(row.network_id), row.event);
      const receiver = { ...row, destination: destinationKey(row.entity_id, row.post_url) };
      const known = receivers.get(key);
      if (known === undefined) receivers.set(key, [receiver]);
      else known.push(receiver);
    }
  }
  return receivers;
}

const insertEventsText = textByRows(
  (rows) => `insert into events (entity_id, id, event, network_id, body, deliveries, created_at_ms)
    values ${valuesList(rows, 7)} on conflict (entity_id, id) do nothing returning entity_id, id`,
);

async function insertEvents(queries: Queries, incoming: readonly Incoming[]): Promise<Set<string>> {
  const inserted = new Set<string>();
  // In one order everywhere: two instances that are sent the same events would wait for each other's.
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

async function insertDeliveries(queries: Queries, accepted: readonly Incoming[], reception: Reception): Promise<void> {
  const rows: SqlValue[][] = [];
  for (const { event, receivers } of accepted) {
    reception.note(
      event.entityId,
      receivers.map(({ destination }) => destination),
    );
    for (const receiver of receivers) rows.push(newDelivery(event, receiver, reception));
  }
  for (const chunk of chunks(rows)) {
    await queries.run(insertDeliveriesText(chunk.length), chunk.flat());
  }
}

/** Its row, as claimed when somebody here has a place for it. */
function newDelivery(event: NewEvent, receiver: Receiver, { directDispatch, handed, due }: Reception): SqlValue[] {
  const { destination } = receiver;
  const deliveryId = newId('dlv');
  const held = receiver.suspended_at !== null;
  const createdAtMs = Number(receiver.now_ms);
  const nextAttemptMs = held ? null : createdAtMs + event.firstDelayMs;
  let dueMs = nextAttemptMs;
  let token = 0;
  if (!held && event.firstDelayMs === 0 && directDispatch?.reserve(destination)) {
    dueMs = createdAtMs + directDispatch.leaseMs;
    token = 1;
    handed.push(firstClaim(event, receiver, { deliveryId, token }));
  } else if (!held) due.set(destination, createdAtMs);
  return [
    event.entityId,
    deliveryId,
    event.eventId,
    receiver.id,
    destination,
    held ? 'held' : 'pending',
    dueMs,
    nextAttemptMs,
    token,
    token,
    createdAtMs,
    event.event,
    event.networkId,
    receiver.post_url,
  ];
}

function firstClaim(
  { entityId, eventId, body }: NewEvent,
  receiver: Receiver,
  { deliveryId, token }: Pick<Claimed, 'deliveryId' | 'token'>,
): Sendable {
  return {
    deliveryId,
    token,
    destination: receiver.destination,
    entityId,
    eventId,
    webhookId: receiver.id,
    kind: 'first',
    status: 'pending',
    attempts: 0,
    steps: 0,
    postUrl: receiver.post_url,
    suspended: false,
    failingSinceMs: receiver.failing_since_ms === null ? null : Number(receiver.failing_since_ms),
    body,
    revision: Number(receiver.revision),
    acceptedAtMs: Date.now(),
  };
}

/** Same bytes: the first answer again. Other bytes under the same id: never both. */
async function answerRepeat(queries: Queries, event: NewEvent): Promise<Acceptance | DomainError> {
  const stored = await queries.get<{ body: string; deliveries: SqlInteger }>(
    'select body, deliveries from events where entity_id = $1 and id = $2',
    [event.entityId, event.eventId],
  );
  if (stored === undefined) {
    // Retention has removed it since the insert saw it: as good as never accepted, and the next try will be.
    return new DomainError('event_just_removed', { eventId: event.eventId });
  }
  if (stored.body === event.body) {
    return { eventId: event.eventId, deliveries: Number(stored.deliveries), repeated: true };
  }
  return new DomainError('event_conflict', { eventId: event.eventId });
}

/** Stands for a webhook in a delivery that goes to the entity's notice URL. */
export const NOTICE = 'notice';

function cellKey(entityId: string, networkId: number, event: string): string {
  return `${entityId} ${networkId} ${event}`;
}
