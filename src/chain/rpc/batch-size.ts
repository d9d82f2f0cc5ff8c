import type { BatchLimit } from '../../store/chain/network-store.ts';

/** The calls in one request, from the largest size to single calls. */
const SIZES: readonly [number, ...number[]] = [100, 10, 3, 1];
/** One odd response is an accident. Three refusals of a size without a success are a limit. */
const REFUSALS = 3;
const GOOD_REQUESTS = 50;
const DAY_MS = 86_400_000;

/**
 * How many calls a node takes in one request. Many providers refuse batches, or large ones, and each says so in another way.
 * The size falls with the third refusal and rises by one step after 50 good requests. A size that is refused again before a
 * batch of it succeeded is left alone for a day.
 */
export class BatchSize {
  #size: number = SIZES[0];
  #untilMs: number | null = null;
  #good = 0;
  #refusals = 0;
  /** The smallest batch that was refused since one of at least its size succeeded. */
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

  /** Applies what was known before a restart, unless this process knows better. */
  restore({ size, untilMs }: BatchLimit): void {
    const nowMs = this.nowMs();
    if (this.limit !== null || !SIZES.includes(size) || (untilMs !== null && untilMs <= nowMs)) return;
    this.#size = size;
    // A clock that was set back does not make the day longer.
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

  /** Call it after a node refused a batch, but not its first call alone. */
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
