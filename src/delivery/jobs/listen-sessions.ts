import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { endReaderlessSessions } from '../../store/listen/remove-ended.ts';
import { Job } from './job.ts';

const EVERY_MS = 10_000;
/**
 * No reader could be connected while the service was down, so the first run gives each reader the usual time to come
 * back.
 */
const FIRST_AFTER_MS = 60_000;

/** Ends listen sessions whose reader is gone, and removes requests that were reported. */
export function listenSessionsJob(db: Database, log: Logger): Job {
  return new Job({
    name: 'listen sessions',
    log,
    everyMs: EVERY_MS,
    firstAfterMs: FIRST_AFTER_MS,
    run: (signal) => endReaderlessSessions(db, signal),
  });
}
