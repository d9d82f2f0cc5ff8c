const LOOK_EVERY_MS = 50;

/** How long this process, and so probably every other one, was not run: a busy machine may pause all of them for seconds. */
export class Stillness {
  #lastMs = performance.now();
  #longestMs = 0;
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();

  /** Ends the observation. */
  longestMs(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#longestMs;
  }

  #look(): void {
    const nowMs = performance.now();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}
