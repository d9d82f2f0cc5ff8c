const FIRST_BLOCKS = 1_000;
const MAX_BLOCKS = 100_000;
/** More logs than this make the next range smaller, so that one response does not hold up everything else. */
const MANY_LOGS = 10_000;
const FEW_LOGS = MANY_LOGS / 4;

/** How many blocks one call reads: halved where a node refuses or is overwhelmed, doubled where it had it easy. */
export class BlockRange {
  #blocks: number;

  constructor(blocks: number | null) {
    this.#blocks = Math.min(Math.max(blocks ?? FIRST_BLOCKS, 1), MAX_BLOCKS);
  }

  get blocks(): number {
    return this.#blocks;
  }

  /** After a call for so many blocks that failed. */
  shrink(asked: number): void {
    this.#blocks = Math.max(1, Math.floor(Math.min(this.#blocks, asked) / 2));
  }

  /** After a call for so many blocks that returned so many logs. */
  adapt(asked: number, logs: number): void {
    if (logs > MANY_LOGS) this.shrink(asked);
    else if (asked >= this.#blocks && logs < FEW_LOGS) this.#blocks = Math.min(this.#blocks * 2, MAX_BLOCKS);
  }
}
