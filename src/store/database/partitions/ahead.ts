import { readNowMs } from '../clock.ts';
import type { Database, Queries } from '../database.ts';
import { readInteger } from '../sql.ts';
import { dropAbandoned } from './convert.ts';
import {
  DAY_MS,
  type Days,
  dayAt,
  idAt,
  type Layout,
  PARTITION_KEYS,
  PARTITIONED_TABLES,
  PartitionError,
  type PartitionedTable,
  readLayout,
  startOfDay,
  within,
} from './layout.ts';
import { type ShortLockOptions, withShortLock } from './short-lock.ts';

/**
 * Partitions exist this many days before their day begins. Only after a week of failures do rows go into the default
 * partition.
 */
export const DAYS_AHEAD = 7;

/**
 * PostgreSQL reads the whole default partition before it attaches another one, and blocks every statement on it: about
 * a tenth of a second for this size. The default partition is larger only if days were not made in time.
 */
const MAX_DEFAULT_BYTES = 64 * 1024 ** 2;

export type AheadOptions = ShortLockOptions & {
  /** The time of the database's clock by default. */
  readonly nowMs?: number;
  /** Attaches even if that blocks other statements for longer. */
  readonly waitsForDefault?: boolean;
};

/** Makes the missing partitions of today and the next days, for all tables or for none. Returns the number of these days. */
export async function makeAhead(db: Database, options: AheadOptions = {}): Promise<number> {
  if (db.engine === 'sqlite') return 0;
  const layout = await readLayout(db);
  if (!layout.isPartitioned) {
    await dropAbandoned(db);
    return 0;
  }
  let made = 0;
  for (const day of missingDays(layout, await todayOf(db, options.nowMs))) {
    if (await isInDefault(db, day)) continue;
    if (options.waitsForDefault !== true) await requireSmallDefaults(db);
    if ((await withShortLock(db, (queries) => make(queries, day), options)) === true) made++;
  }
  return made;
}

/**
 * Counts the days after today that have partitions, without a gap. -1 if today has none, null if the tables are not
 * partitioned.
 */
export async function readDaysAhead(db: Database, nowMs?: number): Promise<number | null> {
  const layout = await readLayout(db);
  if (!layout.isPartitioned) return null;
  const todayMs = await todayOf(db, nowMs);
  const missing = missingDays(layout, todayMs)[0]?.fromMs ?? todayMs + (DAYS_AHEAD + 1) * DAY_MS;
  return (missing - todayMs) / DAY_MS - 1;
}

async function todayOf(db: Database, nowMs?: number): Promise<number> {
  return startOfDay(nowMs ?? (await readNowMs(db, db.dialect)));
}

function missingDays({ partitions }: Layout, todayMs: number): Days[] {
  const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => dayAt(todayMs + index * DAY_MS));
  return days.filter(({ fromMs }) => !partitions.some((made) => made.fromMs <= fromMs && fromMs < made.toMs));
}

/**
 * Whether the first rows of a day went into the default partition. If so, the day gets no partition, and retention deletes its
 * rows from the default.
 */
async function isInDefault(db: Database, day: Days): Promise<boolean> {
  for (const table of PARTITIONED_TABLES) {
    const ofDay = within(day, PARTITION_KEYS[table]);
    if ((await db.get(`select 1 as found from ${table}_other where ${ofDay} limit 1`)) !== undefined) return true;
  }
  return false;
}

async function requireSmallDefaults(db: Database): Promise<void> {
  for (const table of PARTITIONED_TABLES) {
    const bytes = await readInteger(db, `pg_relation_size('${table}_other')`);
    if (bytes <= MAX_DEFAULT_BYTES) continue;
    throw new PartitionError(
      `${table}_other has ${Math.ceil(bytes / 1024 ** 2)} MiB, which PostgreSQL would read while acceptance waits: ` +
        'run "paybell migrate --partition" when that is acceptable',
    );
  }
}

async function make(queries: Queries, day: Days): Promise<boolean> {
  const { partitions } = await readLayout({ engine: 'postgres', all: (sql, params) => queries.all(sql, params) });
  if (partitions.some(({ suffix }) => suffix === day.suffix)) return false;
  for (const table of PARTITIONED_TABLES) await attach(queries, table, day);
  return true;
}

/** Attaches a table, because `create table … partition of` would lock the whole table against every statement. */
async function attach(queries: Queries, table: PartitionedTable, { suffix, fromMs, toMs }: Days): Promise<void> {
  const name = `${table}_${suffix}`;
  await queries.run(`create table ${name} (like ${table} including defaults including storage including compression)`);
  await queries.run(
    `alter table ${table} attach partition ${name} for values from (${idAt(fromMs)}) to (${idAt(toMs)})`,
  );
}
