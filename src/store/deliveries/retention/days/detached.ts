import { lastDeliveryHex } from '../../../../domain/ids.ts';
import type { Database, Dialect, Queries, SqlUuid } from '../../../database/database.ts';
import { type Days, within } from '../../../database/partitions/layout.ts';
import { isLockTimeout, withShortLock } from '../../../database/partitions/short-lock.ts';
import { Columns, chunks, entityKey, uuid, valuesList } from '../../../database/sql.ts';
import { readRetractable } from '../../../events/retraction/retractable.ts';
import { WHOLE_ENTITY } from '../../counts/counts.ts';

/** Shared parts of the steps for deliveries and for events. */

export type Detached = 'detached' | 'by another' | 'locked' | 'too much is needed';

/** At most this many rows move to the default partition while acceptance waits: a few milliseconds. */
export const MAX_NEEDED = 1_000;

/** The shard of the counters for dropped days. The processes use the shards from 0 to 15. */
export const DROPPED_SHARD = 16;

/** Long enough for sums over a day with many millions of rows. */
export const DROP_DEADLINE_MS = 30 * 60_000;

/** If the lock times out, this day and the later ones are left for the next run. */
export async function detach(db: Database, work: (queries: Queries) => Promise<Detached>): Promise<Detached> {
  try {
    return (await withShortLock(db, work)) ?? 'by another';
  } catch (error) {
    if (isLockTimeout(error)) return 'locked';
    throw error;
  }
}

export async function exists(queries: Pick<Queries, 'get'>, table: string): Promise<boolean> {
  const row = await queries.get<{ name: string | null }>('select cast(to_regclass($1) as text) as name', [table]);
  return row?.name != null;
}

export async function isAttached(queries: Queries, name: string): Promise<boolean> {
  const sql = 'select 1 as found from pg_class where oid = to_regclass($1) and relispartition';
  return (await queries.get(sql, [name])) !== undefined;
}

/** Adds to the stored bytes of each entity in these rows, and to its number of events without deliveries. */
export function addStored(queries: Queries, bytes: string, from: string, undelivered = '0'): Promise<number> {
  return queries.run(
    `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes, undelivered)
     select entity_id, ${WHOLE_ENTITY}, ${DROPPED_SHARD}, 0, 0, ${bytes}, ${undelivered} ${from} group by entity_id
     on conflict (entity_id, webhook_no, shard) do update set
       stored_bytes = queue_counts.stored_bytes + excluded.stored_bytes,
       undelivered = queue_counts.undelivered + excluded.undelivered`,
  );
}

const subjectColumns = new Columns({ entity: uuid('entity_id'), no: uuid('subject') });

/**
 * Makes the temporary table `retractable` of events that may still be retracted. Returns their number, which is above
 * `MAX_NEEDED` if there are too many.
 */
export async function nameRetractable(queries: Queries, dialect: Dialect, days: Days): Promise<number> {
  const payments = await readRetractable(queries, (column) => within(days, column), MAX_NEEDED + 1);
  await queries.run('create temp table retractable (entity_id uuid, no uuid, last uuid) on commit drop');
  const rows = payments.map(({ entityId, no }) => ({ entity: entityKey(dialect, entityId), no }));
  rows.push(
    ...(await subjectColumns.all(
      queries,
      `select ${subjectColumns.list} from tasks where kind = 'retract' and ${within(days, 'subject')} limit ${MAX_NEEDED + 1}`,
    )),
  );
  for (const chunk of chunks(rows)) {
    const sql = `insert into retractable (entity_id, no, last) values ${valuesList(chunk.length, 3, 0, ['uuid', 'uuid', 'uuid'])}
      on conflict do nothing`;
    const lastOf = (no: SqlUuid) => dialect.bindUuid(lastDeliveryHex(dialect.hexOf(no)));
    await queries.run(
      sql,
      chunk.flatMap(({ entity, no }) => [entity, no, lastOf(no)]),
    );
  }
  return rows.length;
}
