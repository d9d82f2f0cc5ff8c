import { DomainError } from '../../domain/errors.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import { type EventNumbers, hexOfId, timeOfHex } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { HeldLimits } from '../chain/held/held-limit.ts';
import { holdEvent } from '../chain/held/hold.ts';
import {
  type Dialect,
  type Queries,
  type SqlUuid,
  type SqlValue,
  StoreUnavailableError,
} from '../database/database.ts';
import {
  awaitedChunks,
  entityKey,
  eventIdKey,
  powersOfTwo,
  subjectKey,
  textByRows,
  valuesList,
} from '../database/sql.ts';
import type { Claimed, DirectDispatch } from '../deliveries/claim/claimed.ts';
import { leaseSeconds } from '../deliveries/claim/leases.ts';
import { CountChanges, countEvents } from '../deliveries/counts/counts.ts';
import { requireUnchangedHeads, type Wake, wakeHeads } from '../deliveries/heads.ts';
import type { Promotion } from '../deliveries/order/order-keys.ts';
import { takeNumbers } from '../endpoints/sequences.ts';
import { queueForSessions } from '../listen/queue-events.ts';
import { eventNumbers } from '../new-id.ts';
import { finalityAsOf } from '../webhooks/option-changes.ts';
import { type Acceptance, isNameOfNumber, repeatAcceptance } from './event-ids.ts';
import { startFanOut } from './fan-out-task.ts';
import { countReceivers, wantedBy } from './filtering.ts';
import { takeTurns } from './order.ts';
import {
  cutByDeliveries,
  FIRST_TOKEN,
  hasSubject,
  type Incoming,
  type NewEvent,
  type Order,
  planAcceptance,
  type QueuedDelivery,
  type Receiver,
  type Rest,
  Roles,
  wantedSlots,
  withoutOrder,
} from './plan-acceptance.ts';
import { findReceivers } from './receivers.ts';
import { type Outdated, outdateRetractions } from './retraction/outdate.ts';
import { findRetracted, startRetraction } from './retraction/retraction.ts';

/** Acceptance: an event and one delivery for each matching webhook, in one transaction. */

/** The result of an acceptance transaction. Nothing in it counts before the commit. */
export type AcceptedGroup = {
  /** In the order of the events. If the group was cut short, the results of the last events are missing. */
  results: (Acceptance | DomainError)[];
  /** Slots that were taken at each destination; to be freed when the transaction fails. */
  readonly slots: Map<DestinationKey, number>;
  /**
   * The transaction has failed and its slots are free. Its last statement may still run, but it must not take more
   * slots.
   */
  isOver: boolean;
  dispatched: Claimed[];
  /** Destinations with deliveries to claim. */
  due: ReadonlySet<DestinationKey>;
  /** By the database's clock. */
  nowMs: number;
  /** The destinations of each new event. */
  readonly destinations: { entityId: string; destinations: DestinationKey[] }[];
  /** Whether deliveries follow that this transaction had no room for. */
  hasRest: boolean;
};

export function emptyGroup(): AcceptedGroup {
  return {
    results: [],
    slots: new Map(),
    isOver: false,
    dispatched: [],
    due: new Set(),
    nowMs: 0,
    destinations: [],
    hasRest: false,
  };
}

/**
 * A whole group in a handful of statements, none of which can fail on what one of its members carries. Each member
 * gets its own result: an acceptance, or the error that it alone has.
 */
export async function acceptEvents(
  queries: Queries,
  dialect: Dialect,
  given: readonly NewEvent[],
  directDispatch: DirectDispatch | null = null,
  group: AcceptedGroup = emptyGroup(),
  numbers: EventNumbers = eventNumbers,
): Promise<AcceptedGroup> {
  const events = ofOneTransaction(dialect, given);
  const startedMs = performance.now();
  const { receivers, nowMs, isListened } = await findReceivers(queries, dialect, events);
  group.nowMs = nowMs;
  // If an event supersedes an earlier one of the group, or would be superseded by it, it begins the next group.
  const roles = new Roles();
  const incoming: Incoming[] = [];
  const most = dialect.limits.deliveries;
  const heldLimits = new HeldLimits(queries, dialect, events);
  for (const [event, found] of cutByDeliveries(events, receivers, most, (one) => roles.add(one))) {
    const eventNo = numbers.next(nowMs);
    if (event.retracts != null || event.heldFor != null) {
      incoming.push(await withoutReceivers(queries, dialect, event, eventNo, heldLimits));
      continue;
    }
    const current = found.slice(0, most);
    const part = await asFirstSeen(queries, event, current);
    // The walk decides whether deliveries follow: a count is another statement, and may disagree.
    const rest = found.length > part.length ? restAfter(part) : null;
    const isSelective = event.finality != null || part.some(({ filterHash }) => filterHash !== null);
    const wanting = isSelective ? await wantedBy(queries, event, part) : part;
    const deliveries = rest === null ? wanting.length : await countReceivers(queries, event);
    incoming.push({ event, eventNo, receivers: wanting, deliveries, rest });
  }
  const fresh = await insertEvents(queries, dialect, incoming);
  const changes = new CountChanges(dialect, 'acceptance');
  const added = incoming.filter((one) => fresh.has(one));
  const outdated: Outdated[] = [];
  for (const { event, eventNo } of added) {
    if (event.returned == null) continue;
    outdated.push(...(await outdateRetractions(queries, dialect, event.returned, dialect.bindUuid(eventNo))));
  }
  const order = added.some(({ event }) => hasSubject(event))
    ? await takeTurns(queries, dialect, added, outdated, changes, nowMs)
    : withoutOrder(added);
  const { accepted, turns, promoted } = order;
  for (const one of incoming) group.results.push(await resultOf(queries, dialect, one, fresh.has(one), order));
  if (accepted.length === 0) return group;
  for (const one of accepted) await beginLater(queries, dialect, one, changes, group);
  if (directDispatch !== null) reserveSlots(group, directDispatch, wantedSlots(accepted, turns));
  const leaseMs = directDispatch?.leaseMs ?? 0;
  const moment = { nowMs, leaseMs, acceptedAtMs: Date.now(), leaseEndsMs: startedMs + leaseMs };
  const plan = planAcceptance(accepted, group.slots, moment, turns);
  await countAccepted(queries, dialect, accepted);
  for (const { event, eventNo, deliveries } of accepted) {
    const isPointless = order.supersededBy.has(eventNo) || event.event === RETRACTION;
    if (deliveries === 0 && !isPointless) changes.undelivered(entityKey(dialect, event.entityId), 1);
  }
  await insertDeliveries(queries, dialect, plan.rows, { events: accepted, promoted, changes });
  if (isListened) {
    const sent = accepted.filter(({ eventNo }) => !order.supersededBy.has(eventNo));
    await queueForSessions(queries, dialect, sent, nowMs);
  }
  for (const { destination } of promoted) plan.due.add(destination);
  group.dispatched = plan.dispatched;
  group.due = plan.due;
  for (const { event, receivers: found } of accepted) {
    const destinations = found.map(({ destination }) => destination);
    group.destinations.push({ entityId: event.entityId, destinations });
  }
  return group;
}

/** The finality of each webhook when the payment was first seen. */
async function asFirstSeen(
  queries: Queries,
  { entityId, finality, seenRevision }: NewEvent,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  if (finality == null || seenRevision == null) return receivers;
  return finalityAsOf(queries, entityId, seenRevision, receivers);
}

function restAfter(part: readonly Receiver[]): Rest {
  const last = part.at(-1);
  return { afterNo: last?.webhookNo ?? 0, revision: last?.registryRevision ?? 0 };
}

/** Notes only the slots that were taken: a destination without any must not be freed. */
function reserveSlots(
  { slots, isOver }: AcceptedGroup,
  directDispatch: DirectDispatch,
  wanted: ReadonlyMap<DestinationKey, number>,
): void {
  if (isOver) throw new StoreUnavailableError('the transaction is past its deadline');
  for (const [destination, most] of wanted) {
    const reserved = directDispatch.reserve(destination, most);
    if (reserved > 0) slots.set(destination, reserved);
  }
}

/** The events of one transaction: all of them, or the first events of one entity if the tables are distributed. */
function ofOneTransaction({ isDistributed }: Dialect, events: readonly NewEvent[]): readonly NewEvent[] {
  const end = isDistributed ? events.findIndex(({ entityId }) => entityId !== events[0]?.entityId) : -1;
  return end === -1 ? events : events.slice(0, end);
}

/**
 * For an event whose deliveries are created later. A task creates a retraction's deliveries. A held event gets its
 * deliveries as its transaction becomes final.
 */
async function withoutReceivers(
  queries: Queries,
  dialect: Dialect,
  event: NewEvent,
  eventNo: string,
  heldLimits: HeldLimits,
): Promise<Incoming> {
  const none = { event, eventNo, receivers: [], deliveries: 0, rest: null };
  if (event.retracts == null) {
    const rejected = await heldLimits.rejectionOf(event);
    return rejected === undefined ? none : { ...none, rejected };
  }
  const retracted = await findRetracted(queries, dialect, event);
  if (retracted instanceof DomainError) return { ...none, rejected: retracted };
  return { ...none, deliveries: retracted.possibleReceivers, retracted };
}

/** Stores the follow-up work of an event as rows of the same commit. */
async function beginLater(
  queries: Queries,
  dialect: Dialect,
  one: Incoming,
  changes: CountChanges,
  group: AcceptedGroup,
): Promise<void> {
  const { event, retracted, rest } = one;
  const { nowMs } = group;
  if (event.heldFor != null) await holdEvent(queries, dialect, one, event.heldFor, nowMs);
  else if (retracted !== undefined) {
    await startRetraction(queries, dialect, one, retracted, changes, nowMs);
    group.hasRest = true;
  } else if (rest !== null) {
    await startFanOut(queries, dialect, one, rest, nowMs);
    group.hasRest = true;
  }
}

const insertEventIdsText = textByRows(
  (rows) => `insert into event_ids (entity_id, hash, no) values ${valuesList(rows, 3)}
    on conflict (entity_id, hash) do nothing returning no`,
);

const insertEventsText = textByRows(
  (
    rows,
  ) => `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body, transfer_key,
      agreement_key, trace)
    values ${valuesList(rows, 11)}`,
);

/** The events that are new; of two with one id in a group only the first is. */
async function insertEvents(
  queries: Queries,
  dialect: Dialect,
  incoming: readonly Incoming[],
): Promise<ReadonlySet<Incoming>> {
  const byNo = new Map<string, Incoming>();
  const possible = incoming.filter(({ rejected }) => rejected === undefined);
  const fresh = new Set(possible.filter(({ event }) => event.eventId === null));
  const named: { one: Incoming; hash: SqlUuid; order: string }[] = [];
  for (const one of possible) {
    const { eventId, entityId } = one.event;
    if (eventId === null) continue;
    const isLikeNumber = hexOfId('evt', eventId) !== null;
    if (isLikeNumber && (await isNameOfNumber(queries, dialect, entityId, eventId))) continue;
    byNo.set(one.eventNo, one);
    named.push({ one, hash: eventIdKey(dialect, eventId), order: `${entityId} ${eventId}` });
  }
  // In one order everywhere: two instances that are sent the same events would otherwise wait for each other.
  named.sort((a, b) => (a.order < b.order ? -1 : 1));
  for (const chunk of awaitedChunks(dialect, named)) {
    const values = chunk.flatMap(({ one, hash }): SqlValue[] => [
      entityKey(dialect, one.event.entityId),
      hash,
      dialect.bindUuid(one.eventNo),
    ]);
    for (const { no } of await queries.all<{ no: SqlUuid }>(insertEventIdsText(chunk.length), values)) {
      const one = byNo.get(dialect.hexOf(no));
      if (one !== undefined) fresh.add(one);
    }
  }
  for (const chunk of powersOfTwo(incoming.filter((one) => fresh.has(one)))) {
    const values = chunk.flatMap(({ event, eventNo, deliveries }): SqlValue[] => [
      entityKey(dialect, event.entityId),
      dialect.bindUuid(eventNo),
      event.networkId,
      timeOfHex(eventNo),
      deliveries,
      event.event,
      event.eventId,
      event.body,
      subjectKey(event.transferId),
      subjectKey(event.agreementId),
      event.trace ?? null,
    ]);
    await queries.send(insertEventsText(chunk.length), values);
  }
  return fresh;
}

const insertQueueText = textByRows(
  (rows) => `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, lease_ms, lease_s,
      generation, token, may_be_received, sequence)
    values ${valuesList(rows, 12)}`,
);

const insertPlacedText = textByRows(
  (rows) => `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, lease_ms, lease_s,
      generation, token, may_be_received, sequence, order_key, turn, agreement_hash, payment_hash)
    values ${valuesList(rows, 16)}`,
);

/** Rows that are written in the same transaction as the deliveries. */
type Along = {
  readonly events?: readonly Incoming[];
  readonly promoted?: readonly Promotion[];
  readonly changes?: CountChanges;
};

/**
 * Inserts deliveries with their counters and heads, and the rows in `along`. Sequence numbers are taken last, because
 * other instances wait for the same counters.
 */
export async function insertDeliveries(
  queries: Queries,
  dialect: Dialect,
  rows: readonly QueuedDelivery[],
  along: Along = {},
): Promise<void> {
  const wakes: Wake[] = [...(along.promoted ?? [])];
  const changes = along.changes ?? new CountChanges(dialect, 'acceptance');
  for (const { entityId, receiver, dueMs, leaseMs, place } of rows) {
    if (place?.isParked === true) continue;
    // A delivery with a lease can be claimed when its lease ends, so its head is due only then.
    const atMs = Math.max(dueMs, leaseMs);
    wakes.push({ entityId, webhookNo: receiver.webhookNo, atMs, isWaiting: leaseMs === 0 });
  }
  // The key of an agreement depends on the endpoint, which a webhook may have left since it was read.
  const scoped = rows.filter(({ place }) => place !== null && place.agreement !== null);
  await requireUnchangedHeads(
    queries,
    dialect,
    scoped.map(({ entityId, receiver }) => ({ entityId, ...receiver })),
    wakes,
  );
  await wakeHeads(queries, dialect, wakes);
  for (const { event } of along.events ?? []) changes.event(entityKey(dialect, event.entityId), event);
  for (const { entityId, hex, receiver } of rows) {
    const entity = entityKey(dialect, entityId);
    changes.queue(entity, receiver.webhookNo, { waiting: 1 });
    changes.deliveries(entity, receiver.webhookNo, hex, { created: 1 });
  }
  await changes.write(queries);
  await takeNumbers(queries, dialect, rows);
  // Most deliveries have no order key, and are inserted without its columns.
  for (const chunk of powersOfTwo(rows.filter(({ place }) => place === null))) {
    await queries.send(
      insertQueueText(chunk.length),
      chunk.flatMap((row) => valuesOf(dialect, row)),
    );
  }
  for (const chunk of powersOfTwo(rows.filter(({ place }) => place !== null))) {
    const values = chunk.flatMap((row): SqlValue[] => [...valuesOf(dialect, row), ...placeOf(dialect, row)]);
    await queries.send(insertPlacedText(chunk.length), values);
  }
}

function valuesOf(dialect: Dialect, row: QueuedDelivery): SqlValue[] {
  return [
    entityKey(dialect, row.entityId),
    dialect.bindUuid(row.hex),
    row.receiver.webhookNo,
    row.receiver.endpointNo,
    row.createdAtMs,
    row.dueMs,
    row.leaseMs,
    // Only deliveries that are due at this moment get a lease here.
    row.leaseMs === 0 ? 0 : leaseSeconds(row.leaseMs - row.dueMs),
    row.place?.isParked === true ? null : row.receiver.generation,
    row.leaseMs > 0 ? FIRST_TOKEN : 0,
    row.leaseMs > 0 ? 1 : 0,
    row.sequence,
  ];
}

function placeOf({ bindUuid }: Dialect, { place }: QueuedDelivery): SqlValue[] {
  return place === null ? [] : [bindUuid(place.orderKey), place.turn, place.agreement, place.payment];
}

async function countAccepted(queries: Queries, dialect: Dialect, accepted: readonly Incoming[]): Promise<void> {
  const events = accepted.map(({ eventNo, event: { entityId, networkId, event } }) => ({
    entity: entityKey(dialect, entityId),
    networkId,
    event,
    createdAtMs: timeOfHex(eventNo),
    events: 1,
  }));
  await countEvents(queries, dialect, events);
}

async function resultOf(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, deliveries, rejected }: Incoming,
  isFresh: boolean,
  { supersededBy }: Order,
): Promise<Acceptance | DomainError> {
  if (rejected !== undefined) return rejected;
  if (!isFresh) return repeatAcceptance(queries, dialect, event);
  const eventId = event.eventId ?? `evt_${eventNo}`;
  const by = supersededBy.get(eventNo);
  return by === undefined
    ? { eventId, deliveries, supersededBy: null, repeated: false }
    : { eventId, deliveries: 0, supersededBy: by, repeated: false };
}
