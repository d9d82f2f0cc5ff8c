import { firstHexAt } from '../../../domain/ids.ts';
import type { Database, Queries, SqlInteger } from '../database.ts';

/**
 * Partitions by day, on PostgreSQL, for the tables that grow with every event. Ids begin with their time, so a range of ids is a
 * day, and the primary keys stay as they are. `paybell migrate --partition` converts a store. The catalogue of PostgreSQL shows
 * whether a store is converted, and which partitions exist.
 *
 *                    made by makeAhead, a week before its day
 *                                      │
 *      before_20261119      20261119 … 20261126          no day yet
 *   ┌──────────────────┐   ┌──────────────────────┐   ┌─────────────┐
 *   │ what the table   │   │ ahead, then current, │   │ other, the  │
 *   │ had when it was  │   │ then old             │   │ default     │
 *   │ converted        │   │                      │   │ partition   │
 *   └────────┬─────────┘   └──────────┬───────────┘   └─────────────┘
 *            └──── past RETENTION ────┤                 ▲ ids of days that were dropped (a late completion), and of days
 *                                     ▼                 │ that were not made in time; retention empties it by batches
 *                     detached: still a table, read by no statement of the service, written by none ── what is needed still ──┘
 *                                     │
 *                     its counters, ids and subjects are forgotten, then it is dropped
 *
 * | state    | in the catalogue                      | leaves it by                                                      |
 * |----------|---------------------------------------|-------------------------------------------------------------------|
 * | ahead    | attached, its day is to come          | its day begins                                                    |
 * | current  | attached, takes new rows              | its day ends                                                      |
 * | old      | attached, takes late completions      | detachRecords, detachEvents (store/deliveries/retention/days)     |
 * | detached | a table of this name, not attached    | dropRecords, dropEvents: counts change in the same transaction    |
 *
 * Every step is one transaction, and its state is only in the catalogue. After an interruption, any instance continues.
 */

/** The column whose ranges are the partitions. */
export const PARTITION_KEYS = { events: 'no', deliveries: 'id', attempts: 'delivery_id' } as const;

export type PartitionedTable = keyof typeof PARTITION_KEYS;

export const PARTITIONED_TABLES = Object.keys(PARTITION_KEYS) as PartitionedTable[];

export const DAY_MS = 86_400_000;

/** A range of days. The partitions of the three tables have the same ranges. */
export type Days = {
  /** Ends the names of its partitions: `20261119`, or `before_20261119`. */
  readonly suffix: string;
  readonly fromMs: number;
  readonly toMs: number;
};

export type Partition = Days & { readonly table: PartitionedTable; readonly isAttached: boolean };

export type Layout = {
  /** Whether all tables are partitioned. They are converted together. */
  readonly isPartitioned: boolean;
  /** All partitions except the default ones, the oldest first. */
  readonly partitions: readonly Partition[];
};

const NONE: Layout = { isPartitioned: false, partitions: [] };

export async function readLayout(db: Pick<Database, 'engine'> & Pick<Queries, 'all'>): Promise<Layout> {
  if (db.engine === 'sqlite') return NONE;
  const names = PARTITIONED_TABLES.join('|');
  const rows = await db.all<{ name: string; is_parent: SqlInteger; is_attached: SqlInteger }>(
    `select relname as name, case when relkind = 'p' then 1 else 0 end as is_parent,
       case when relispartition then 1 else 0 end as is_attached
     from pg_class where relnamespace = current_schema::regnamespace and relkind in ('r', 'p')
       and relname ~ '^(${names})(_(before_)?[0-9]{8})?$'`,
  );
  const parents: string[] = [];
  const partitions: Partition[] = [];
  for (const { name, is_parent, is_attached } of rows) {
    const [table, ...rest] = name.split('_');
    if (!isPartitionedTable(table)) continue;
    if (rest.length > 0) {
      partitions.push({ table, ...daysOf(rest.join('_')), isAttached: Number(is_attached) === 1 });
    } else if (Number(is_parent) === 1) parents.push(table);
  }
  partitions.sort((a, b) => a.toMs - b.toMs);
  return { isPartitioned: parents.length === PARTITIONED_TABLES.length, partitions };
}

function isPartitionedTable(name: string | undefined): name is PartitionedTable {
  return name !== undefined && name in PARTITION_KEYS;
}

/** The day that begins at this time. */
export function dayAt(fromMs: number): Days {
  return { suffix: dateOf(fromMs), fromMs, toMs: fromMs + DAY_MS };
}

/** All days before this time. */
export function daysBefore(toMs: number): Days {
  return { suffix: `before_${dateOf(toMs)}`, fromMs: 0, toMs };
}

export function daysOf(suffix: string): Days {
  const date = suffix.slice(-8);
  const ms = Date.UTC(Number(date.slice(0, 4)), Number(date.slice(4, 6)) - 1, Number(date.slice(6)));
  return suffix.startsWith('before_') ? daysBefore(ms) : dayAt(ms);
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}

export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** The first id of a time, as a literal. */
export function idAt(ms: number): string {
  return `'${firstHexAt(ms)}'`;
}

/** The condition that an id belongs to these days. */
export function within({ fromMs, toMs }: Days, column: string): string {
  return `${column} >= ${idAt(fromMs)} and ${column} < ${idAt(toMs)}`;
}

/** The reason why the tables cannot be partitioned, and what to do about it. */
export class PartitionError extends Error {
  override readonly name = 'PartitionError';
}
