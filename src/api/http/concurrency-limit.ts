import { Problem } from '../../contract/problems.ts';

const RETRY_AFTER_S = 1;

/** Limits how many slow operations of one entity run at a time. A request above the limit is rejected with 429. */
export class ConcurrencyLimit {
  readonly #counts = new Map<string, number>();

  constructor(
    private readonly what: string,
    private readonly max: number,
  ) {}

  async run<Value>(entityId: string, work: () => Promise<Value>): Promise<Value> {
    const count = this.#counts.get(entityId) ?? 0;
    if (count >= this.max) {
      throw new Problem(
        'rate_limited',
        `${count} ${this.what} of this entity are already in progress. Try again when one has finished.`,
        {
          headers: { 'retry-after': String(RETRY_AFTER_S) },
        },
      );
    }
    this.#counts.set(entityId, count + 1);
    try {
      return await work();
    } finally {
      this.#leave(entityId);
    }
  }

  #leave(entityId: string): void {
    const left = (this.#counts.get(entityId) ?? 1) - 1;
    if (left > 0) this.#counts.set(entityId, left);
    else this.#counts.delete(entityId);
  }
}
