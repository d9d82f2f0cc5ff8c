/** Something that can be waited for and rung; a ring while nobody waits is not lost. */
export class Bell {
  #rung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at the next ring, at once if it has rung since the last wait, or when the time is up. */
  async wait(timeoutMs: number): Promise<void> {
    // Even without a wait, everything else in the process gets its turn.
    if (this.#rung || timeoutMs <= 0) await new Promise((resolve) => setImmediate(resolve));
    else {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = null;
    this.#rung = false;
  }
}
