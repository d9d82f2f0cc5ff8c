import type { Logger } from '../../log.ts';
import { readNowMs } from '../../store/database/clock.ts';
import type { Database } from '../../store/database/database.ts';
import { bringForward, type Occasion, type Schedule } from '../../store/deliveries/clock-step.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

const EVERY_MS = 1_000;
/** Ordinary clock adjustments are smaller than this, and delay no delivery noticeably. */
const TOLERANCE_MS = 2_000;

export type ClockStepOptions = {
  db: Database;
  log: Logger;
  schedule: Schedule;
  /** Called when deliveries have become due. */
  onWork: () => void;
  monotonicMs?: () => number;
};

/**
 * Detects that the database's clock was set back, and brings forward the due times that would otherwise be reached only
 * when the clock has caught up. The first check also covers a step that happened while no instance was running. The auditor
 * repairs the cases that this misses: two steps between two checks, and a transaction that committed after a step.
 */
export class ClockStepDetector {
  readonly #monotonicMs: () => number;
  /** A lower bound of how far the database's clock is ahead of the monotonic clock. */
  #aheadMs = Number.NEGATIVE_INFINITY;
  #occasion: Occasion | null = 'start';

  constructor(private readonly options: ClockStepOptions) {
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  /** Takes a time that a statement read from the database's clock, since a step may come before the next check. */
  noteDatabaseTime(nowMs: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, nowMs - this.#monotonicMs());
  }

  async check(): Promise<void> {
    const { db, log, schedule, onWork } = this.options;
    const beforeMs = this.#monotonicMs();
    const nowMs = await readNowMs(db, db.dialect);
    // The time before the query gives the upper bound, and the time after it the lower bound. So a slow response of the
    // database is never taken for a step.
    if (nowMs - beforeMs < this.#aheadMs - TOLERANCE_MS) this.#occasion = 'step';
    this.#aheadMs = nowMs - this.#monotonicMs();
    if (this.#occasion === null) return;
    const deliveries = await bringForward(db, schedule, this.#occasion);
    this.#occasion = null;
    if (deliveries === 0) return;
    log.warn({ deliveries }, 'the clock of the database was set back; the affected deliveries were brought forward');
    onWork();
  }
}

export function clockStepJob(detector: ClockStepDetector, log: Logger, workers?: Workers): Job {
  return new Job({ name: 'clock step', log, workers, everyMs: EVERY_MS, firstAfterMs: 0, run: () => detector.check() });
}
