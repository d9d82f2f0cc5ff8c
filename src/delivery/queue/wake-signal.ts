/** Lets a loop sleep until it is woken. A wake-up while nothing waits is kept for the next wait. */
export class WakeSignal {
  #isWoken = false;
  #resolve: (() => void) | null = null;

  wake(): void {
    this.#isWoken = true;
    this.#resolve?.();
  }

  /** Resolves at the next wake-up, at once if there was one since the last wait, or after the time-out. */
  async wait(timeoutMs: number): Promise<void> {
    if (!this.#isWoken && timeoutMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#resolve = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    // Everything else that is ready runs first, so that the loop finds all of it in one step.
    await new Promise((resolve) => setImmediate(resolve));
    this.#resolve = null;
    this.#isWoken = false;
  }
}
