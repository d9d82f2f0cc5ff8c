import { readNowMs } from './database/clock.ts';
import type { Database } from './database/database.ts';
import { Columns, type RowOf, text } from './database/sql.ts';
import { instanceTable } from './tables.ts';

/** The processes that run on this store. Each process renews its row every few seconds, by the database's clock. */

/** Several renewals may be late before an instance counts as gone. */
export const LIVE_MS = 30_000;

const instanceColumns = instanceTable.pick(['instanceId', 'role', 'host', 'startedAtMs', 'problem']);
export type InstanceRow = RowOf<typeof instanceColumns>;
export type InstanceReport = Pick<InstanceRow, 'instanceId' | 'role' | 'host' | 'problem'>;

/**
 * Whether an instance is live. A time far in the future does not count, because a process that died may have written it before
 * the clock was set back.
 */
const isLive = (nowMs: string) => `seen_at_ms between ${nowMs} - ${LIVE_MS} and ${nowMs} + ${LIVE_MS}`;

const idColumn = new Columns({ id: text('id') });

const DELIVERS = `role in ('all', 'delivery')`;

/**
 * Renews the row of an instance, removes the rows of dead instances, and returns the ids of the instances that deliver.
 */
export function renewInstance(db: Database, { instanceId, role, host, problem }: InstanceReport): Promise<string[]> {
  const { engine, dialect } = db;
  const { nowMs, skipLocked } = dialect;
  // Only one process serves a SQLite file, so any other row belongs to a process that was killed.
  const isGone = engine === 'sqlite' ? '1 = 1' : `not (${isLive(nowMs)})`;
  return db.transaction(async (queries) => {
    await queries.run(
      `insert into instances (id, role, host, problem, started_at_ms, seen_at_ms)
       values ($1, $2, $3, $4, ${nowMs}, ${nowMs})
       on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, problem = excluded.problem`,
      [instanceId, role, host, problem],
    );
    await queries.run(
      `delete from instances where id in (select id from instances where id <> $1 and ${isGone} ${skipLocked})`,
      [instanceId],
    );
    const rows = await idColumn.all(
      queries,
      `select ${idColumn.list} from instances where ${DELIVERS} and ${isLive(nowMs)} order by id`,
    );
    return rows.map(({ id }) => id);
  });
}

/** Removes the row of an instance that stops, so that it no longer counts. */
export async function removeInstance(db: Database, instanceId: string): Promise<void> {
  await db.transaction((queries) => queries.run('delete from instances where id = $1', [instanceId]));
}

export type LiveInstance = InstanceRow & { readonly delivers: boolean };

export async function readInstances(db: Database): Promise<LiveInstance[]> {
  const nowMs = String(await readNowMs(db, db.dialect));
  const rows = await instanceColumns.all(
    db,
    `select ${instanceColumns.list} from instances where ${isLive(nowMs)} order by started_at_ms, id`,
  );
  return rows.map((row) => ({ ...row, delivers: row.role === 'all' || row.role === 'delivery' }));
}
