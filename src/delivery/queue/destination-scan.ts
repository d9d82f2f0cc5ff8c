import type { DestinationKey } from '../../domain/post-url.ts';
import type { Database } from '../../store/database/database.ts';
import { FIRST_HEAD, findDueHeads, type HeadCursor } from '../../store/deliveries/claim/due-heads.ts';

/** Index seeks in one read of the scan. A claim waits for one read at most. */
const WINDOW = 256;

/** The interval of scans without a wake-up, because a wake-up can get lost. */
const SCAN_EVERY_MS = 1_000;

/**
 * After a scan of several windows, the scanner pauses for nine times as long, so that scans take a tenth of the time.
 */
const REST_FACTOR = 9;

type Round = { after: HeadCursor; windows: number; spentMs: number };

/**
 * Finds destinations with due deliveries that no event announced to this process: retries, expired leases, and events
 * that other instances accepted. It reads the due heads, a window at a time, and no delivery waits for it.
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

  /**
   * Whether every head that was due at the start has been read once. Before that, any destination may have deliveries that
   * wait.
   */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Notes that a delivery at an unknown destination will be due in this time. */
  schedule(inMs: number): void {
    this.#wantedAtMs = Math.min(this.#wantedAtMs, this.nowMs() + inMs);
  }

  /** The time until `next` reads a window; 0 if it would read one now. */
  get nextInMs(): number {
    if (this.#round !== null) return 0;
    return Math.max(0, Math.max(this.#wantedAtMs, this.#restUntilMs) - this.nowMs());
  }

  /** Reads the next window if that is due, and returns the destinations with due deliveries. */
  async next(): Promise<DestinationKey[]> {
    const startedAtMs = this.nowMs();
    if (this.#round === null) {
      if (this.nextInMs > 0) return [];
      this.#round = { after: FIRST_HEAD, windows: 0, spentMs: 0 };
      // Set now, so that a delivery scheduled during this scan causes another scan. This scan may already be past the
      // delivery's head.
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
