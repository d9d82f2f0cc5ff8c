import { sizeBetween } from '../../../rpc/log-range.ts';

const FIRST_BLOCKS = 1_000;
export const MAX_BLOCKS = 100_000;
/** More logs than this make the next range smaller, so that one response does not hold up everything else. */
const MANY_LOGS = 10_000;
const FEW_LOGS = MANY_LOGS / 4;

const GOOD_READINGS = 50;

/**
 * The number of blocks that one call reads. It is halved if a node refuses a call or is overwhelmed, and grows if a
 * response has few logs. A refused size is tried again after 50 good readings, or once the blocks have half as many
 * logs.
 */
export class BlockRange {
  /** Upper limit on the blocks of a call, whatever size nodes accept. */
  most = MAX_BLOCKS;
  #blocks: number;
  #refused: number | null = null;
  /** Logs per block in the first reading after the refusal. */
  #density: number | null = null;
  #readings = 0;

  constructor(blocks: number | null) {
    this.#blocks = Math.min(Math.max(blocks ?? FIRST_BLOCKS, 1), MAX_BLOCKS);
  }

  get blocks(): number {
    return Math.min(this.#blocks, this.most);
  }

  /** Call it after a call for this number of blocks has failed. */
  shrink(asked: number): void {
    this.#refused = asked;
    this.#density = null;
    this.#readings = 0;
    this.#halve(asked);
  }

  /** Call it after a call for this number of blocks has returned this number of logs. */
  adapt(asked: number, logs: number): void {
    const density = logs / Math.max(1, asked);
    this.#density ??= density;
    const isOld = ++this.#readings >= GOOD_READINGS || density < this.#density / 2;
    if (isOld || asked >= (this.#refused ?? 0)) this.#refused = null;
    if (logs > MANY_LOGS) this.#halve(asked);
    else if (asked >= this.#blocks && logs < FEW_LOGS) this.#grow();
  }

  #grow(): void {
    const doubled = Math.min(this.#blocks * 2, MAX_BLOCKS);
    const isFree = this.#refused === null || doubled < this.#refused;
    this.#blocks = isFree ? doubled : Math.max(this.#blocks, sizeBetween(this.#blocks, this.#refused ?? doubled));
  }

  #halve(asked: number): void {
    this.#blocks = Math.max(1, Math.floor(Math.min(this.#blocks, asked) / 2));
  }
}
