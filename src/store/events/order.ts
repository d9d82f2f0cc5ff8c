import type { Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, valuesList } from '../database/sql.ts';
import type { CountChanges } from '../deliveries/counts/counts.ts';
import {
  joinKeys,
  type OrderKey,
  orderKeyOf,
  type Place,
  type Promotion,
  type Subjects,
  subjectsOf,
} from '../deliveries/order/order-keys.ts';
import { lockSubjects, type RoleOfEvent, supersedeWaiting } from '../deliveries/order/supersede.ts';
import { taskTable, webhookCountTable } from '../tables.ts';
import {
  type AcceptanceRun,
  type EventWithRole,
  hasSubject,
  type Incoming,
  type Order,
  type Outdated,
  type Receiver,
  roleOfEvent,
  WITHOUT_ORDER,
  withoutOrder,
} from './acceptance.ts';
import { nameOfEvent } from './event-ids.ts';
import { endOutdated } from './retraction/outdate.ts';

/** Order and supersession during acceptance. An event without an ordering key and without a role costs no statement here. */

/** Orders the new events among themselves and after waiting deliveries. */
export async function orderDeliveries(run: AcceptanceRun): Promise<void> {
  const { queries, dialect, added, outdated, changes, group } = run;
  run.order = added.some(({ event }) => hasSubject(event))
    ? await takeTurns(queries, dialect, added, outdated, changes, group.nowMs)
    : withoutOrder(added);
}

/** Locks the subjects of the events and then their order keys, and gives each delivery its place. */
async function takeTurns(
  queries: Queries,
  dialect: Dialect,
  incoming: readonly Incoming[],
  outdated: readonly Outdated[],
  changes: CountChanges,
  nowMs: number,
): Promise<Order> {
  const fresh = await queueBehindFanOuts(queries, dialect, incoming);
  const roles = await findRoles(queries, dialect, fresh);
  const supersession = roles.length === 0 ? null : await lockSubjects(queries, dialect, roles);
  const supersededBy = new Map<string, string>();
  const accepted: Incoming[] = [];
  for (const one of fresh) {
    const by = supersession?.onArrival.get(one.eventNo);
    if (by === undefined) accepted.push(one);
    else {
      supersededBy.set(one.eventNo, await nameOfEvent(queries, dialect, one.event.entityId, by));
      await markSuperseded(queries, dialect, one, by);
      accepted.push({ ...one, receivers: [], deliveries: 0, rest: null });
    }
  }
  const joining = accepted.flatMap((one) => joiningOf(dialect, one));
  const waiting = supersession?.waiting ?? [];
  const keys = joining.map(({ entity, key }): OrderKey => ({ entity, key }));
  const promoted = await endOutdated(queries, dialect, outdated, keys, nowMs);
  if (waiting.length > 0)
    promoted.push(...(await supersedeWaiting(queries, dialect, waiting, { keys, changes, nowMs })));
  if (joining.length === 0) return { accepted, supersededBy, turns: WITHOUT_ORDER, promoted };
  const places = await joinKeys(queries, dialect, joining);
  const byPlace = new Map(joining.map((one) => [one.place, one]));
  const turns = (one: Incoming, receiver: Receiver): Place | null => {
    const found = byPlace.get(placeOf(one, receiver));
    const place = found === undefined ? undefined : places.get(found);
    return found === undefined || place === undefined ? null : { ...place, ...found.subjects };
  };
  return { accepted, supersededBy, turns, promoted };
}

const wantedColumns = webhookCountTable.pick(['entityId', 'event']);

/**
 * Finds the roles of events. A payment gets its role only if the entity has a webhook for reminders, because otherwise nothing
 * would read the row of the payment.
 */
async function findRoles(
  queries: Queries,
  dialect: Dialect,
  fresh: readonly { readonly event: EventWithRole; readonly eventNo: string }[],
): Promise<RoleOfEvent[]> {
  const found = fresh.flatMap(({ event, eventNo }) => {
    const role = roleOfEvent(event);
    return role === null ? [] : { entityId: event.entityId, entity: entityKey(dialect, event.entityId), eventNo, role };
  });
  const superseding = found.filter(({ role }) => role.kind === 'supersedes');
  const isWanted = new Set<string>();
  for (const chunk of chunks([...new Set(superseding.map(({ entityId }) => entityId))])) {
    const kinds = [...new Set(superseding.map(({ role }) => role.superseded))];
    const rows = await wantedColumns.all(
      queries,
      `select distinct ${wantedColumns.list} from webhook_counts where entity_id in ${valuesList(1, chunk.length)}
         and event in ${valuesList(1, kinds.length, chunk.length)} and webhooks > 0`,
      [...chunk, ...kinds],
    );
    for (const { entityId, event } of rows) isWanted.add(`${entityId} ${event}`);
  }
  return found.filter(({ entityId, role }) => {
    return role.kind === 'superseded' || isWanted.has(`${entityId} ${role.superseded}`);
  });
}

/** Supersedes deliveries because a held event is released. Returns the deliveries that have their turn now. */
export async function supersedeAtRelease(
  queries: Queries,
  dialect: Dialect,
  released: { readonly event: EventWithRole; readonly eventNo: string },
  { changes, nowMs }: { readonly changes: CountChanges; readonly nowMs: number },
): Promise<Promotion[]> {
  const roles = (await findRoles(queries, dialect, [released])).filter(({ role }) => role.kind === 'supersedes');
  if (roles.length === 0) return [];
  const { waiting } = await lockSubjects(queries, dialect, roles);
  return waiting.length === 0 ? [] : supersedeWaiting(queries, dialect, waiting, { keys: [], changes, nowMs });
}

async function markSuperseded(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo }: Incoming,
  by: string,
): Promise<void> {
  await queries.run('update events set deliveries = 0, superseded_by = $3 where entity_id = $1 and no = $2', [
    entityKey(dialect, event.entityId),
    dialect.bindUuid(eventNo),
    dialect.bindUuid(by),
  ]);
}

type JoiningDelivery = {
  readonly entityId: string;
  readonly entity: SqlUuid;
  readonly key: SqlUuid;
  readonly subjects: Subjects;
  readonly place: string;
};

/** Names the delivery of an event to an endpoint, which gets the event once. */
function placeOf({ eventNo }: Incoming, { endpointNo }: Receiver): string {
  return `${eventNo} ${endpointNo}`;
}

/** Whether a receiver has ordering. If none has, the agreement gives no order, and needs no hash. */
function isForOrdered({ receivers }: Incoming): boolean {
  return receivers.some(({ isOrdered }) => isOrdered);
}

function joiningOf(dialect: Dialect, incoming: Incoming): JoiningDelivery[] {
  const { entityId, agreementId = null, factKey = null } = incoming.event;
  if (factKey === null && (agreementId === null || !isForOrdered(incoming))) return [];
  const entity = entityKey(dialect, entityId);
  const subjects = subjectsOf(dialect, incoming.event);
  return incoming.receivers.flatMap((receiver) => {
    const key = orderKeyOf(dialect, subjects, receiver);
    return key === null ? [] : { entityId, entity, key, subjects, place: placeOf(incoming, receiver) };
  });
}

const taskColumns = taskTable.pick(['entity', 'orderKey', 'factKey']);

/**
 * If a task still creates deliveries of an event with the same order key, a task also creates all deliveries of the
 * later event. Tasks with the same key run one after another.
 */
async function queueBehindFanOuts(
  queries: Queries,
  dialect: Dialect,
  incoming: readonly Incoming[],
): Promise<Incoming[]> {
  const { hexOf } = dialect;
  const keyed = incoming.flatMap((one) => {
    const isOrdered = isForOrdered(one);
    if ((one.event.factKey ?? null) === null && !isOrdered) return [];
    const { agreement, payment } = subjectsOf(dialect, one.event);
    const entity = entityKey(dialect, one.event.entityId);
    const subjects = one.receivers.length === 0 ? [] : [payment, isOrdered ? agreement : null];
    return subjects.flatMap((key) => (key === null ? [] : { one, entity, key }));
  });
  const behind = new Set<Incoming>();
  for (const chunk of chunks(keyed)) {
    const list = `(values ${valuesList(chunk.length, 2, 0, [dialect.uuid, dialect.uuid])})`;
    const rows = await taskColumns.all(
      queries,
      `select ${taskColumns.list} from tasks where order_key is not null
         and ((entity_id, order_key) in ${list} or (entity_id, fact_key) in ${list})${dialect.ofEntity('tasks')}`,
      chunk.flatMap(({ entity, key }): SqlValue[] => [entity, key]),
    );
    const taken = new Set<string>();
    for (const { entity, orderKey, factKey } of rows) {
      for (const key of [orderKey, factKey]) if (key !== null) taken.add(`${hexOf(entity)} ${hexOf(key)}`);
    }
    for (const { one, entity, key } of chunk) if (taken.has(`${hexOf(entity)} ${hexOf(key)}`)) behind.add(one);
  }
  return incoming.map((one) => {
    if (!behind.has(one)) return one;
    const revision = one.receivers[0]?.registryRevision ?? 0;
    return { ...one, receivers: [], rest: { afterNo: 0, revision } };
  });
}
