/**
 * Aims polls at the moment at which the next block is expected. The offset is the time from a block's timestamp to the
 * moment at which the node has the block, by this machine's clock. It includes the difference between the two clocks.
 *
 * | after         | the next poll                                                                                   |
 * |---------------|-------------------------------------------------------------------------------------------------|
 * | the start     | a part of a block time later, until a new block follows a poll without one                      |
 * | a new block   | at the timestamp + the block time + the offset, which falls a little                            |
 * | no new block  | after 0.25, 0.5, 1 … seconds, at most a quarter of the block time; the offset rises             |
 *
 * The offset falls by 0.8 % of the block time and rises by 5 %, so that about one block in seven has an early poll.
 */

const FALL = 0.008;
const RISE = 0.05;
const SEARCH_SHARE = 1 / 8;
const MISS_SHARE = 1 / 4;
const FIRST_MISS_MS = 250;
/**
 * The time from one poll to the next on networks with several blocks per second, unless the operator sets another time.
 */
const USUAL_MS = 1_000;
const MOST_MS = 12_000;
/** Block times after which a late block may not come soon. A local network makes blocks only on demand. */
const LATE_BLOCKS = 3;

export type Sight = {
  readonly tipHash: string | null;
  readonly headS: number | null;
  readonly blockTimeMs: number;
  /** The time of day at the end of the poll. */
  readonly dateMs: number;
};

export class Aim {
  readonly #usualMs: number;
  #offsetMs: number | null = null;
  #tipHash: string | null = null;
  #changedAtMs = 0;
  #misses = 0;

  /** `leastMs` is the least time from one poll to the next; null for none. */
  constructor(private readonly leastMs: number | null = null) {
    this.#usualMs = leastMs ?? USUAL_MS;
  }

  /** The time from the end of this poll to the start of the next one. */
  waitMs(sight: Sight): number {
    return Math.max(this.#aimMs(sight), this.leastMs ?? 0);
  }

  #aimMs({ tipHash, headS, blockTimeMs, dateMs }: Sight): number {
    if (headS === null || blockTimeMs < this.#usualMs) return this.#usualMs;
    const isHit = tipHash !== this.#tipHash;
    const wasMissed = this.#misses > 0;
    if (isHit) this.#changedAtMs = dateMs;
    this.#tipHash = tipHash;
    this.#misses = isHit ? 0 : this.#misses + 1;
    return isHit ? this.#afterHit(headS * 1_000, blockTimeMs, dateMs, wasMissed) : this.#afterMiss(blockTimeMs, dateMs);
  }

  #afterHit(timestampMs: number, blockTimeMs: number, dateMs: number, wasMissed: boolean): number {
    const delayMs = dateMs - timestampMs;
    if (this.#offsetMs === null && !wasMissed) return search(blockTimeMs);
    this.#offsetMs = Math.min(this.#offsetMs ?? delayMs, delayMs) - FALL * blockTimeMs;
    const aimMs = timestampMs + blockTimeMs + this.#offsetMs - dateMs;
    // A wrong timestamp, as after a long pause, must not delay the next poll.
    return Math.min(Math.max(aimMs, this.#usualMs / 2), blockTimeMs, MOST_MS);
  }

  #afterMiss(blockTimeMs: number, dateMs: number): number {
    if (this.#offsetMs === null) return search(blockTimeMs);
    if (this.#misses === 1) this.#offsetMs += RISE * blockTimeMs;
    if (dateMs - this.#changedAtMs > LATE_BLOCKS * blockTimeMs) return Math.min(blockTimeMs, MOST_MS);
    return Math.min(blockTimeMs * MISS_SHARE, FIRST_MISS_MS * 2 ** Math.min(this.#misses - 1, 10));
  }
}

function search(blockTimeMs: number): number {
  return Math.min(Math.max(blockTimeMs * SEARCH_SHARE, FIRST_MISS_MS), MOST_MS);
}
