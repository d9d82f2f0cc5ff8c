/** Finds events that other instances have accepted. */
const LOOK_EVERY_MS = 1_000;

/** Wakes the readers of listen sessions in this process when their entity has a new event. */
export class Listeners {
  readonly #byEntity = new Map<string, Set<Listener>>();
  /** Whether there is no reader, so that callers can skip `wake`. */
  isIdle = true;

  constructor(private readonly lookEveryMs = LOOK_EVERY_MS) {}

  /** Adds a reader, until it calls `leave`. */
  enter(entityId: string): Listener {
    const listener = new Listener(this.lookEveryMs);
    const others = this.#byEntity.get(entityId) ?? new Set();
    this.#byEntity.set(entityId, others.add(listener));
    this.isIdle = false;
    return listener;
  }

  leave(entityId: string, listener: Listener): void {
    const others = this.#byEntity.get(entityId);
    others?.delete(listener);
    if (others?.size === 0) this.#byEntity.delete(entityId);
    this.isIdle = this.#byEntity.size === 0;
  }

  wake(entityId: string): void {
    for (const listener of this.#byEntity.get(entityId) ?? []) listener.wake();
  }
}

class Listener {
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(private readonly lookEveryMs: number) {}

  wake(): void {
    this.#isWoken = true;
    this.#resolve?.();
  }

  /**
   * Resolves at the next wake-up, at once if there was one since the last wait, after a second, or when the signal
   * aborts.
   */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, this.lookEveryMs);
      const onAbort = () => resolve();
      signal.addEventListener('abort', onAbort);
      await promise;
      signal.removeEventListener('abort', onAbort);
      clearTimeout(timer);
      this.#resolve = null;
    }
    this.#isWoken = false;
  }
}
