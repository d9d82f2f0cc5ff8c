import type { Config } from '../../config.ts';
import type { Database, SqlInteger } from '../../store/database/database.ts';
import { emptyPages } from '../../store/database/sqlite/vacuum.ts';
import { databaseTimeMs, holdsOverdue } from '../../store/deliveries/retention.ts';
import { showBytes, showDuration } from '../formats/amounts.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, ok, warning } from './finding.ts';

/** A destination that backs off is tried again within minutes; longer means that nobody comes to it. */
const LATE_MS = 5 * 60_000;
/** Removed by the hour, and a long backlog of it takes its time. */
const OVERDUE_SLACK_MS = 24 * 3_600_000;
const MANY_EMPTY_BYTES = 64 * 1024 ** 2;
const MANY_DEAD_ROWS = 100_000;

/** Whether deliveries leave as fast as they come. */
export async function checkBacklog(db: Database): Promise<Finding> {
  // Along the index of what waits, whose length is that of the backlog alone.
  const row = await db.get<{ waiting: SqlInteger; oldest_ms: SqlInteger | null }>(
    'select count(*) as waiting, min(due_ms) as oldest_ms from deliveries where due_ms is not null',
  );
  const waiting = Number(row?.waiting ?? 0);
  if (waiting === 0) return ok('backlog', 'nothing waits');
  const lateMs = (await databaseTimeMs(db)) - Number(row?.oldest_ms ?? 0);
  const found = `${waiting} deliveries wait, the oldest due ${lateMs > 0 ? `for ${showDuration(lateMs)}` : 'later'}`;
  if (lateMs < LATE_MS) return ok('backlog', found);
  return warning(
    'backlog',
    found,
    'See that an instance with ROLE all or delivery runs; then raise DELIVERY_CONCURRENCY or DESTINATION_CONCURRENCY.',
  );
}

/** Whether what is past its retention goes. */
export async function checkRetention(db: Database, { RETENTION }: Config): Promise<Finding> {
  if (!(await holdsOverdue(db, RETENTION + OVERDUE_SLACK_MS))) {
    return ok('retention', `nothing settled is kept much longer than RETENTION (${showDuration(RETENTION)})`);
  }
  return warning(
    'retention',
    `events are kept for more than a day beyond RETENTION (${showDuration(RETENTION)})`,
    `See that an instance with ROLE all or delivery runs, or remove them now: ${PAYBELL} prune`,
  );
}

/** Whether what was freed is given back or used again. */
export async function checkSpace(db: Database): Promise<Finding> {
  return db.engine === 'sqlite' ? checkEmptyPages(db) : checkDeadRows(db);
}

async function checkEmptyPages(db: Database): Promise<Finding> {
  const size = await db.get<{ page_size: number }>('pragma page_size');
  const mode = await db.get<{ auto_vacuum: number }>('pragma auto_vacuum');
  const emptyBytes = (await emptyPages(db)) * (size?.page_size ?? 0);
  const found = `${showBytes(emptyBytes)} of the file hold nothing`;
  if (emptyBytes < MANY_EMPTY_BYTES) return ok('space', found);
  if (mode?.auto_vacuum === 2) return warning('space', found, `Give it back to the disk: ${PAYBELL} prune`);
  return warning(
    'space',
    found,
    `This file was not made by Paybell and cannot shrink: ${PAYBELL} backup makes one that can.`,
  );
}

async function checkDeadRows(db: Database): Promise<Finding> {
  const row = await db.get<{ dead: SqlInteger; live: SqlInteger }>(
    `select coalesce(sum(n_dead_tup), 0) as dead, coalesce(sum(n_live_tup), 0) as live
     from pg_stat_user_tables where schemaname = current_schema
     and relname in ('deliveries', 'attempts', 'events')`,
  );
  const dead = Number(row?.dead ?? 0);
  const found = `${dead} dead rows beside ${Number(row?.live ?? 0)} live ones`;
  if (dead < MANY_DEAD_ROWS || dead < Number(row?.live ?? 0)) return ok('space', found);
  const mend = 'Autovacuum is behind: see that it is on, and lower autovacuum_vacuum_scale_factor of these tables.';
  return warning('space', found, mend);
}
