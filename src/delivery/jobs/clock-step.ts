import type { Logger } from '../../log.ts';
import type { Database, SqlInteger } from '../../store/database/database.ts';
import { bringForward, type Patience, type Which } from '../../store/deliveries/clock-step.ts';

const LOOK_EVERY_MS = 1_000;
/** Less than this is what clocks do when they are kept right, and makes nothing late that anybody would notice. */
const TOLERANCE_MS = 2_000;

export type ClockStepJobParts = {
  db: Database;
  log: Logger;
  patience: Patience;
  /** Something may be due now that was not before. */
  onWork: () => void;
  /** Never set by anybody, unlike the clock of the day. */
  monotonicMs?: () => number;
};

/**
 * Notices when the database's clock is set back, and then lets nothing wait for the time to come round again. Looks once
 * at the start too: it may have been set while nobody was here to see it.
 */
export class ClockStepJob {
  /** How far the database's clock was ahead of the monotonic one, at the least. */
  #aheadMs = Number.NEGATIVE_INFINITY;
  #owed: Which | null = 'first attempts';
  #timer: Timer | undefined;
  #stopping = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(private readonly parts: ClockStepJobParts) {}

  start(): void {
    this.#looking = this.#lookOn();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** What it showed to somebody else just now: it may be set back before the next look. */
  saw(nowMs: number): void {
    const { monotonicMs = () => performance.now() } = this.parts;
    this.#aheadMs = Math.max(this.#aheadMs, nowMs - monotonicMs());
  }

  async look(): Promise<void> {
    const { db, log, patience, onWork, monotonicMs = () => performance.now() } = this.parts;
    const beforeMs = monotonicMs();
    const row = await db.get<{ now_ms: SqlInteger }>(`select ${db.dialect.nowMs} as now_ms`);
    const nowMs = Number(row?.now_ms);
    // The least and the most that it can be ahead, however long the answer took: a slow store is no step of its clock.
    if (nowMs - beforeMs < this.#aheadMs - TOLERANCE_MS) this.#owed = 'all';
    this.#aheadMs = nowMs - monotonicMs();
    if (this.#owed === null) return;
    const brought = await bringForward(db, patience, this.#owed);
    this.#owed = null;
    if (brought === 0) return;
    log.warn({ deliveries: brought }, 'the clock of the store was set back; what waited for it is sent in its turn');
    onWork();
  }

  async #lookOn(): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      this.parts.log.warn({ err: error }, 'could not compare the clocks; tried again in a moment');
    }
    if (this.#stopping) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookOn();
    }, LOOK_EVERY_MS);
  }
}
