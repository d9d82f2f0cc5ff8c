import { lastDeliveryHex } from '../../../domain/ids.ts';
import { hasRole, readSubject, roleOf } from '../../../domain/supersession/rules.ts';
import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { Columns, chunks, eventIdKey, integer, type RowOf, text, uuid, valuesList } from '../../database/sql.ts';
import { findRetractable } from '../../events/retraction/retractable.ts';
import { WITHOUT_DELIVERIES } from '../../events/unmatched.ts';
import { eventTable } from '../../tables.ts';
import { CountChanges, STORED_BYTES } from '../counts/counts.ts';
import { countEvents, EVENT_BUCKET_MS, EVENT_DAY_MS } from '../counts/event-counts.ts';
import { forgetSubjects } from '../order/supersede.ts';
import type { Entity, Run } from './prune-run.ts';

const oldColumns = eventTable.pick(['no', 'eventId', 'networkId', 'event', 'createdAtMs']);
type OldEvent = RowOf<typeof oldColumns>;

const goneColumns = new Columns({
  no: uuid('no'),
  event: text('event'),
  body: text('body'),
  bytes: integer(STORED_BYTES.event),
  isUndelivered: integer(`case when ${WITHOUT_DELIVERIES} then 1 else 0 end`),
});

/** Removes events that have no delivery and no task, and that can no longer be retracted. */
export async function* pruneEvents(run: Run, entity: Entity): AsyncGenerator<void> {
  const { db, batches, pruned, dryRun, eventsBeforeHex } = run;
  const { bindUuid, hexOf } = db.dialect;
  let after = bindUuid('0'.repeat(32));
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const rows = await oldColumns.all(
        db,
        `select ${oldColumns.list} from events
         where entity_id = $1 and no > $2 and no < $3 order by no limit $4`,
        [entity.key, after, bindUuid(eventsBeforeHex), size],
      );
      after = rows.at(-1)?.no ?? after;
      const wanted = await findWanted(run, entity, rows);
      const free = rows.filter(({ no }) => !wanted.has(hexOf(no)));
      pruned.events += dryRun
        ? free.length
        : await db.transaction((queries) => deleteEvents(queries, db, entity, free));
      return rows.length === size;
    });
    yield;
  }
  if (!dryRun) await forgetEventCounts(run, entity);
}

/** The numbers of the events that have a delivery, or a task that may still make deliveries, or that may still be retracted. */
async function findWanted(
  { db, dryRun }: Run,
  { entityId, key }: Entity,
  events: readonly OldEvent[],
): Promise<Set<string>> {
  const { uuid, bindUuid, hexOf } = db.dialect;
  const eventNos = events.map(({ no }) => hexOf(no));
  const wanted = await findRetractable(db, db.dialect, entityId, eventNos);
  const inRange = (table: string) =>
    `exists (select 1 from ${table} d where d.entity_id = $1 and d.id > e.no and d.id <= e.last)`;
  const hasTask = 'exists (select 1 from tasks t where t.entity_id = $1 and (t.event_no = e.no or t.subject = e.no))';
  // In a dry run, the old deliveries are still there and must not count. An old event has no younger deliveries.
  const left = [hasTask, inRange('queue'), ...(dryRun ? [] : [inRange('deliveries')])].join(' or ');
  for (const chunk of chunks(events)) {
    const rows = await db.all<{ no: SqlUuid }>(
      `with e (no, last) as (values ${valuesList(chunk.length, 2, 1, [uuid, uuid])}) select no from e where ${left}`,
      [key, ...chunk.flatMap(({ no }): SqlValue[] => [no, bindUuid(lastDeliveryHex(hexOf(no)))])],
    );
    for (const { no } of rows) wanted.add(hexOf(no));
  }
  return wanted;
}

async function deleteEvents(
  queries: Queries,
  { dialect }: Database,
  { key }: Entity,
  old: readonly OldEvent[],
): Promise<number> {
  const gone: OldEvent[] = [];
  const counts = new CountChanges(dialect, 'completion');
  for (const chunk of chunks(old)) {
    const rows = await goneColumns.all(
      queries,
      `delete from events where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}
       returning ${goneColumns.list}`,
      [key, ...chunk.map(({ no }) => no)],
    );
    for (const { bytes, isUndelivered } of rows) {
      counts.stored(key, -bytes);
      counts.undelivered(key, -isUndelivered);
    }
    const deleted = new Set(rows.map(({ no }) => dialect.hexOf(no)));
    const removed = chunk.filter(({ no }) => deleted.has(dialect.hexOf(no)));
    gone.push(...removed);
    await forgetWhatFor(queries, dialect, key, rows);
    for (const { eventId, no } of removed) {
      if (eventId === null) continue;
      // Compares the number too, because the same id may have been accepted again since.
      await queries.run('delete from event_ids where entity_id = $1 and hash = $2 and no = $3', [
        key,
        eventIdKey(dialect, eventId),
        no,
      ]);
    }
  }
  await counts.write(queries);
  const changes = gone.map(({ networkId, event, createdAtMs }) => ({
    entity: key,
    networkId,
    event,
    createdAtMs,
    events: -1,
  }));
  await countEvents(queries, dialect, changes, 'completion');
  return gone.length;
}

type GoneEvent = Pick<RowOf<typeof goneColumns>, 'no' | 'event' | 'body'>;

/** Forgets the subjects of removed events, so that these no longer supersede others. */
export async function forgetWhatFor(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  events: readonly GoneEvent[],
): Promise<void> {
  const withRole = events.flatMap(({ no, event, body }) => {
    if (!hasRole(event)) return [];
    const { agreementId, transferId } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const role = roleOf(event, { agreementId: readSubject(agreementId), transferId: readSubject(transferId) });
    return role === null ? [] : { eventNo: dialect.hexOf(no), role };
  });
  await forgetSubjects(queries, dialect, entity, withRole);
}

/** Removes the counters of times from which no events are left. */
export async function forgetEventCounts({ db, beforeMs }: Run, { key }: Entity): Promise<void> {
  await db.transaction(async (queries) => {
    await queries.run(
      `delete from event_counts where entity_id = $1 and (network_id, event, bucket) in (
         select network_id, event, bucket from event_counts where entity_id = $1 and bucket < $2
         group by network_id, event, bucket having sum(events) = 0)`,
      [key, Math.floor(beforeMs / EVENT_BUCKET_MS)],
    );
    await queries.run(
      `delete from event_day_counts where entity_id = $1 and bucket in (
         select bucket from event_day_counts where entity_id = $1 and bucket < $2 group by bucket having sum(events) = 0)`,
      [key, Math.floor(beforeMs / EVENT_DAY_MS)],
    );
  });
}
