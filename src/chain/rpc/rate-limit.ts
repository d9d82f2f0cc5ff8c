/** The time of this process and its waits. Tests replace both. */
export type Clock = {
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
};

export const SYSTEM_CLOCK: Clock = { nowMs: () => performance.now(), sleep: (ms) => Bun.sleep(ms) };

/** Spreads calls with a token bucket that holds the calls of one second. Each call in a batch counts. */
export class RateLimit {
  #tokens: number;
  #atMs: number;
  #queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly perSecond: number,
    private readonly clock: Clock,
  ) {
    this.#tokens = perSecond;
    this.#atMs = clock.nowMs();
  }

  /** Resolves when the given number of calls may start, in the order of the callers. A batch of more than a second's calls leaves a debt. */
  take(calls: number): Promise<void> {
    this.#queue = this.#queue.then(() => this.#take(calls));
    return this.#queue;
  }

  async #take(calls: number): Promise<void> {
    this.#refill();
    const missing = Math.min(calls, this.perSecond) - this.#tokens;
    if (missing > 0) {
      await this.clock.sleep(Math.ceil((missing / this.perSecond) * 1_000));
      this.#refill();
    }
    this.#tokens -= calls;
  }

  #refill(): void {
    const nowMs = this.clock.nowMs();
    const gained = (Math.max(0, nowMs - this.#atMs) / 1_000) * this.perSecond;
    this.#tokens = Math.min(this.perSecond, this.#tokens + gained);
    this.#atMs = nowMs;
  }
}
