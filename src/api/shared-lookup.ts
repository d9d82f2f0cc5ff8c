/**
 * Calls that come in the same turn of the event loop share one answer. The question is asked after the last of them
 * came, so nobody gets an answer from before its own question: what was true when a request arrived is always seen.
 */
export class SharedLookup<Value> {
  #waiting = new Map<string, PromiseWithResolvers<Value>>();

  constructor(private readonly look: (key: string) => Promise<Value>) {}

  get(key: string): Promise<Value> {
    const known = this.#waiting.get(key);
    if (known !== undefined) return known.promise;
    const asked = Promise.withResolvers<Value>();
    if (this.#waiting.size === 0) setImmediate(() => this.#askAll());
    this.#waiting.set(key, asked);
    return asked.promise;
  }

  #askAll(): void {
    const waiting = this.#waiting;
    // From here on whoever comes is later than the question, and asks anew.
    this.#waiting = new Map();
    for (const [key, { resolve, reject }] of waiting) this.look(key).then(resolve, reject);
  }
}
