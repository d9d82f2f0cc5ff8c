import type { BatchLimit } from '../../store/chain/network-store.ts';

/** Calls per request, from the largest size to single calls. */
const SIZES: readonly [number, ...number[]] = [100, 10, 3, 1];
/** Refusals of a size, without a success in between, that prove a limit. One odd response proves nothing. */
const REFUSALS = 3;
const GOOD_REQUESTS = 50;
const DAY_MS = 86_400_000;

/**
 * How many calls a node takes in one request. Many providers refuse batches, or large batches, each with another error.
 * The size falls with the third refusal and rises by one step after 50 good requests. If a size is refused again before
 * a batch of this size has succeeded, it is not tried for a day.
 */
export class BatchSize {
  #size: number = SIZES[0];
  #untilMs: number | null = null;
  #good = 0;
  #refusals = 0;
  /** The smallest refused batch since a batch of at least that size last succeeded. */
  #refused = Number.POSITIVE_INFINITY;
  /** The size before it rose, until a larger batch has succeeded. */
  #risenFrom: number | null = null;

  constructor(private readonly nowMs: () => number) {}

  get size(): number {
    return this.#size;
  }

  get limit(): BatchLimit | null {
    return this.#size === SIZES[0] ? null : { size: this.#size, untilMs: this.#untilMs };
  }

  /** Applies the limit from before a restart, unless this process has found a limit itself. */
  restore({ size, untilMs }: BatchLimit): void {
    const nowMs = this.nowMs();
    if (this.limit !== null || !SIZES.includes(size) || (untilMs !== null && untilMs <= nowMs)) return;
    this.#size = size;
    // Does not wait for more than a day, even if the clock was set back.
    this.#untilMs = untilMs === null ? null : Math.min(untilMs, nowMs + DAY_MS);
  }

  noteSuccess(calls: number): void {
    if (this.#risenFrom !== null && calls > this.#risenFrom) this.#risenFrom = null;
    if (calls >= this.#refused) {
      this.#refused = Number.POSITIVE_INFINITY;
      this.#refusals = 0;
    }
    if (++this.#good < GOOD_REQUESTS || this.#size === SIZES[0]) return;
    if (this.#untilMs !== null && this.#untilMs > this.nowMs()) return;
    this.#risenFrom = this.#size;
    this.#size = SIZES.findLast((size) => size > this.#size) ?? SIZES[0];
    this.#good = 0;
    this.#untilMs = null;
  }

  /** Call this after a node has refused a batch, but has answered the first call when sent alone. */
  noteRefusal(calls: number): void {
    this.#refused = Math.min(this.#refused, calls);
    this.#good = 0;
    if (++this.#refusals < REFUSALS) return;
    this.#size = SIZES.find((each) => each < this.#refused) ?? 1;
    this.#untilMs = this.#risenFrom !== null && this.#refused > this.#risenFrom ? this.nowMs() + DAY_MS : null;
    this.#risenFrom = null;
    this.#refusals = 0;
    this.#refused = Number.POSITIVE_INFINITY;
  }
}
