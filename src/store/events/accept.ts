import { DomainError } from '../../domain/errors.ts';
import { hexOfId, timeOfHex } from '../../domain/ids.ts';
import { type DestinationKey, destinationKey } from '../../domain/post-url.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, eventIdKey, textByRows, valuesList } from '../database/sql.ts';
import type { Claimed, DirectDispatch } from '../deliveries/claimed.ts';
import { CountChanges, countEvents } from '../deliveries/counts/counts.ts';
import { type HeadTarget, makeHeads, urlKey, wakeHeads } from '../deliveries/heads.ts';
import { eventNumbers } from '../new-id.ts';
import { REVISION } from '../tables.ts';
import {
  FIRST_TOKEN,
  type Incoming,
  type NewEvent,
  planAcceptance,
  type QueuedDelivery,
  type Receiver,
  wantedSlots,
} from './plan-acceptance.ts';

/** Acceptance: an event and one delivery for each webhook that asked for it, in one transaction. */

/** One transaction inserts about this many deliveries: a few tens of milliseconds, far below every deadline. */
const MAX_DELIVERIES = 2_000;

/** `repeated` when the same bytes had been accepted under this id before: the first result counts. */
export type Acceptance = { eventId: string; deliveries: number; repeated: boolean };

/** What a transaction of acceptance came to. Nothing of it counts before the commit. */
export type AcceptedGroup = {
  /** In the order of the events; those of a group that was cut short are missing at the end. */
  results: (Acceptance | DomainError)[];
  /** Slots that were taken at each destination; to be freed when the transaction fails. */
  readonly slots: Map<DestinationKey, number>;
  dispatched: Claimed[];
  /** Where something waits to be claimed. */
  due: ReadonlySet<DestinationKey>;
  /** By the database's clock. */
  nowMs: number;
  /** The destinations of each new event. */
  readonly destinations: { entityId: string; destinations: DestinationKey[] }[];
};

export function emptyGroup(): AcceptedGroup {
  return { results: [], slots: new Map(), dispatched: [], due: new Set(), nowMs: 0, destinations: [] };
}

/**
 * A whole group in a handful of statements, none of which can fail on what one of its members carries. Each member
 * gets its own result: an acceptance, or the error that it alone has.
 */
export async function acceptEvents(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
  directDispatch: DirectDispatch | null = null,
  group: AcceptedGroup = emptyGroup(),
): Promise<AcceptedGroup> {
  const { receivers, nowMs } = await findReceivers(queries, dialect, events);
  group.nowMs = nowMs;
  const incoming = cutByDeliveries(events, receivers).map(
    ([event, found]): Incoming => ({ event, eventNo: eventNumbers.next(nowMs), receivers: found }),
  );
  const fresh = await insertEvents(queries, dialect, incoming);
  const accepted = incoming.filter((one) => fresh.has(one));
  for (const one of incoming) group.results.push(await resultOf(queries, dialect, one, fresh.has(one)));
  if (accepted.length === 0) return group;
  for (const [destination, wanted] of directDispatch === null ? [] : wantedSlots(accepted)) {
    group.slots.set(destination, directDispatch?.reserve(destination, wanted) ?? 0);
  }
  const leaseMs = directDispatch?.leaseMs ?? 0;
  const plan = planAcceptance(accepted, group.slots, { nowMs, leaseMs, acceptedAtMs: Date.now() });
  await insertDeliveries(queries, dialect, plan.rows);
  await count(queries, dialect, accepted);
  group.dispatched = plan.dispatched;
  group.due = plan.due;
  for (const { event, receivers: found } of accepted) {
    const destinations = found.map(({ destination }) => destination);
    group.destinations.push({ entityId: event.entityId, destinations });
  }
  return group;
}

/** As many of the first events as make up one transaction; always at least one, whose fan-out has a limit of its own. */
function cutByDeliveries(
  events: readonly NewEvent[],
  receivers: ReadonlyMap<string, readonly Receiver[]>,
): [NewEvent, readonly Receiver[]][] {
  const taken: [NewEvent, readonly Receiver[]][] = [];
  let deliveries = 0;
  for (const event of events) {
    const found = receivers.get(cellKey(event)) ?? [];
    deliveries += found.length;
    if (taken.length > 0 && deliveries > MAX_DELIVERIES) break;
    taken.push([event, found]);
  }
  return taken;
}

type ReceiverRow = {
  entity_id: string;
  network_id: SqlInteger;
  event: string;
  id: string;
  created_seq: SqlInteger;
  post_url: string;
  suspended_at: SqlInteger | null;
  revision: SqlInteger;
  endpoint_no: SqlInteger | null;
  blocked: SqlInteger | null;
  generation: SqlInteger | null;
  failing_since_ms: SqlInteger | null;
};

const receiversText = (dialect: Dialect) =>
  textByRows(
    (rows) => `with cells (entity_id, entity_key, network_id, event) as
        (values ${valuesList(rows, 4, 0, ['text', dialect.uuid, 'bigint', 'text'])})
      select w.entity_id, w.network_id, w.event, w.id, w.created_seq, w.post_url, w.suspended_at,
        h.endpoint_no, h.blocked, h.generation, h.failing_since_ms,
        (select ${REVISION} from entities n where n.id = w.entity_id) as revision
      from cells c cross join webhooks w
        ${dialect.lookUp('left join', 'queue_heads', 'h', { entity_id: 'c.entity_key', webhook_no: 'w.created_seq' })}
      where w.entity_id = c.entity_id and w.network_id = c.network_id and w.event = c.event
      order by w.entity_id, w.created_seq`,
  );
const receiversTexts = new Map<Dialect, (rows: number) => string>();

/** The webhooks that each event goes to. Due times are by the database's clock, which is read along with them. */
async function findReceivers(
  queries: Queries,
  dialect: Dialect,
  events: readonly NewEvent[],
): Promise<{ receivers: Map<string, Receiver[]>; nowMs: number }> {
  const clock = await queries.get<{ now_ms: SqlInteger }>(dialect.planForClaims);
  const nowMs = Number(clock?.now_ms ?? 0);
  const text = receiversTexts.get(dialect) ?? receiversText(dialect);
  receiversTexts.set(dialect, text);
  const cells = new Map(events.map((event) => [cellKey(event), event]));
  const rows: ReceiverRow[] = [];
  for (const chunk of chunks([...cells.values()])) {
    const values = chunk.flatMap(({ entityId, networkId, event }): SqlValue[] => [
      entityId,
      entityKey(dialect, entityId),
      networkId,
      event,
    ]);
    rows.push(...(await queries.all<ReceiverRow>(text(chunk.length), values)));
  }
  const headless = rows.filter(({ endpoint_no }) => endpoint_no === null).map(headOf);
  const endpoints = headless.length === 0 ? null : await makeHeads(queries, dialect, headless, nowMs);
  const receivers = new Map<string, Receiver[]>();
  for (const row of rows) {
    const receiver = toReceiver(row, endpoints);
    const key = cellKey({ entityId: row.entity_id, networkId: Number(row.network_id), event: row.event });
    const known = receivers.get(key);
    if (known === undefined) receivers.set(key, [receiver]);
    else known.push(receiver);
  }
  return { receivers, nowMs };
}

function headOf(row: ReceiverRow): HeadTarget {
  return {
    entityId: row.entity_id,
    webhookNo: Number(row.created_seq),
    webhookId: row.id,
    networkId: Number(row.network_id),
    event: row.event,
    postUrl: row.post_url,
    isSuspended: row.suspended_at !== null,
  };
}

function toReceiver(row: ReceiverRow, endpoints: ReadonlyMap<string, number> | null): Receiver {
  const { entity_id: entityId, post_url: postUrl } = row;
  return {
    webhookNo: Number(row.created_seq),
    webhookId: row.id,
    postUrl,
    destination: destinationKey(entityId, postUrl),
    endpointNo: Number(row.endpoint_no ?? endpoints?.get(urlKey({ entityId, postUrl })) ?? 0),
    isBlocked: row.suspended_at !== null || Number(row.blocked ?? 0) !== 0,
    generation: Number(row.generation ?? 0),
    failingSinceMs: row.failing_since_ms === null ? null : Number(row.failing_since_ms),
    revision: Number(row.revision),
  };
}

const insertEventIdsText = textByRows(
  (rows) => `insert into event_ids (entity_id, hash, no) values ${valuesList(rows, 3)}
    on conflict (entity_id, hash) do nothing returning no`,
);

const insertEventsText = textByRows(
  (rows) => `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)
    values ${valuesList(rows, 8)}`,
);

/** The events that are new; of two with one id in a group only the first is. */
async function insertEvents(
  queries: Queries,
  dialect: Dialect,
  incoming: readonly Incoming[],
): Promise<ReadonlySet<Incoming>> {
  const byNo = new Map<string, Incoming>();
  const fresh = new Set(incoming.filter(({ event }) => event.eventId === null));
  const named: { one: Incoming; hash: SqlUuid; order: string }[] = [];
  for (const one of incoming) {
    const { eventId, entityId } = one.event;
    if (eventId === null || (await isNameOfNumber(queries, dialect, entityId, eventId))) continue;
    byNo.set(one.eventNo, one);
    named.push({ one, hash: eventIdKey(dialect, eventId), order: `${entityId} ${eventId}` });
  }
  // In one order everywhere: two instances that are sent the same events would otherwise wait for each other.
  named.sort((a, b) => (a.order < b.order ? -1 : 1));
  for (const chunk of chunks(named)) {
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
  for (const chunk of chunks(incoming.filter((one) => fresh.has(one)))) {
    const values = chunk.flatMap(({ event, eventNo, receivers }): SqlValue[] => [
      entityKey(dialect, event.entityId),
      dialect.bindUuid(eventNo),
      event.networkId,
      timeOfHex(eventNo),
      receivers.length,
      event.event,
      event.eventId,
      event.body,
    ]);
    await queries.run(insertEventsText(chunk.length), values);
  }
  return fresh;
}

/** Whether the sender chose an id that Paybell has made for another event before. */
async function isNameOfNumber(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  entityId: string,
  eventId: string,
): Promise<boolean> {
  const hex = hexOfId('evt', eventId);
  if (hex === null) return false;
  const row = await queries.get('select 1 as found from events where entity_id = $1 and no = $2 and event_id is null', [
    entityKey(dialect, entityId),
    dialect.bindUuid(hex),
  ]);
  return row !== undefined;
}

const insertQueueText = textByRows(
  (
    rows,
  ) => `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, lease_ms, generation, token)
    values ${valuesList(rows, 9)}`,
);

async function insertDeliveries(queries: Queries, dialect: Dialect, rows: readonly QueuedDelivery[]): Promise<void> {
  for (const chunk of chunks(rows)) {
    const values = chunk.flatMap(({ entityId, hex, receiver, createdAtMs, dueMs, leaseMs }): SqlValue[] => [
      entityKey(dialect, entityId),
      dialect.bindUuid(hex),
      receiver.webhookNo,
      receiver.endpointNo,
      createdAtMs,
      dueMs,
      leaseMs,
      receiver.generation,
      leaseMs > 0 ? FIRST_TOKEN : 0,
    ]);
    await queries.run(insertQueueText(chunk.length), values);
  }
  // A delivery with a lease can be claimed when that ends; the head has to be looked at by then and not before.
  const wakes = rows.map(({ entityId, receiver, dueMs, leaseMs }) => ({
    entityId,
    webhookNo: receiver.webhookNo,
    atMs: Math.max(dueMs, leaseMs),
    isWaiting: leaseMs === 0,
  }));
  await wakeHeads(queries, dialect, wakes);
}

async function count(queries: Queries, dialect: Dialect, accepted: readonly Incoming[]): Promise<void> {
  const changes = new CountChanges(dialect, 'acceptance');
  for (const { event, eventNo, receivers } of accepted) {
    const entity = entityKey(dialect, event.entityId);
    for (const { webhookNo } of receivers) {
      changes.queue(entity, webhookNo, { waiting: 1 });
      changes.deliveries(entity, webhookNo, eventNo, { created: 1 });
    }
  }
  await changes.write(queries);
  await countEvents(
    queries,
    dialect,
    accepted.map(({ eventNo, event: { entityId, networkId, event } }) => ({
      entity: entityKey(dialect, entityId),
      networkId,
      event,
      createdAtMs: timeOfHex(eventNo),
      events: 1,
    })),
  );
}

async function resultOf(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, receivers }: Incoming,
  isFresh: boolean,
): Promise<Acceptance | DomainError> {
  if (!isFresh) return repeat(queries, dialect, event);
  return { eventId: event.eventId ?? `evt_${eventNo}`, deliveries: receivers.length, repeated: false };
}

/** Same bytes: the first result again. Other bytes under the same id: never both. */
async function repeat(queries: Queries, dialect: Dialect, event: NewEvent): Promise<Acceptance | DomainError> {
  const eventId = event.eventId ?? '';
  const no = await findEventNo(queries, dialect, event.entityId, eventId);
  const stored =
    no === null
      ? undefined
      : await queries.get<{ body: string; deliveries: SqlInteger }>(
          'select body, deliveries from events where entity_id = $1 and no = $2',
          [entityKey(dialect, event.entityId), dialect.bindUuid(no)],
        );
  // Retention removed it after the insert had met it: it counts as never accepted, and the next attempt will be.
  if (stored === undefined) return new DomainError('event_just_removed', { eventId });
  if (stored.body !== event.body) return new DomainError('event_conflict', { eventId });
  return { eventId, deliveries: Number(stored.deliveries), repeated: true };
}

/** The number of the event that callers know by this id, or null where there is none. */
export async function findEventNo(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  entityId: string,
  eventId: string,
): Promise<string | null> {
  const row = await queries.get<{ no: SqlUuid }>('select no from event_ids where entity_id = $1 and hash = $2', [
    entityKey(dialect, entityId),
    eventIdKey(dialect, eventId),
  ]);
  if (row !== undefined) return dialect.hexOf(row.no);
  return (await isNameOfNumber(queries, dialect, entityId, eventId)) ? hexOfId('evt', eventId) : null;
}

function cellKey({ entityId, networkId, event }: Pick<NewEvent, 'entityId' | 'networkId' | 'event'>): string {
  return `${entityId} ${networkId} ${event}`;
}
