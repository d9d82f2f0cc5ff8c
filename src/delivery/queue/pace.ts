/** The largest burst, as the time in which the full rate would send it. */
export const BURST_S = 0.1;

/** One object for all destinations of a process, so that a new number of instances reaches all of them. */
export type PaceShare = { instances: number };

/**
 * Spreads the requests to a destination with a rate limit. The token bucket holds a tenth of a second, so that no
 * second exceeds the rate by more than a tenth, or by one request. With several instances, each uses its share of the
 * rate. Only started attempts take a token; a token is reserved for each queued delivery.
 */
export class Pace {
  #tokens: number;
  #atMs: number;

  constructor(
    readonly perSecond: number,
    private readonly share: PaceShare,
    nowMs: number,
  ) {
    this.#atMs = nowMs;
    this.#tokens = this.#most;
  }

  /** How many attempts may start now. */
  available(nowMs: number): number {
    this.#refill(nowMs);
    return Math.floor(this.#tokens);
  }

  take(nowMs: number): void {
    this.#refill(nowMs);
    this.#tokens--;
  }

  /** The time until `count` attempts may start. */
  waitMs(count: number, nowMs: number): number {
    this.#refill(nowMs);
    return Math.max(0, ((count - this.#tokens) / this.#rate) * 1_000);
  }

  get #rate(): number {
    return this.perSecond / Math.max(1, this.share.instances);
  }

  get #most(): number {
    return Math.max(1, this.#rate * BURST_S);
  }

  #refill(nowMs: number): void {
    const gained = (Math.max(0, nowMs - this.#atMs) / 1_000) * this.#rate;
    this.#tokens = Math.min(this.#most, this.#tokens + gained);
    this.#atMs = nowMs;
  }
}
