const SOON_MS = 200;

/**
 * Accepts the events of one network's facts. It runs independently of the polls, so that many payments in one block do not delay
 * the blocks after it. After it stops, the remaining events wait in the database.
 */
export class FactEventPublisher {
  #publishing: Promise<void> | null = null;
  #isWoken = false;
  #isStopped = false;
  #soon: Timer | null = null;

  constructor(
    /** Accepts some events and returns their number; 0 if none is left for now. */
    private readonly accept: () => Promise<number>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Call this if there may be an event to publish. */
  wake(): void {
    this.#isWoken = true;
    this.#publishing ??= this.#publish().finally(() => {
      this.#publishing = null;
    });
  }

  /**
   * Wakes after `SOON_MS`. An event that waits for a task usually waits a few milliseconds, but the next poll may be
   * seconds away.
   */
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
    await this.#publishing;
  }

  async #publish(): Promise<void> {
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        while (!this.#isStopped && (await this.accept()) > 0);
      }
    } catch (error) {
      // The next poll wakes the publisher again.
      this.onError(error);
    }
  }
}
