import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { PAUSE, PacedBatches } from '../../store/database/paced-batches.ts';
import { shrinkFile } from '../../store/database/sqlite/vacuum.ts';
import { prune } from '../../store/deliveries/retention/retention.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** The first seconds after a start belong to the deliveries that waited for the start. */
const FIRST_AFTER_MS = 20_000;
/** Short, so that the instance is ready soon after an outage of the database. */
const RETRY_AFTER_MS = 15_000;

export type RetentionOptions = {
  db: Database;
  log: Logger;
  retentionMs: number;
  firstAfterMs?: number;
  workers?: Workers;
};

/** Deletes rows older than the retention period, in batches that leave most of the time to other work. */
export function retentionJob({ db, log, retentionMs, firstAfterMs = FIRST_AFTER_MS, workers }: RetentionOptions): Job {
  const run = async (signal: AbortSignal) => {
    const batches = new PacedBatches(db.engine, PAUSE.background, signal);
    const pruned = await prune(db, { olderThanMs: retentionMs, batches, keepsDays: true });
    await shrinkFile(db, batches);
    if (Object.values(pruned).some((rows) => rows > 0)) log.info({ pruned }, 'deleted rows past the retention period');
  };
  return new Job({
    name: 'retention',
    log,
    workers,
    everyMs: intervalMs(retentionMs),
    firstAfterMs,
    retryAfterMs: RETRY_AFTER_MS,
    jitter: 0.5,
    run,
  });
}

/** Hourly, or more often if the retention period itself is short. */
function intervalMs(retentionMs: number): number {
  return Math.min(Math.max(retentionMs / 2, MINUTE_MS), HOUR_MS);
}
