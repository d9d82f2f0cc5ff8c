/** First in, first out. `Array.shift` moves every other item, and a queue here may hold a hundred thousand. */
export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head > 32 && this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Removes all items and returns them in order. */
  takeAll(): Item[] {
    const items = this.#items.slice(this.#head) as Item[];
    this.clear();
    return items;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
