import { StoreUnavailableError } from './database.ts';

type Waiter = { admit: () => void };

/** Lets `width` callers in at a time, the others in order of arrival; both the queue and the wait are bounded. */
export class Semaphore {
  readonly #waiting: Waiter[] = [];
  #free: number;

  constructor(
    width: number,
    private readonly maxWaiting: number,
  ) {
    this.#free = width;
  }

  /** The returned function lets the next one in; call it exactly once. */
  async enter(deadlineMs: number): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(deadlineMs);
    return () => this.#leave();
  }

  #wait(deadlineMs: number): Promise<void> {
    if (this.#waiting.length >= this.maxWaiting) {
      return Promise.reject(new StoreUnavailableError('too many callers are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new StoreUnavailableError(`the store was not free within ${deadlineMs} ms`));
      }, deadlineMs);
      this.#waiting.push(waiter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.admit();
  }
}
