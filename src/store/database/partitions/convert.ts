import { readNowMs } from '../clock.ts';
import type { Database, Queries } from '../database.ts';
import {
  DAY_MS,
  type Days,
  daysBefore,
  daysOf,
  idAt,
  PARTITION_KEYS,
  PARTITIONED_TABLES,
  PartitionError,
  type PartitionedTable,
  readLayout,
  startOfDay,
} from './layout.ts';
import { withShortLock } from './short-lock.ts';

/**
 * Makes each table the first partition of a new table with its name, with all its rows and indexes. Nothing is rewritten, and
 * instances may keep running. Constraints check the rows of the partition in advance, without blocking other statements:
 *
 *   constraints added, not valid ─► validated (reads the whole tables) ─► renamed, parents made, attached; constraints dropped
 *
 * The last step is one transaction for all tables. The constraints reject ids whose time is more than two days ahead. If a
 * conversion is abandoned, the job that makes partitions drops the constraints in time (`dropAbandoned`).
 */

/** From the start of the day: the first partitions end between two and three days from now. */
const FIRST_ENDS_AFTER_MS = 3 * DAY_MS;
/** A conversion that has not finished this long before the end of its first partition is abandoned. */
const ABANDONED_BEFORE_END_MS = DAY_MS;

const VALIDATION_DEADLINE_MS = 30 * 60_000;

/** Returns whether it converted the tables: false if they are partitioned already. */
export async function partitionTables(db: Database): Promise<boolean> {
  if (db.engine === 'sqlite') throw new PartitionError('Only PostgreSQL has partitions: set DATABASE_URL to its URL');
  if (db.dialect.isDistributed) {
    throw new PartitionError('Partitions of tables that Citus distributes have not been tried, and are not made');
  }
  if ((await readLayout(db)).isPartitioned) return false;
  await dropAbandoned(db);
  const bounds = await findBounds(db);
  const firstEndsMs = startOfDay(await readNowMs(db, db.dialect)) + FIRST_ENDS_AFTER_MS;
  const first = [...bounds.values()][0] ?? daysBefore(firstEndsMs);
  for (const table of PARTITIONED_TABLES) if (!bounds.has(table)) await addBound(db, table, first);
  for (const table of PARTITIONED_TABLES) await validate(db, table, first);
  const changed = await withShortLock(db, async (queries) => {
    await queries.run(`lock table ${PARTITIONED_TABLES.join(', ')} in access exclusive mode`);
    for (const table of PARTITIONED_TABLES) await exchange(queries, table, first);
    return true;
  });
  if (changed === null) throw new PartitionError('Another process is changing partitions: run this command again');
  return true;
}

/** The days in the constraints of an interrupted conversion. */
async function findBounds(db: Database): Promise<Map<PartitionedTable, Days>> {
  const bounds = new Map<PartitionedTable, Days>();
  for (const table of PARTITIONED_TABLES) {
    const row = await db.get<{ name: string }>(
      `select conname as name from pg_constraint where conrelid = to_regclass($1) and conname ~ '_before_[0-9]{8}$'`,
      [table],
    );
    if (row !== undefined) bounds.set(table, daysOf(row.name.slice(table.length + 1)));
  }
  return bounds;
}

/** The name of the constraint, and then of the partition. */
const nameOf = (table: PartitionedTable, { suffix }: Days) => `${table}_${suffix}`;

async function addBound(db: Database, table: PartitionedTable, first: Days): Promise<void> {
  const isWithin = `${PARTITION_KEYS[table]} < ${idAt(first.toMs)}`;
  await withShortLock(db, (queries) =>
    queries.run(`alter table ${table} add constraint ${nameOf(table, first)} check (${isWithin}) not valid`),
  );
}

function validate(db: Database, table: PartitionedTable, first: Days): Promise<number> {
  return db.transaction(
    async (queries) => {
      for (const sql of db.dialect.allowLongTransaction) await queries.run(sql);
      return queries.run(`alter table ${table} validate constraint ${nameOf(table, first)}`);
    },
    { deadlineMs: VALIDATION_DEADLINE_MS },
  );
}

type Index = { name: string; text: string; constraint_text: string | null };

/** Gives the indexes of the parent the names that migrations use. */
async function exchange(queries: Queries, table: PartitionedTable, first: Days): Promise<void> {
  const partition = nameOf(table, first);
  const indexes = await queries.all<Index>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as text, pg_get_constraintdef(k.oid) as constraint_text
     from pg_index i join pg_class c on c.oid = i.indexrelid
     left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
     where i.indrelid = to_regclass($1) order by c.relname`,
    [table],
  );
  await queries.run(`alter table ${table} rename to ${partition}`);
  for (const { name } of indexes) await queries.run(`alter index ${name} rename to ${name}_${first.suffix}`);
  await queries.run(
    `create table ${table} (like ${partition} including defaults including storage including compression)
     partition by range (${PARTITION_KEYS[table]})`,
  );
  for (const { name, text, constraint_text } of indexes) {
    await queries.run(
      constraint_text === null ? text : `alter table ${table} add constraint ${name} ${constraint_text}`,
    );
  }
  await queries.run(
    `alter table ${table} attach partition ${partition} for values from (minvalue) to (${idAt(first.toMs)})`,
  );
  await queries.run(`alter table ${partition} drop constraint ${partition}`);
  await queries.run(`create table ${table}_other partition of ${table} default`);
}

/** Drops the constraints of a conversion that was interrupted for days, before they reject new rows. */
export async function dropAbandoned(db: Database): Promise<void> {
  const nowMs = await readNowMs(db, db.dialect);
  for (const [table, bound] of await findBounds(db)) {
    if (bound.toMs - nowMs > ABANDONED_BEFORE_END_MS) continue;
    await withShortLock(db, (queries) => queries.run(`alter table ${table} drop constraint ${nameOf(table, bound)}`));
  }
}
