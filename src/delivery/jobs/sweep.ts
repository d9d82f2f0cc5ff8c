import type { DestinationKey } from '../../domain/post-url.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { type DeletedHead, findDeletedHeads, sweepDeleted } from '../../store/deliveries/sweep.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

/** Finds what a deletion left when its instance died; a deletion in this process wakes the job at once. */
const EVERY_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

/** Records the deliveries of deleted webhooks as cancelled, a bounded step per transaction. */
export function sweepJob(
  db: Database,
  log: Logger,
  onDue: (destinations: Iterable<DestinationKey>) => void,
  workers?: Workers,
): Job {
  const sweep = async (head: DeletedHead, signal: AbortSignal) => {
    try {
      while (!signal.aborted && (await sweepDeleted(db, head, onDue)));
    } catch (error) {
      // The other heads go on. When the store is unavailable, so is the search for the next.
      log.warn({ err: error, webhookNo: head.webhookNo }, 'the sweep of a deleted webhook failed; it goes on later');
    }
  };
  const run = async (signal: AbortSignal) => {
    let after: DeletedHead | null = null;
    for (;;) {
      const { heads, isLast } = await findDeletedHeads(db, after);
      for (const head of heads) {
        await sweep(head, signal);
        if (signal.aborted) return;
      }
      if (isLast) return;
      after = heads.at(-1) ?? null;
    }
  };
  return new Job({
    name: 'sweep',
    log,
    workers,
    everyMs: EVERY_MS,
    firstAfterMs: 0,
    retryAfterMs: RETRY_AFTER_MS,
    run,
  });
}
