import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { continueRedelivery, findRunning } from '../../store/deliveries/redeliver.ts';
import { Job } from './job.ts';

/** How often to look for redeliveries that another instance left unfinished when it died. */
const EVERY_MS = 30_000;
/** After a failure: the store was unavailable, or another transaction held the same deliveries. */
const RETRY_AFTER_MS = 1_000;

/** Queues bulk redeliveries, a batch per transaction. Several instances may work on the same one. */
export function bulkRedeliveryJob(db: Database, log: Logger, onWork: () => void): Job {
  const run = async (signal: AbortSignal) => {
    for (;;) {
      const running = await findRunning(db);
      if (running.length === 0) return;
      for (const { entityId, redeliveryId } of running) {
        if (signal.aborted) return;
        await continueRedelivery(db, entityId, redeliveryId);
        onWork();
      }
    }
  };
  return new Job({
    name: 'bulk redelivery',
    log,
    everyMs: EVERY_MS,
    firstAfterMs: 0,
    retryAfterMs: RETRY_AFTER_MS,
    run,
  });
}
