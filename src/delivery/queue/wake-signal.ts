/** Something that can be waited for and rung; a ring while nobody waits is not lost. */
export class WakeSignal {
  #rung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves after the next ring, after one since the last wait, or when the time is up. */
  async wait(timeoutMs: number): Promise<void> {
    if (!this.#rung && timeoutMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    // Everything else that stands ready gets its turn first, so that whoever was woken finds all of it.
    await new Promise((resolve) => setImmediate(resolve));
    this.#wake = null;
    this.#rung = false;
  }
}
