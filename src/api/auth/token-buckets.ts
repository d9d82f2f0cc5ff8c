import { BoundedMap } from '../../domain/bounded-map.ts';

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
  /** Without its entry a bucket counts as full, so an evicted key can only gain by it. */
  readonly #fullAtMs: BoundedMap<string, number>;
  #sweptAtMs = 0;
  readonly #tokenMs: number;

  constructor(
    readonly rate: Rate,
    /** A clock that never steps, or a step back would lock everybody out. */
    private readonly clock: () => number = () => performance.now(),
    maxBuckets = MAX_BUCKETS,
  ) {
    this.#fullAtMs = new BoundedMap(maxBuckets);
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
    if (granted > 0) this.#fullAtMs.set(key, nowMs + nowMissingMs);
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

  #forgetFull(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    for (const [key, fullAtMs] of this.#fullAtMs) if (fullAtMs <= nowMs) this.#fullAtMs.delete(key);
  }
}
