import type { Logger } from '../../log.ts';
import type { Registry } from '../../metrics/registry.ts';
import type { Database } from '../../store/database/database.ts';
import { makeAhead, readDaysAhead } from '../../store/database/partitions/ahead.ts';
import { Job } from './job.ts';

const HOUR_MS = 3_600_000;
const FIRST_AFTER_MS = 5_000;
const RETRY_AFTER_MS = 5 * 60_000;

export type PartitionsOptions = { db: Database; log: Logger; registry: Registry; firstAfterMs?: number };

/**
 * Makes the partitions of the next days, if the tables are partitioned. A failure does not make the instance unready:
 * without a partition for their day, rows go into the default partition. The metric and `doctor` show the problem days
 * in advance.
 */
export function partitionsJob({ db, log, registry, firstAfterMs = FIRST_AFTER_MS }: PartitionsOptions): Job {
  let daysAhead: number | null = null;
  registry.read(
    'paybell_partitions_ahead_days',
    'Days after today that have partitions; absent if the tables are not partitioned.',
    () => daysAhead,
  );
  const run = async (signal: AbortSignal) => {
    try {
      const made = await makeAhead(db, { signal });
      if (made > 0) log.info({ made }, 'made the partitions of the next days');
    } finally {
      daysAhead = await readDaysAhead(db);
    }
  };
  return new Job({
    name: 'partitions',
    log,
    everyMs: HOUR_MS,
    firstAfterMs,
    retryAfterMs: RETRY_AFTER_MS,
    jitter: 0.5,
    run,
  });
}
