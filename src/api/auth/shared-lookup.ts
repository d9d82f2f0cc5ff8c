/**
 * Calls that come in the same turn of the event loop are asked in one question, and equal ones share its answer. The
 * question is asked after the last of them came, so nobody gets an answer from before its own: what was true when a
 * request arrived is always seen.
 */
export class SharedLookup<Value> {
  #waiting = new Map<string, PromiseWithResolvers<Value | null>>();

  /** Finds the values of all that have one. */
  constructor(private readonly look: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>) {}

  get(key: string): Promise<Value | null> {
    const known = this.#waiting.get(key);
    if (known !== undefined) return known.promise;
    const asked = Promise.withResolvers<Value | null>();
    if (this.#waiting.size === 0) setImmediate(() => void this.#askAll());
    this.#waiting.set(key, asked);
    return asked.promise;
  }

  async #askAll(): Promise<void> {
    const waiting = this.#waiting;
    // From here on whoever comes is later than the question, and asks anew.
    this.#waiting = new Map();
    try {
      const found = await this.look([...waiting.keys()]);
      for (const [key, { resolve }] of waiting) resolve(found.get(key) ?? null);
    } catch (error) {
      for (const { reject } of waiting.values()) reject(error);
    }
  }
}
