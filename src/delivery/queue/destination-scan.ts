import type { DestinationKey } from '../../domain/post-url.ts';
import type { Database } from '../../store/database/database.ts';
import { FIRST_HEAD, findDueHeads, type HeadCursor } from '../../store/deliveries/claim/due-heads.ts';

/** Index seeks in one read: no claim waits longer than that for the scan. */
const WINDOW = 256;

/** The interval of scans that nothing asked for: the fallback for a wake-up that got lost. */
const SCAN_EVERY_MS = 1_000;

/** After a scan of several windows, so many times as long nothing is read: a tenth of the time is enough. */
const REST_FACTOR = 9;

type Round = { after: HeadCursor; windows: number; spentMs: number };

/**
 * Finds destinations where something is due that this process was not told of: retries, leases that ran out, and what
 * other instances accepted. It reads the heads whose time has come, a window at a time, and no delivery waits for it.
 */
export class DestinationScan {
  #round: Round | null = null;
  #isComplete = false;
  /** By the monotonic clock, like all times here. */
  #wantedAtMs = 0;
  #restUntilMs = 0;

  constructor(
    private readonly db: Database,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Whether every head that was due at the start has been read once: before that, none is known to have nothing waiting. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Something will be due in this time, at a destination that is not known. */
  schedule(inMs: number): void {
    this.#wantedAtMs = Math.min(this.#wantedAtMs, this.nowMs() + inMs);
  }

  /** Until `next` reads anything. */
  get nextInMs(): number {
    if (this.#round !== null) return 0;
    return Math.max(0, Math.max(this.#wantedAtMs, this.#restUntilMs) - this.nowMs());
  }

  /** Reads the next window, if it is time for it, and returns the destinations where something is due. */
  async next(): Promise<DestinationKey[]> {
    const startedAtMs = this.nowMs();
    if (this.#round === null) {
      if (this.nextInMs > 0) return [];
      this.#round = { after: FIRST_HEAD, windows: 0, spentMs: 0 };
      // Set now, so that what is scheduled during this scan causes another: this one may have passed it already.
      this.#wantedAtMs = startedAtMs + SCAN_EVERY_MS;
    }
    const { due, nextInMs } = await findDueHeads(this.db, this.#round.after, WINDOW);
    if (nextInMs !== null) this.schedule(nextInMs);
    this.#round.windows += 1;
    this.#round.spentMs += this.nowMs() - startedAtMs;
    const last = due.at(-1);
    if (due.length === WINDOW && last !== undefined) this.#round.after = last.cursor;
    else this.#endRound(this.#round);
    return due.map(({ destination }) => destination);
  }

  /** A scan of one window costs no more than the claim that follows it, so it needs no rest. */
  #endRound({ windows, spentMs }: Round): void {
    this.#round = null;
    this.#isComplete = true;
    this.#restUntilMs = windows === 1 ? 0 : this.nowMs() + spentMs * REST_FACTOR;
  }
}
