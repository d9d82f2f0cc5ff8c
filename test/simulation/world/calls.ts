/** Kept from before the timers of the process are replaced. */
const setRealTimeout = globalThis.setTimeout;
const clearRealTimeout = globalThis.clearTimeout;

/**
 * How long to wait for an answer at a time, and for how many times at most, half a minute: a call may wait for work of this
 * process, and a busy machine is slow.
 */
const PATIENCE_MS = 5;
const MOST_WAITS = 6_000;
/** Two minutes: a migration waits for nothing but the server, which may be slow on a busy machine. */
const MOST_WAITS_AT_START = 24_000;

/** Calls of a real server that are under way: virtual time stands still for them. */
export class RealCalls {
  pending = 0;
  /** While the store is opened. */
  isStarting = false;
  #answered = Promise.withResolvers<void>();
  #waits = 0;

  async make<Value>(call: () => Promise<Value>): Promise<Value> {
    this.pending++;
    try {
      return await call();
    } finally {
      this.#end();
    }
  }

  /** Work of the process in the middle of a call, such as that of a transaction between its begin and its end. */
  async within<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#end();
    try {
      return await work();
    } finally {
      this.pending++;
    }
  }

  /** Waits for the next answer for a moment. `overdue` after many moments without any. */
  async nextAnswer(): Promise<'answered' | 'waiting' | 'overdue'> {
    const late = Promise.withResolvers<boolean>();
    const timer = setRealTimeout(() => late.resolve(false), PATIENCE_MS);
    const isAnswered = await Promise.race([this.#answered.promise.then(() => true), late.promise]);
    clearRealTimeout(timer);
    this.#waits = isAnswered ? 0 : this.#waits + 1;
    if (isAnswered) return 'answered';
    return this.#waits % (this.isStarting ? MOST_WAITS_AT_START : MOST_WAITS) === 0 ? 'overdue' : 'waiting';
  }

  #end(): void {
    this.pending--;
    this.#answered.resolve();
    this.#answered = Promise.withResolvers();
  }
}
