/**
 * A map of limited size, for everything that is kept in memory only to save work. Whenever it exceeds its limit, the
 * entries that were set longest ago are dropped. Setting a key again makes it the newest; reading it does not.
 */
export class BoundedMap<Key, Value extends NonNullable<unknown> | null> extends Map<Key, Value> {
  #total = 0;

  constructor(
    /** The most entries, or the largest sum of what `weigh` returns for them. */
    private readonly limit: number,
    private readonly options: {
      /** Must return the same weight for the same value each time. */
      readonly weigh?: (value: Value) => number;
      /** Called for each entry dropped because of the limit, but not for one that is deleted or replaced. */
      readonly onEvict?: (value: Value) => void;
    } = {},
  ) {
    super();
  }

  override set(key: Key, value: Value): this {
    // A map keeps the position of a key that it already has, so the key has to go first.
    this.delete(key);
    super.set(key, value);
    this.#total += this.#weightOf(value);
    if (this.#total > this.limit) this.#evict();
    return this;
  }

  override delete(key: Key): boolean {
    const value = this.get(key);
    if (value === undefined) return false;
    this.#total -= this.#weightOf(value);
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#total = 0;
  }

  #evict(): void {
    for (const [key, value] of this) {
      if (this.#total <= this.limit) return;
      this.delete(key);
      this.options.onEvict?.(value);
    }
  }

  #weightOf(value: Value): number {
    return this.options.weigh === undefined ? 1 : this.options.weigh(value);
  }
}
