import { AttemptFailure } from './errors.ts';

const TIMED_OUT = new AttemptFailure('timeout');

/**
 * The time that one attempt has. Whatever the attempt waits for at the moment is told when that time is over. An
 * AbortSignal would say the same; to make one, to listen to it and to let it go takes a twentieth of a whole delivery.
 */
export class Deadline {
  #onOver: ((failure: AttemptFailure) => void) | null = null;
  #isOver = false;

  constructor(readonly endsAtMs: number) {}

  get isOver(): boolean {
    return this.#isOver;
  }

  /** In the place of whoever was told before: an attempt waits for one thing at a time. Told at once where it is over. */
  watch(onOver: (failure: AttemptFailure) => void): void {
    if (this.#isOver) onOver(TIMED_OUT);
    else this.#onOver = onOver;
  }

  unwatch(): void {
    this.#onOver = null;
  }

  /** For what is shared with others and cannot be stopped: whoever runs out of time leaves it to them. */
  within<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.watch(reject);
      promise.then(resolve, reject);
    });
  }

  end(): void {
    this.#isOver = true;
    this.#onOver?.(TIMED_OUT);
  }
}

/** All of one length, so that they end in the order in which they began and one timer is enough for them. */
export class Deadlines {
  readonly #running = new Set<Deadline>();
  #timer: Timer | null = null;

  constructor(private readonly timeoutMs: number) {}

  start(): Deadline {
    const deadline = new Deadline(performance.now() + this.timeoutMs);
    this.#running.add(deadline);
    this.#timer ??= setTimeout(() => this.#endDue(), this.timeoutMs);
    return deadline;
  }

  /** The attempt has ended in time. */
  clear(deadline: Deadline): void {
    this.#running.delete(deadline);
    if (this.#running.size > 0 || this.#timer === null) return;
    // Left alone it would hold the process to the end of that time.
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #endDue(): void {
    this.#timer = null;
    for (const deadline of this.#running) {
      const leftMs = deadline.endsAtMs - performance.now();
      if (leftMs > 0) {
        this.#timer ??= setTimeout(() => this.#endDue(), Math.ceil(leftMs));
        return;
      }
      this.#running.delete(deadline);
      deadline.end();
    }
  }
}
