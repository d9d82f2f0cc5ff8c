import { hexIn, lastDeliveryHex } from '../../../domain/ids.ts';
import type { Role } from '../../../domain/supersession/rules.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  Columns,
  chunks,
  hashKey,
  integer,
  nullable,
  type RowOf,
  textByRows,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { setDeliveries } from '../../events/unmatched.ts';
import { ENDED } from '../../tasks/tasks.ts';
import type { CountChanges } from '../counts/counts.ts';
import { STATUS_CODES, WITHOUT_ATTEMPT } from '../states.ts';
import { lockKeys, lockRows, type OrderKey, type Promotion, settleKeys } from './order-keys.ts';

/**
 * Carries out the rules of `domain/supersession/rules.ts` in the transaction that accepts an event. A row of `subjects` is the lock of
 * what events are about: of two instances that accept a reminder and the payment at once, the second sees what the first has
 * done. Deliveries that are held, retried or not sent yet become superseded; one in flight too, and is delivered after all if
 * its receiver responds with a 2xx. What was asked for again after it was complete is sent.
 */

export type RoleOfEvent = { readonly entity: SqlUuid; readonly eventNo: string; readonly role: Role };

export type Supersession = {
  /** The numbers of the events that are superseded on arrival, with those that supersede them. */
  readonly onArrival: ReadonlyMap<string, string>;
  /** Numbers of events whose deliveries are to be superseded, with those that supersede them. */
  readonly waiting: readonly Superseded[];
};

export type Superseded = { readonly entity: SqlUuid; readonly eventNo: SqlUuid; readonly byNo: SqlUuid };

const subjectColumns = new Columns({
  entity: uuid('entity_id'),
  subject: uuid('subject'),
  eventNo: nullable(uuid('event_no')),
  isWaited: integer('is_waited'),
});

/** `is_waited` says that events wait that may be superseded, so that most payments end with this statement. */
const lockText = textByRows(
  (rows) => `insert into subjects (entity_id, subject, event_no, is_waited) values ${valuesList(rows, 4)}
    on conflict (entity_id, subject) do update set event_no = coalesce(excluded.event_no, subjects.event_no),
      is_waited = case when excluded.event_no is null then 1 else subjects.is_waited end
    returning ${subjectColumns.list}`,
);

/** Locks what the events are about, notes them there, and returns what they lead to. No subject has events of both kinds. */
export async function lockSubjects(
  queries: Queries,
  dialect: Dialect,
  events: readonly RoleOfEvent[],
): Promise<Supersession> {
  const named = events.map((event) => {
    const subject = hashKey(dialect, event.role.subject);
    return { ...event, subject, name: `${dialect.hexOf(event.entity)} ${dialect.hexOf(subject)}` };
  });
  // The last event of a subject counts, in one order everywhere.
  const subjects = [...new Map(named.map((event) => [event.name, event]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const found = new Map<string, RowOf<typeof subjectColumns>>();
  for (const chunk of chunks(subjects)) {
    const values = chunk.flatMap(([, { entity, subject, role, eventNo }]): SqlValue[] => {
      const isWaited = role.kind === 'superseded';
      return [entity, subject, isWaited ? null : dialect.bindUuid(eventNo), isWaited ? 1 : 0];
    });
    for (const row of await subjectColumns.all(queries, lockText(chunk.length), values)) {
      found.set(`${dialect.hexOf(row.entity)} ${dialect.hexOf(row.subject)}`, row);
    }
  }
  const onArrival = new Map<string, string>();
  const waiting: Superseded[] = [];
  for (const { name, entity, subject, role, eventNo } of named) {
    const row = found.get(name);
    const by = row?.eventNo ?? null;
    if (role.kind === 'superseded') {
      if (role.onArrival && by !== null) onArrival.set(eventNo, dialect.hexOf(by));
      else await noteSupersedable(queries, entity, subject, dialect.bindUuid(eventNo));
    } else if (row?.isWaited === 1) {
      waiting.push(...(await takeSupersedable(queries, entity, subject, dialect.bindUuid(eventNo))));
    }
  }
  return { onArrival, waiting };
}

async function noteSupersedable(queries: Queries, entity: SqlUuid, subject: SqlUuid, eventNo: SqlUuid): Promise<void> {
  const sql = 'insert into supersedable (entity_id, subject, event_no) values ($1, $2, $3)';
  await queries.run(sql, [entity, subject, eventNo]);
}

const takenColumns = new Columns({ eventNo: uuid('event_no') });

async function takeSupersedable(
  queries: Queries,
  entity: SqlUuid,
  subject: SqlUuid,
  byNo: SqlUuid,
): Promise<Superseded[]> {
  const which = 'where entity_id = $1 and subject = $2';
  const sql = `delete from supersedable ${which} returning ${takenColumns.list}`;
  const rows = await takenColumns.all(queries, sql, [entity, subject]);
  await queries.run(`update subjects set is_waited = 0 ${which}`, [entity, subject]);
  return rows.map(({ eventNo }) => ({ entity, eventNo, byNo }));
}

export const waitingColumns = new Columns({
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  attempts: integer('attempts'),
  mayBeReceived: integer('may_be_received'),
  orderKey: nullable(uuid('order_key')),
});
export type WaitingRow = RowOf<typeof waitingColumns>;

/** A range of ids: `$1` is the entity, `$2` the event's number, `$3` its last id. */
export const OF_EVENT = `select ${waitingColumns.list} from queue where entity_id = $1 and id > $2 and id <= $3 and recorded is null`;

/**
 * Ends the deliveries of the events, and what would be made of them later. `keys` are the keys that the caller takes next:
 * they are locked along with those that the deliveries have, in one order. Returns the deliveries that have their turn now.
 */
export async function supersedeWaiting(
  queries: Queries,
  dialect: Dialect,
  events: readonly Superseded[],
  { keys: joined, changes, nowMs }: { keys: readonly OrderKey[]; changes: CountChanges; nowMs: number },
): Promise<Promotion[]> {
  const found: { event: Superseded; rows: WaitingRow[] }[] = [];
  for (const event of events) {
    const last = dialect.bindUuid(lastDeliveryHex(dialect.hexOf(event.eventNo)));
    await endTask(queries, changes, event);
    found.push({ event, rows: await waitingColumns.all(queries, OF_EVENT, [event.entity, event.eventNo, last]) });
  }
  const keys = found.flatMap(({ event, rows }) =>
    rows.flatMap(({ orderKey }) => (orderKey === null ? [] : { entity: event.entity, key: orderKey })),
  );
  await lockKeys(queries, dialect, [...keys, ...joined]);
  // In one order, because other transactions record attempts of these deliveries.
  const waiting = found.flatMap(({ event: { entity }, rows }) => rows.map(({ id }) => ({ entity, id })));
  if (waiting.length > 1) await lockRows(queries, dialect, waiting);
  for (const { event, rows } of found) {
    for (const chunk of chunks(rows)) await moveToRecord(queries, dialect, changes, event, chunk);
  }
  return settleKeys(queries, dialect, keys, nowMs);
}

const taskColumns = new Columns({ made: integer('made') });

/** The rest of an event for many webhooks is not made; the event has the deliveries that it has. */
export async function endTask(
  queries: Queries,
  changes: CountChanges,
  { entity, eventNo }: Omit<Superseded, 'byNo'>,
): Promise<void> {
  const task = await taskColumns.get(
    queries,
    `update tasks set phase = '${ENDED}', wait_ms = 0 where entity_id = $1 and event_no = $2 and phase <> '${ENDED}'
     returning ${taskColumns.list}`,
    [entity, eventNo],
  );
  if (task === undefined) return;
  await setDeliveries(queries, changes, { entity, eventNo }, task.made);
}

/** Without those that are in flight at this time, where one is given. Returns the rows that it has moved. */
export async function moveToRecord(
  queries: Queries,
  dialect: Dialect,
  counts: CountChanges,
  { entity, byNo }: Omit<Superseded, 'eventNo'>,
  waiting: readonly Pick<WaitingRow, 'id'>[],
  nowMs: number | null = null,
): Promise<WaitingRow[]> {
  const idle = nowMs === null ? '' : 'and lease_ms <= $2';
  const before: SqlValue[] = nowMs === null ? [entity] : [entity, dialect.leaseClock.endedBy(nowMs)];
  // Another transaction may have completed some of them meanwhile.
  const rows = await waitingColumns.all(
    queries,
    `select ${waitingColumns.list} from queue
     where entity_id = $1 ${idle} and id in ${valuesList(1, waiting.length, before.length)} and recorded is null
     order by id ${dialect.lockRow}`,
    [...before, ...waiting.map(({ id }) => id)],
  );
  if (rows.length === 0) return rows;
  const ids = rows.map(({ id }) => id);
  await queries.run(
    `insert into deliveries (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence,
       redelivery_id, attempts, status, status_code, test, error, superseded_by, may_be_received)
     select entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence,
       redelivery_id, attempts, ${STATUS_CODES.superseded}, status_code, test, error, $2, ${WITHOUT_ATTEMPT}
     from queue where entity_id = $1 and id in ${valuesList(1, ids.length, 2)}`,
    [entity, byNo, ...ids],
  );
  await queries.run(`delete from queue where entity_id = $1 and id in ${valuesList(1, ids.length, 1)}`, [
    entity,
    ...ids,
  ]);
  for (const { id, webhookNo, attempts } of rows) {
    counts.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });
    counts.deliveries(entity, webhookNo, hexIn(dialect.hexOf(id)), { superseded: 1 });
  }
  return rows;
}

/** For events that are removed: they supersede nothing any more. */
export async function forgetSubjects(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  events: readonly Omit<RoleOfEvent, 'entity'>[],
): Promise<void> {
  for (const chunk of chunks(events)) {
    const list = valuesList(1, chunk.length, 1);
    const numbers = valuesList(1, chunk.length, 1 + chunk.length);
    const parameters: SqlValue[] = [
      entity,
      ...chunk.map(({ role }) => hashKey(dialect, role.subject)),
      ...chunk.map(({ eventNo }) => dialect.bindUuid(eventNo)),
    ];
    await queries.run(
      `delete from supersedable where entity_id = $1 and subject in ${list} and event_no in ${numbers}`,
      parameters,
    );
    await queries.run(
      `delete from subjects where entity_id = $1 and subject in ${list} and (event_no in ${numbers} or event_no is null)
         and not exists (select 1 from supersedable s where s.entity_id = $1 and s.subject = subjects.subject)`,
      parameters,
    );
  }
}
