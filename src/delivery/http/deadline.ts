import { AttemptFailure } from './errors.ts';

const TIMED_OUT = new AttemptFailure('timeout');

/**
 * The time limit of one attempt. When the limit is reached, it fails the operation that the attempt waits for. An
 * AbortSignal would do the same, but creating it, listening to it and releasing it takes 5 % of the time of a delivery.
 */
export class Deadline {
  #onReached: ((failure: AttemptFailure) => void) | null = null;
  #isReached = false;

  constructor(readonly endsAtMs: number) {}

  get isReached(): boolean {
    return this.#isReached;
  }

  /**
   * Replaces the earlier callback, because an attempt waits for one operation at a time. If the deadline is already
   * reached, calls back at once.
   */
  watch(onReached: (failure: AttemptFailure) => void): void {
    if (this.#isReached) onReached(TIMED_OUT);
    else this.#onReached = onReached;
  }

  unwatch(): void {
    this.#onReached = null;
  }

  /** Waits for work that other attempts share. The work continues for them if this attempt times out. */
  within<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.watch(reject);
      promise.then(resolve, reject);
    });
  }

  expire(): void {
    this.#isReached = true;
    this.#onReached?.(TIMED_OUT);
  }
}

/** Thousands of requests that started together also time out together, and other work has to run in between. */
const MAX_EXPIRED_AT_ONCE = 32;

/** Deadlines of the same length. They end in the order of their start, so that one timer serves all of them. */
export class Deadlines {
  readonly #running = new Set<Deadline>();
  #timer: Timer | null = null;

  constructor(private readonly timeoutMs: number) {}

  start(): Deadline {
    const deadline = new Deadline(performance.now() + this.timeoutMs);
    this.#running.add(deadline);
    this.#timer ??= setTimeout(() => this.#expireDue(), this.timeoutMs);
    return deadline;
  }

  /** Call this when an attempt has ended in time. */
  clear(deadline: Deadline): void {
    this.#running.delete(deadline);
    if (this.#running.size > 0 || this.#timer === null) return;
    // Without deadlines, the timer would only keep the process alive.
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #expireDue(): void {
    this.#timer = null;
    let expired = 0;
    for (const deadline of this.#running) {
      const leftMs = deadline.endsAtMs - performance.now();
      if (leftMs > 0 || expired++ === MAX_EXPIRED_AT_ONCE) {
        this.#timer ??= setTimeout(() => this.#expireDue(), Math.max(0, Math.ceil(leftMs)));
        return;
      }
      this.#running.delete(deadline);
      deadline.expire();
    }
  }
}
