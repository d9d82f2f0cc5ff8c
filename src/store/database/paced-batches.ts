import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';

const LEAST_SIZE = 64;
const MOST_SIZE = 512;
const LONGEST_REST_MS = 1_000;

/**
 * SQLite works on the thread that answers requests, so a part there has to be short enough not to be felt. Smaller than
 * the least it never gets, because on a slow disk most of a part is its commit, however little it holds.
 */
const PART_MS = { sqlite: 3, postgres: 20 } as const;

/** Rests after each part, in multiples of what the part took: four leaves a fifth of the time to this work. */
export const REST = { background: 4, now: 1 } as const;

/** Does long work in parts that nobody feels: as many rows at a time as take a few milliseconds, and a rest after each. */
export class PacedBatches {
  readonly #partMs: number;
  #size = LEAST_SIZE;

  constructor(
    engine: Database['engine'],
    private readonly rest: number,
    private readonly signal?: AbortSignal,
  ) {
    this.#partMs = PART_MS[engine];
  }

  get isStopped(): boolean {
    return this.signal?.aborted === true;
  }

  /** `size` is always a power of two, so that a text which names it is one of few. */
  async part<Value>(work: (size: number) => Promise<Value>): Promise<Value> {
    const startedAtMs = performance.now();
    const value = await work(this.#size);
    const tookMs = performance.now() - startedAtMs;
    if (tookMs > this.#partMs) this.#size = Math.max(this.#size / 2, LEAST_SIZE);
    else if (tookMs < this.#partMs / 3) this.#size = Math.min(this.#size * 2, MOST_SIZE);
    await this.#pause(Math.min(tookMs * this.rest, LONGEST_REST_MS));
    return value;
  }

  async #pause(ms: number): Promise<void> {
    // Stopping ends the rest early, and that is no failure.
    await sleep(ms, undefined, this.signal === undefined ? {} : { signal: this.signal }).catch(() => undefined);
  }
}
