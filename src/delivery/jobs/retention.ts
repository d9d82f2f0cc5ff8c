import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { PacedBatches, REST } from '../../store/database/paced-batches.ts';
import { giveBackSpace } from '../../store/database/sqlite/vacuum.ts';
import { prune } from '../../store/deliveries/retention.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Once the rush of a start is over. */
const FIRST_AFTER_MS = 20_000;
/** Instances that started together do not all set to work together. */
const JITTER_SHARE = 0.5;

export type RetentionJobParts = {
  db: Database;
  log: Logger;
  retentionMs: number;
  /** Uniform in [0, 1), like Math.random. */
  random?: () => number;
  firstAfterMs?: number;
};

/** Removes what is past its retention, shortly after the start and then every hour, for as long as the process runs. */
export class RetentionJob {
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RetentionJobParts) {}

  start(): void {
    this.#scheduleIn(this.parts.firstAfterMs ?? FIRST_AFTER_MS);
  }

  /** Resolves when the part that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #scheduleIn(ms: number): void {
    const { random = Math.random } = this.parts;
    const spreadMs = ms * (1 - JITTER_SHARE / 2 + JITTER_SHARE * random());
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, spreadMs);
  }

  async #run(): Promise<void> {
    const { db, log, retentionMs } = this.parts;
    try {
      const pace = new PacedBatches(db.engine, REST.background, this.#stopping.signal);
      const pruned = await prune(db, { olderThanMs: retentionMs, pace });
      await giveBackSpace(db, pace);
      if (Object.values(pruned).some((rows) => rows > 0)) log.info({ pruned }, 'removed what is past its retention');
    } catch (error) {
      log.warn({ err: error }, 'could not remove what is past its retention; the next round will');
    }
    if (!this.#stopping.signal.aborted) this.#scheduleIn(roundMs(retentionMs));
  }
}

/** Hourly; more often where so little is kept that an hour would be most of it. */
function roundMs(retentionMs: number): number {
  return Math.min(Math.max(retentionMs / 2, MINUTE_MS), HOUR_MS);
}
