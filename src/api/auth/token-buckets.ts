export type Rate = { readonly perSecond: number; readonly burst: number };

/** What was granted, and how the bucket stands after it. */
export type Grant = {
  granted: number;
  remaining: number;
  /** Until the next token; 0 when there is one. */
  retryAfterS: number;
  /** Until the bucket is full again. */
  fullInS: number;
};

const MAX_BUCKETS = 50_000;
/** Where nobody is limited any more, nobody has to ask: an empty map costs nothing. */
const SWEEP_EVERY_MS = 1_000;

/**
 * A token bucket for each key, kept as one number: the moment at which it will be full again. A full bucket is like one
 * that was never used, so it need not be kept.
 */
export class TokenBuckets {
  readonly #fullAtMs = new Map<string, number>();
  #sweptAtMs = 0;
  readonly #tokenMs: number;

  constructor(
    readonly rate: Rate,
    /** A clock that never steps, or a step back would lock everybody out. */
    private readonly clock: () => number = () => performance.now(),
    private readonly maxBuckets = MAX_BUCKETS,
  ) {
    this.#tokenMs = 1_000 / rate.perSecond;
  }

  get size(): number {
    return this.#fullAtMs.size;
  }

  /** As many of the wanted tokens as there are. */
  take(key: string, wanted = 1): Grant {
    const nowMs = this.clock();
    if (nowMs - this.#sweptAtMs >= SWEEP_EVERY_MS) this.#forgetFull(nowMs);
    const missingMs = Math.max(0, (this.#fullAtMs.get(key) ?? 0) - nowMs);
    const available = Math.floor(this.rate.burst - missingMs / this.#tokenMs + 1e-6);
    const granted = Math.max(0, Math.min(wanted, available));
    const nowMissingMs = missingMs + granted * this.#tokenMs;
    if (granted > 0) this.#keep(key, nowMs + nowMissingMs, nowMs);
    const nextInMs = nowMissingMs - (this.rate.burst - 1) * this.#tokenMs;
    return {
      granted,
      remaining: Math.max(0, available - granted),
      retryAfterS: nextInMs > 1e-3 ? Math.ceil(nextInMs / 1_000) : 0,
      fullInS: Math.ceil(nowMissingMs / 1_000),
    };
  }

  /** How it stands, without taking anything. */
  look(key: string): Grant {
    return this.take(key, 0);
  }

  #keep(key: string, fullAtMs: number, nowMs: number): void {
    if (this.#fullAtMs.size >= this.maxBuckets && !this.#fullAtMs.has(key)) this.#makeRoom(nowMs);
    this.#fullAtMs.set(key, fullAtMs);
  }

  #forgetFull(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    for (const [key, fullAtMs] of this.#fullAtMs) if (fullAtMs <= nowMs) this.#fullAtMs.delete(key);
  }

  /** Full ones first, and of the others the oldest tenth: so it happens seldom, and forgetting one is a favour to it. */
  #makeRoom(nowMs: number): void {
    this.#forgetFull(nowMs);
    const enough = Math.floor(this.maxBuckets * 0.9);
    for (const key of this.#fullAtMs.keys()) {
      if (this.#fullAtMs.size <= enough) return;
      this.#fullAtMs.delete(key);
    }
  }
}
