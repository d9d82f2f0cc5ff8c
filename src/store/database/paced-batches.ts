import type { Database } from './database.ts';

const MIN_SIZE = 64;
const MAX_SIZE = 512;
const MAX_PAUSE_MS = 1_000;

/**
 * SQLite runs on the thread that serves requests, so a batch there has to be too short to be noticed. A batch is never
 * smaller than `MIN_SIZE`, because on a slow disk most of its time is the commit, however few rows it has.
 */
const BATCH_MS = { sqlite: 3, postgres: 20 } as const;

/** The pause after each batch, in multiples of its duration: 4 leaves a fifth of the time to this work. */
export const PAUSE = { background: 4, foreground: 1 } as const;

/** Splits long work into batches of as many rows as take a few milliseconds, with a pause after each. */
export class PacedBatches {
  readonly #batchMs: number;
  #size = MIN_SIZE;

  constructor(
    engine: Database['engine'],
    private readonly pauseFactor: number,
    private readonly signal?: AbortSignal,
  ) {
    this.#batchMs = BATCH_MS[engine];
  }

  get isStopped(): boolean {
    return this.signal?.aborted === true;
  }

  /** `size` is always a power of two, so that statements with a literal limit have few different texts. */
  async run<Value>(work: (size: number) => Promise<Value>): Promise<Value> {
    const startedAtMs = performance.now();
    const value = await work(this.#size);
    const durationMs = performance.now() - startedAtMs;
    if (durationMs > this.#batchMs) this.#size = Math.max(this.#size / 2, MIN_SIZE);
    else if (durationMs < this.#batchMs / 3) this.#size = Math.min(this.#size * 2, MAX_SIZE);
    await this.#pause(Math.min(durationMs * this.pauseFactor, MAX_PAUSE_MS));
    return value;
  }

  /** Ends early when the work is stopped. */
  async #pause(ms: number): Promise<void> {
    if (this.isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const timer = setTimeout(end, ms);
    this.signal?.addEventListener('abort', end, { once: true });
    await promise;
    clearTimeout(timer);
    this.signal?.removeEventListener('abort', end);
  }
}
