import type { Config } from '../../config.ts';
import { OVERDUE_AFTER_MS } from '../../store/attention/troubles.ts';
import type { Database } from '../../store/database/database.ts';
import { DAY_MS, readLayout } from '../../store/database/partitions/layout.ts';
import { Columns, integer } from '../../store/database/sql.ts';
import { emptyPages } from '../../store/database/sqlite/vacuum.ts';
import { countWaiting } from '../../store/deliveries/counts/queue-depth.ts';
import { holdsOverdue } from '../../store/deliveries/retention/retention.ts';
import { showBytes, showDuration } from '../formats/amounts.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Retention runs every hour, and removing a large backlog takes a while. */
const RETENTION_SLACK_MS = 24 * 3_600_000;
const MANY_EMPTY_BYTES = 64 * 1024 ** 2;
const MANY_DEAD_ROWS = 100_000;

/** Whether deliveries are sent as fast as events arrive. */
export async function checkBacklog(db: Database): Promise<Finding> {
  const { waiting, oldestDueAgeMs: overdueMs } = await countWaiting(db);
  if (waiting === 0) return ok('backlog', 'no deliveries are waiting');
  const found = `${waiting} waiting, ${overdueMs > 0 ? `the oldest ${showDuration(overdueMs)} overdue` : 'none overdue'}`;
  if (overdueMs <= OVERDUE_AFTER_MS) return ok('backlog', found);
  return warning(
    'backlog',
    found,
    'Begin with the failing endpoints of the entities below. If none fails, check that an instance with ROLE all or delivery is running, then raise DELIVERY_CONCURRENCY or DESTINATION_CONCURRENCY.',
  );
}

/** Whether events and deliveries older than RETENTION are removed. */
export async function checkRetention(db: Database, { RETENTION }: Config): Promise<Finding> {
  // Retention drops a partition only when all rows of its day are old.
  const slackMs = (await readLayout(db)).isPartitioned ? RETENTION_SLACK_MS + DAY_MS : RETENTION_SLACK_MS;
  if (!(await holdsOverdue(db, RETENTION + slackMs))) {
    return ok('retention', `nothing is kept much longer than RETENTION (${showDuration(RETENTION)})`);
  }
  return warning(
    'retention',
    `events are kept more than a day longer than RETENTION (${showDuration(RETENTION)})`,
    `Check that an instance with ROLE all or delivery is running, or remove them now: ${PAYBELL} prune`,
  );
}

/** Whether freed space is returned to the disk or reused. */
export async function checkSpace(db: Database): Promise<Finding> {
  return db.engine === 'sqlite' ? checkEmptyPages(db) : checkDeadRows(db);
}

async function checkEmptyPages(db: Database): Promise<Finding> {
  const size = await db.get<{ page_size: number }>('pragma page_size');
  const mode = await db.get<{ auto_vacuum: number }>('pragma auto_vacuum');
  const emptyBytes = (await emptyPages(db)) * (size?.page_size ?? 0);
  const found = `${showBytes(emptyBytes)} of the file are unused`;
  if (emptyBytes < MANY_EMPTY_BYTES) return ok('space', found);
  if (mode?.auto_vacuum === 2) return warning('space', found, `Return it to the disk: ${PAYBELL} prune`);
  return warning(
    'space',
    found,
    `This file was not created by Paybell and cannot shrink: ${PAYBELL} backup creates a copy that can.`,
  );
}

const ROWS = new Columns({
  dead: integer('coalesce(sum(n_dead_tup), 0)'),
  live: integer('coalesce(sum(n_live_tup), 0)'),
});

async function checkDeadRows(db: Database): Promise<Finding> {
  const rows = await ROWS.get(
    db,
    `select ${ROWS.list} from pg_stat_user_tables where schemaname = current_schema
     and relname ~ '^(deliveries|attempts|events)(_(before_)?[0-9]{8}|_other)?$'`,
  );
  const { dead = 0, live = 0 } = rows ?? {};
  const found = `${dead} dead rows, ${live} live ones`;
  if (dead < MANY_DEAD_ROWS || dead < live) return ok('space', found);
  const fix = 'Autovacuum is behind: check that it is on, and lower autovacuum_vacuum_scale_factor for these tables.';
  return warning('space', found, fix);
}
