import { firstHexAt } from '../../../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger } from '../../../database/database.ts';
import { DAY_MS, type Days, within } from '../../../database/partitions/layout.ts';
import { isAlone } from '../../../database/partitions/short-lock.ts';
import { readInteger } from '../../../database/sql.ts';
import { COMPLETED, ENTITY_BUCKET_MS, STORED_BYTES, WEBHOOK_BUCKET_MS, WHOLE_ENTITY } from '../../counts/counts.ts';
import { STATUS_CODES } from '../../states.ts';
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

/** Deliveries and attempts of a day, which are removed together. */

/**
 * Detaches the day from both tables. Deliveries of events that may still be retracted move to the default partition with their
 * attempts. So do the attempts of deliveries that are in the queue. Only completions and redeliveries of the day's deliveries
 * wait for this transaction.
 */
export function detachRecords({ db }: Run, days: Days): Promise<Detached> {
  const deliveries = `deliveries_${days.suffix}`;
  const attempts = `attempts_${days.suffix}`;
  return detach(db, async (queries) => {
    if (!(await isAttached(queries, deliveries)) || !(await isAttached(queries, attempts))) return 'by another';
    await queries.run(`lock table ${deliveries}, ${attempts} in share row exclusive mode`);
    if ((await nameRetractable(queries, db.dialect, days)) > MAX_NEEDED) return 'too much is needed';
    await queries.run(
      `create temp table kept on commit drop as select d.entity_id, d.id
       from retractable r join ${deliveries} d on d.entity_id = r.entity_id and d.id > r.no and d.id <= r.last
       limit ${MAX_NEEDED + 1}`,
    );
    await queries.run(
      `create temp table needed on commit drop as select a.entity_id, a.delivery_id, a.attempt
       from (select entity_id, id from queue where ${within(days, 'id')} union all select entity_id, id from kept) n
       join ${attempts} a on a.entity_id = n.entity_id and a.delivery_id = n.id limit ${MAX_NEEDED + 1}`,
    );
    for (const table of ['kept', 'needed']) {
      if ((await readInteger(queries, 'count(*)', `from ${table}`)) > MAX_NEEDED) return 'too much is needed';
    }
    await queries.run(`alter table deliveries detach partition ${deliveries}`);
    await queries.run(`alter table attempts detach partition ${attempts}`);
    await queries.run(
      `with moved as (delete from ${deliveries} d using kept k where d.entity_id = k.entity_id and d.id = k.id
         returning d.*)
       insert into deliveries select * from moved`,
    );
    await queries.run(
      `with moved as (delete from ${attempts} a using needed n where a.entity_id = n.entity_id
         and a.delivery_id = n.delivery_id and a.attempt = n.attempt returning a.*)
       insert into attempts select * from moved`,
    );
    return 'detached';
  });
}

/**
 * Subtracts a detached day from the counters and drops it. Nothing writes to the day now, so that its sums are exact.
 * The sums go into a separate shard, so that no other transaction waits for a counter.
 */
export async function dropRecords({ db, pruned }: Run, days: Days): Promise<void> {
  const deliveries = `deliveries_${days.suffix}`;
  const attempts = `attempts_${days.suffix}`;
  const gone = await db.transaction(
    async (queries) => {
      for (const sql of db.dialect.allowLongTransaction) await queries.run(sql);
      if (!(await isAlone(queries)) || !(await exists(queries, deliveries))) return null;
      await queries.run(
        `create temp table gone on commit drop as
         select entity_id, webhook_no, ${entityBucket(db.dialect, days)} as entity_bucket,
           ${webhookBucket(db.dialect, days)} as webhook_bucket, status, count(*) as total, sum(attempts) as attempts,
           sum(${STORED_BYTES.record}) as bytes
         from ${deliveries} group by 1, 2, 3, 4, 5`,
      );
      await takeFromCounts(queries, `${WHOLE_ENTITY}`, 'entity_bucket');
      await takeFromCounts(queries, 'webhook_no', 'webhook_bucket');
      await addStored(queries, '-sum(bytes)', 'from gone');
      if (await exists(queries, attempts)) {
        await addStored(queries, `-sum(${STORED_BYTES.attempt})`, `from ${attempts}`);
        await queries.run(`drop table ${attempts}`);
      }
      await queries.run(`drop table ${deliveries}`);
      return queries.get<Record<'total' | 'attempts', SqlInteger | null>>(
        'select sum(total) as total, sum(attempts) as attempts from gone',
      );
    },
    { deadlineMs: DROP_DEADLINE_MS },
  );
  pruned.deliveries += Number(gone?.total ?? 0);
  pruned.attempts += Number(gone?.attempts ?? 0);
}

/** Subtracts the day from the counters of deliveries, whose buckets follow the time in the ids. */
function takeFromCounts(queries: Queries, webhookNo: string, bucket: string): Promise<number> {
  const totals = COMPLETED.map((status) => `-coalesce(sum(total) filter (where status = ${STATUS_CODES[status]}), 0)`);
  return queries.run(
    `insert into delivery_counts (entity_id, webhook_no, bucket, shard, created, ${COMPLETED.join(', ')})
     select entity_id, ${webhookNo}, ${bucket}, ${DROPPED_SHARD}, -sum(total), ${totals.join(', ')}
     from gone group by entity_id, ${webhookNo === 'webhook_no' ? 'webhook_no, ' : ''}${bucket}
     on conflict (entity_id, webhook_no, bucket, shard) do update set created = delivery_counts.created + excluded.created,
       ${COMPLETED.map((name) => `${name} = delivery_counts.${name} + excluded.${name}`).join(', ')}`,
  );
}

/** The bucket of an id, found by comparing ids. Computing with the digits of each id takes ten times as long. */
function entityBucket({ timeOfUuid }: Dialect, { fromMs, toMs }: Days): string {
  if (toMs - fromMs !== DAY_MS) return `${timeOfUuid('id')} / ${ENTITY_BUCKET_MS}`;
  const starts = Array.from({ length: DAY_MS / ENTITY_BUCKET_MS }, (_, index) =>
    firstHexAt(fromMs + index * ENTITY_BUCKET_MS),
  );
  return `${fromMs / ENTITY_BUCKET_MS - 1} + width_bucket(id, cast('{${starts.join(',')}}' as uuid[]))`;
}

function webhookBucket({ timeOfUuid }: Dialect, { fromMs, toMs }: Days): string {
  return toMs - fromMs === DAY_MS ? `${fromMs / WEBHOOK_BUCKET_MS}` : `${timeOfUuid('id')} / ${WEBHOOK_BUCKET_MS}`;
}
