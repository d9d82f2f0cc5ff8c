import { BoundedMap } from '../../bounded-map.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { continueRedelivery, findRunning } from '../../store/deliveries/redeliver/bulk.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

/** How often to look for redeliveries that another instance left unfinished when it died. */
const EVERY_MS = 30_000;
/** After a failure: the store was unavailable, or another transaction held the same deliveries. */
const RETRY_AFTER_MS = 1_000;
/** The wait after a failed batch doubles up to this. */
const MAX_BACKOFF_MS = 60_000;

/**
 * Queues bulk redeliveries, a batch per transaction, in turn. Several instances may work on the same one. A redelivery
 * whose batch fails waits alone: the others go on, those of its entity too.
 */
export function bulkRedeliveryJob(db: Database, log: Logger, onWork: () => void, workers?: Workers): Job {
  const failing = new FailingRedeliveries();
  const run = async (signal: AbortSignal) => {
    for (;;) {
      const waiting = failing.waiting(performance.now());
      const running = await findRunning(db, waiting);
      if (running.length === 0) return failing.keepOnly(waiting);
      for (const { entityId, redeliveryId } of running) {
        if (signal.aborted) return;
        try {
          await continueRedelivery(db, entityId, redeliveryId);
          failing.forget(redeliveryId);
          onWork();
        } catch (error) {
          const retryInMs = failing.add(redeliveryId, performance.now());
          log.warn({ err: error, entityId, redeliveryId, retryInMs }, 'a bulk redelivery failed; it goes on later');
        }
      }
    }
  };
  return new Job({
    name: 'bulk redelivery',
    log,
    workers,
    everyMs: EVERY_MS,
    firstAfterMs: 0,
    retryAfterMs: RETRY_AFTER_MS,
    leftWorkMs: () => failing.nextInMs(performance.now()),
    run,
  });
}

/** Beyond this many the oldest is tried again early, which costs no more than its batch. */
const MAX_FAILING = 200;

/** Redeliveries whose last batch failed, and when each is tried again. */
class FailingRedeliveries {
  readonly #entries = new BoundedMap<string, { backoffMs: number; untilMs: number }>(MAX_FAILING);

  add(redeliveryId: string, nowMs: number): number {
    const backoffMs = Math.min((this.#entries.get(redeliveryId)?.backoffMs ?? RETRY_AFTER_MS / 2) * 2, MAX_BACKOFF_MS);
    this.#entries.set(redeliveryId, { backoffMs, untilMs: nowMs + backoffMs });
    return backoffMs;
  }

  forget(redeliveryId: string): void {
    this.#entries.delete(redeliveryId);
  }

  /** The others were finished meanwhile, by another instance. */
  keepOnly(redeliveryIds: readonly string[]): void {
    for (const redeliveryId of this.#entries.keys()) {
      if (!redeliveryIds.includes(redeliveryId)) this.#entries.delete(redeliveryId);
    }
  }

  waiting(nowMs: number): string[] {
    return [...this.#entries].filter(([, { untilMs }]) => untilMs > nowMs).map(([redeliveryId]) => redeliveryId);
  }

  /** Infinite when none waits. */
  nextInMs(nowMs: number): number {
    return Math.max(0, Math.min(...[...this.#entries.values()].map(({ untilMs }) => untilMs)) - nowMs);
  }
}
