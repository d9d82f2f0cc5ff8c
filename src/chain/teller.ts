const SOON_MS = 200;

/**
 * Accepts the events that the facts of one network have led to, beside the reading of it, so that a crowd of payments does
 * not hold up the blocks after it. What is left when it stops waits in the store.
 */
export class Teller {
  #telling: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;
  #soon: Timer | null = null;

  constructor(
    /** Accepts some events and returns how many; 0 where none is left for now. */
    private readonly accept: () => Promise<number>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** There may be something to tell. */
  wake(): void {
    this.#isWoken = true;
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = null;
    });
  }

  /** Something waits for the fan-out job, which takes a few milliseconds as a rule; the next poll may be seconds away. */
  wakeSoon(): void {
    if (this.#isStopped) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = null;
      this.wake();
    }, SOON_MS);
  }

  /** Resolves when the acceptance in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#soon ?? undefined);
    await this.#telling;
  }

  async #tell(): Promise<void> {
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        while (!this.#isStopped && (await this.accept()) > 0);
      }
    } catch (error) {
      // The next poll wakes it again.
      this.onError(error);
    }
  }
}
