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
import { subjectTable, supersedableTable, taskTable } from '../../tables.ts';
import { ENDED, startTask } from '../../tasks/tasks.ts';
import type { CountChanges } from '../counts/counts.ts';
import { MAY_BE_RECEIVED, STATUS_CODES, WITHOUT_ATTEMPT } from '../states.ts';
import { lockKeys, lockRows, type OrderKey, type Promotion, settleKeys } from './order-keys.ts';

/**
 * Carries out the rules of `domain/supersession/rules.ts` in the transaction that accepts an event. A row of `subjects`
 * locks the subject of events: if two instances accept a reminder and its payment at the same time, the second sees the
 * changes of the first. Deliveries that are on hold, retried or not sent yet become superseded. A delivery in flight keeps
 * its turn until its request ends: it is delivered if its receiver responds with a 2xx, and a task ends it otherwise
 * (`supersede-task.ts`). A redelivery of a completed delivery is still sent.
 */

export type RoleOfEvent = {
  readonly entityId: string;
  readonly entity: SqlUuid;
  readonly eventNo: string;
  readonly role: Role;
};

export type Supersession = {
  /** Maps the number of each event that is superseded on arrival to the number of its superseding event. */
  readonly onArrival: ReadonlyMap<string, string>;
  /** Numbers of events whose waiting deliveries become superseded, with the events that supersede them. */
  readonly waiting: readonly Superseded[];
};

export type Superseded = {
  readonly entityId: string;
  readonly entity: SqlUuid;
  readonly eventNo: SqlUuid;
  readonly byNo: SqlUuid;
};

const subjectColumns = subjectTable.pick(['entity', 'subject', 'eventNo', 'isWaited']);

/** `is_waited` is 0 if no waiting event can be superseded. For most payments it is 0, and they need no further statement. */
const lockText = textByRows(
  (rows) => `insert into subjects (entity_id, subject, event_no, is_waited) values ${valuesList(rows, 4)}
    on conflict (entity_id, subject) do update set event_no = coalesce(excluded.event_no, subjects.event_no),
      is_waited = case when excluded.event_no is null then 1 else subjects.is_waited end
    returning ${subjectColumns.list}`,
);

/**
 * Locks the subjects of the events, notes the events there, and returns the resulting supersessions. In one call, all events of a
 * subject have the same role.
 */
export async function lockSubjects(
  queries: Queries,
  dialect: Dialect,
  events: readonly RoleOfEvent[],
): Promise<Supersession> {
  const named = events.map((event) => {
    const subject = hashKey(dialect, event.role.subject);
    return { ...event, subject, name: `${dialect.hexOf(event.entity)} ${dialect.hexOf(subject)}` };
  });
  // The last event of a subject counts. Subjects are sorted, because every transaction locks them in this order.
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
  for (const { name, entityId, entity, subject, role, eventNo } of named) {
    const row = found.get(name);
    const by = row?.eventNo ?? null;
    if (role.kind === 'superseded') {
      if (role.onArrival && by !== null) onArrival.set(eventNo, dialect.hexOf(by));
      else await noteSupersedable(queries, entity, subject, dialect.bindUuid(eventNo));
    } else if (row?.isWaited === 1) {
      const byNo = dialect.bindUuid(eventNo);
      const taken = await takeSupersedable(queries, entity, subject);
      waiting.push(...taken.map((one) => ({ entityId, entity, byNo, ...one })));
    }
  }
  return { onArrival, waiting };
}

/** Does not wait for the response. A group of acceptances may have hundreds of such events, and each would take a round trip. */
async function noteSupersedable(queries: Queries, entity: SqlUuid, subject: SqlUuid, eventNo: SqlUuid): Promise<void> {
  const sql = 'insert into supersedable (entity_id, subject, event_no) values ($1, $2, $3)';
  await queries.send(sql, [entity, subject, eventNo]);
}

const takenColumns = supersedableTable.pick(['eventNo']);

async function takeSupersedable(
  queries: Queries,
  entity: SqlUuid,
  subject: SqlUuid,
): Promise<RowOf<typeof takenColumns>[]> {
  const which = 'where entity_id = $1 and subject = $2';
  const sql = `delete from supersedable ${which} returning ${takenColumns.list}`;
  const rows = await takenColumns.all(queries, sql, [entity, subject]);
  await queries.send(`update subjects set is_waited = 0 ${which}`, [entity, subject]);
  return rows;
}

export const waitingColumns = new Columns({
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  attempts: integer('attempts'),
  mayBeReceived: integer(MAY_BE_RECEIVED),
  orderKey: nullable(uuid('order_key')),
});
export type WaitingRow = RowOf<typeof waitingColumns>;

/** The deliveries of an event that are not completed. */
export function readWaiting(
  queries: Queries,
  dialect: Dialect,
  { entity, eventNo }: Pick<Superseded, 'entity' | 'eventNo'>,
): Promise<WaitingRow[]> {
  const last = dialect.bindUuid(lastDeliveryHex(dialect.hexOf(eventNo)));
  return waitingColumns.all(
    queries,
    `select ${waitingColumns.list} from queue where entity_id = $1 and id > $2 and id <= $3 and recorded is null`,
    [entity, eventNo, last],
  );
}

export function keysOfWaiting(entity: SqlUuid, rows: readonly WaitingRow[]): OrderKey[] {
  return rows.flatMap(({ orderKey: key }) => (key === null ? [] : { entity, key }));
}

/**
 * Supersedes the waiting deliveries of the events, and ends the tasks that would create more. `keys` are the order keys that the
 * caller needs next: they are locked together with the keys of the deliveries, in one order. Returns the deliveries that have
 * their turn now.
 */
export async function supersedeWaiting(
  queries: Queries,
  dialect: Dialect,
  events: readonly Superseded[],
  { keys: joined, changes, nowMs }: { keys: readonly OrderKey[]; changes: CountChanges; nowMs: number },
): Promise<Promotion[]> {
  const found: { event: Superseded; rows: WaitingRow[] }[] = [];
  for (const event of events) {
    await endTask(queries, changes, event);
    found.push({ event, rows: await readWaiting(queries, dialect, event) });
  }
  const keys = found.flatMap(({ event, rows }) => keysOfWaiting(event.entity, rows));
  await lockKeys(queries, dialect, [...keys, ...joined]);
  // Locks the rows in one order, because other transactions record attempts of these deliveries.
  const waiting = found.flatMap(({ event: { entity }, rows }) => rows.map(({ id }) => ({ entity, id })));
  if (waiting.length > 1) await lockRows(queries, dialect, waiting);
  for (const { event, rows } of found) {
    const moved = await moveToRecord(queries, dialect, changes, event, rows, nowMs);
    if (moved.length < rows.length) await endInFlight(queries, dialect, event, rows);
  }
  return settleKeys(queries, dialect, keys, nowMs);
}

/** Starts a task that ends the deliveries in flight after their requests. Their requested redeliveries are dropped. */
async function endInFlight(
  queries: Queries,
  dialect: Dialect,
  { entity, entityId, eventNo, byNo }: Superseded,
  rows: readonly WaitingRow[],
): Promise<void> {
  for (const chunk of chunks(rows)) {
    await queries.run(
      `update queue set redeliver = 0
       where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)} and redeliver > 0 and recorded is null`,
      [entity, ...chunk.map(({ id }) => id)],
    );
  }
  const cursor = dialect.hexOf(byNo);
  await startTask(queries, dialect, { kind: 'supersede', entityId, subject: eventNo, phase: 'ending', cursor });
}

const taskColumns = taskTable.pick(['made']);

/** Ends the fan-out of an event: the event keeps the deliveries that it already has. */
export async function endTask(
  queries: Queries,
  changes: CountChanges,
  { entity, eventNo }: Pick<Superseded, 'entity' | 'eventNo'>,
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

/** Moves waiting deliveries to the completed ones as superseded, except deliveries in flight at `nowMs`. Returns the moved rows. */
export async function moveToRecord(
  queries: Queries,
  dialect: Dialect,
  counts: CountChanges,
  { entity, byNo }: Pick<Superseded, 'entity' | 'byNo'>,
  waiting: readonly Pick<WaitingRow, 'id'>[],
  nowMs: number,
): Promise<WaitingRow[]> {
  const moved: WaitingRow[] = [];
  for (const chunk of chunks(waiting))
    moved.push(...(await moveChunk(queries, dialect, { entity, byNo }, chunk, nowMs)));
  for (const { id, webhookNo, attempts } of moved) {
    counts.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });
    counts.deliveries(entity, webhookNo, hexIn(dialect.hexOf(id)), { superseded: 1 });
  }
  return moved;
}

async function moveChunk(
  queries: Queries,
  dialect: Dialect,
  { entity, byNo }: Pick<Superseded, 'entity' | 'byNo'>,
  waiting: readonly Pick<WaitingRow, 'id'>[],
  nowMs: number,
): Promise<WaitingRow[]> {
  // Another transaction may have completed some of the deliveries since they were read.
  const rows = await waitingColumns.all(
    queries,
    `select ${waitingColumns.list} from queue
     where entity_id = $1 and lease_ms <= $2 and id in ${valuesList(1, waiting.length, 2)} and recorded is null
     order by id ${dialect.lockRow}`,
    [entity, dialect.leaseClock.endedBy(nowMs), ...waiting.map(({ id }) => id)],
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
  return rows;
}

/** Forgets removed events, so that they no longer supersede others. */
export async function forgetSubjects(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  events: readonly Pick<RoleOfEvent, 'eventNo' | 'role'>[],
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
