/**
 * Decides when leases end: the database's clock without its latest step forward. After such a step every lease looks expired,
 * although its instance may still be sending. So for one lease length this clock continues at the pace of the process. It only
 * delays the end of a lease: by at most one lease length, one second and the slowest answer of the database in that time.
 */

const READING_MS = 1_000;

/** The readings within one second, of which only the lowest counts. */
type Reading = {
  readonly fromMs: number;
  /** A lower bound of how far the database's clock was ahead of the clock of this process. */
  aheadMs: number;
};

export class LeaseClock {
  #lengthMs: number | null = null;
  /** The readings of the last lease length, and the reading before them. */
  readonly #readings: Reading[] = [];

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {}

  /** Until `guard` is called, leases end by the database's clock alone. */
  guard(lengthMs: number): void {
    this.#lengthMs = lengthMs;
  }

  /** Notes a time that a statement has just read from the database's clock. */
  note(nowMs: number): void {
    if (this.#lengthMs === null) return;
    const readings = this.#readings;
    const atMs = this.monotonicMs();
    const last = readings.at(-1);
    if (last !== undefined && atMs - last.fromMs < READING_MS) last.aheadMs = Math.min(last.aheadMs, nowMs - atMs);
    else readings.push({ fromMs: atMs, aheadMs: nowMs - atMs });
    while (readings[1] !== undefined && readings[1].fromMs <= atMs - this.#lengthMs) readings.shift();
  }

  /** The time up to which leases have ended. `nowMs` is the time that the database's clock showed. */
  endedBy(nowMs: number): number {
    if (this.#readings.length === 0) return nowMs;
    const aheadMs = this.#readings.reduce(
      (lowest, reading) => Math.min(lowest, reading.aheadMs),
      Number.POSITIVE_INFINITY,
    );
    return Math.min(nowMs, Math.floor(this.monotonicMs() + aheadMs));
  }
}
