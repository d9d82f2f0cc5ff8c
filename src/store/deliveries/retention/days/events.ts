import { KINDS_WITH_ROLE } from '../../../../domain/supersession/rules.ts';
import type { SqlValue } from '../../../database/database.ts';
import { type Days, within } from '../../../database/partitions/layout.ts';
import { isAlone } from '../../../database/partitions/short-lock.ts';
import {
  Columns,
  chunks,
  eventIdKey,
  nullable,
  type RowOf,
  readInteger,
  text,
  uuid,
  valuesList,
} from '../../../database/sql.ts';
import { WITHOUT_DELIVERIES } from '../../../events/unmatched.ts';
import { STORED_BYTES } from '../../counts/counts.ts';
import { EVENT_BUCKET_MS, EVENT_DAY_MS } from '../../counts/event-counts.ts';
import { forgetWhatFor } from '../old-events.ts';
import type { Run } from '../prune-run.ts';
import {
  addStored,
  type Detached,
  DROP_DEADLINE_MS,
  DROPPED_SHARD,
  detach,
  exists,
  isAttached,
  MAX_NEEDED,
  nameRetractable,
} from './detached.ts';

/** Removes the events of a day whose deliveries are gone. */

/** The number of the event whose delivery has this id. */
const EVENT_OF = (id: string) => `cast(left(cast(${id} as text), 26) || '0000000000' as uuid)`;

/**
 * Detaches the day. Events that still have a delivery, or that may still be retracted, move to the default partition. No other
 * event of the day can become needed during this check, because its deliveries are gone and cannot be sent again.
 */
export function detachEvents({ db }: Run, days: Days): Promise<Detached> {
  const events = `events_${days.suffix}`;
  const ofDelivery = (table: string) =>
    `select entity_id, ${EVENT_OF('id')} as no from ${table} where ${within(days, 'id')}`;
  return detach(db, async (queries) => {
    // Another instance may be about to detach the day's deliveries.
    if (!(await isAttached(queries, events)) || (await isAttached(queries, `deliveries_${days.suffix}`))) {
      return 'by another';
    }
    await nameRetractable(queries, db.dialect, days);
    await queries.run(
      `create temp table needed on commit drop as select distinct entity_id, no from (
         ${ofDelivery('queue')} union ${ofDelivery('deliveries')} union select entity_id, no from retractable
         union select entity_id, event_no from tasks where ${within(days, 'event_no')}
         union select entity_id, subject from tasks where event_no is not null and ${within(days, 'subject')}) n limit ${MAX_NEEDED + 1}`,
    );
    if ((await readInteger(queries, 'count(*)', 'from needed')) > MAX_NEEDED) return 'too much is needed';
    await queries.run(`alter table events detach partition ${events}`);
    await queries.run(
      `with moved as (
         delete from ${events} e using needed n where e.entity_id = n.entity_id and e.no = n.no returning e.*)
       insert into events select * from moved`,
    );
    return 'detached';
  });
}

const HAS_ROLE = `event in (${KINDS_WITH_ROLE.map((kind) => `'${kind}'`).join(', ')})`;

const goneColumns = new Columns({
  entity: uuid('entity_id'),
  no: uuid('no'),
  event: text('event'),
  eventId: nullable(text('event_id')),
  body: text(`case when ${HAS_ROLE} then body else '' end`),
});

/** Deletes the rows of other tables that refer to a detached day, subtracts the day from the counters, and drops it. */
export async function dropEvents(run: Run, days: Days): Promise<void> {
  const { db, batches, pruned } = run;
  const events = `events_${days.suffix}`;
  try {
    await forgetNames(run, days);
  } catch (error) {
    // Ignores the error if another instance has dropped the day first.
    if (await exists(db, events)) throw error;
  }
  if (batches.isStopped) return;
  pruned.events += await db.transaction(
    async (queries) => {
      for (const sql of db.dialect.allowLongTransaction) await queries.run(sql);
      if (!(await isAlone(queries)) || !(await exists(queries, events))) return 0;
      await queries.run(
        `insert into event_counts (entity_id, network_id, event, bucket, shard, events)
         select entity_id, network_id, event, created_at_ms / ${EVENT_BUCKET_MS}, ${DROPPED_SHARD}, -count(*)
         from ${events} group by 1, 2, 3, 4
         on conflict (entity_id, network_id, event, bucket, shard) do update set events = event_counts.events + excluded.events`,
      );
      await queries.run(
        `insert into event_day_counts (entity_id, bucket, shard, events)
         select entity_id, created_at_ms / ${EVENT_DAY_MS}, ${DROPPED_SHARD}, -count(*) from ${events} group by 1, 2
         on conflict (entity_id, bucket, shard) do update set events = event_day_counts.events + excluded.events`,
      );
      const undelivered = `-count(*) filter (where ${WITHOUT_DELIVERIES})`;
      await addStored(queries, `-sum(${STORED_BYTES.event})`, `from ${events}`, undelivered);
      const total = await readInteger(queries, 'count(*)', `from ${events}`);
      await queries.run(`drop table ${events}`);
      return total;
    },
    { deadlineMs: DROP_DEADLINE_MS },
  );
}

/** Removes the event ids and the subjects of the day's events from other tables, a batch at a time. A repetition changes nothing. */
async function forgetNames({ db, batches }: Run, days: Days): Promise<void> {
  const { bindUuid } = db.dialect;
  const first = bindUuid('0'.repeat(32));
  let after: Place | null = { entity: first, no: first };
  while (after !== null && !batches.isStopped) {
    const from: Place = after;
    after = await batches.run(async (size): Promise<Place | null> => {
      const to = await placeAfter(db, days, from, size * LOOKED_AT);
      const rows = await goneColumns.all(
        db,
        // Without the limit in the subselect, PostgreSQL reads the whole day if it expects few matches.
        `select ${goneColumns.list} from (
           select entity_id, no, event, event_id, body from events_${days.suffix} where (entity_id, no) > ($1, $2)
           order by entity_id, no limit ${size * LOOKED_AT}) looked_at
         where event_id is not null or ${HAS_ROLE} order by entity_id, no limit ${size}`,
        [from.entity, from.no],
      );
      await forgetSome(db, days, rows);
      return rows.length === size ? (rows.at(-1) ?? null) : to;
    });
  }
}

const placeColumns = new Columns({ entity: uuid('entity_id'), no: uuid('no') });
type Place = RowOf<typeof placeColumns>;

/**
 * A batch reads up to this many events for each event that it may forget: a day may have millions of events without
 * anything to forget.
 */
const LOOKED_AT = 16;

/** The event that is `events` places further on in the day. Null if the day has fewer events. */
async function placeAfter(db: Run['db'], days: Days, { entity, no }: Place, events: number): Promise<Place | null> {
  const place = await placeColumns.get(
    db,
    `select ${placeColumns.list} from events_${days.suffix} where (entity_id, no) > ($1, $2)
     order by entity_id, no offset ${events - 1} limit 1`,
    [entity, no],
  );
  return place ?? null;
}

async function forgetSome(db: Run['db'], days: Days, rows: readonly RowOf<typeof goneColumns>[]): Promise<void> {
  const { dialect } = db;
  await db.transaction(async (queries) => {
    for (const ofEntity of Map.groupBy(rows, ({ entity }) => dialect.hexOf(entity)).values()) {
      const [first] = ofEntity;
      if (first === undefined) continue;
      const hashes = ofEntity.flatMap(({ eventId }) => (eventId === null ? [] : [eventIdKey(dialect, eventId)]));
      for (const chunk of chunks(hashes)) {
        // Only ids of this day: the same id may have been accepted again since.
        await queries.run(
          `delete from event_ids where entity_id = $1 and hash in ${valuesList(1, chunk.length, 1)} and ${within(days, 'no')}`,
          [first.entity, ...chunk] satisfies SqlValue[],
        );
      }
      await forgetWhatFor(queries, dialect, first.entity, ofEntity);
    }
  });
}
