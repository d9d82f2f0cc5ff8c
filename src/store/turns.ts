/**
 * Items of several entities that wait for something they share. The entities take turns: the entity that was served longest ago is
 * next, with the item that has waited longest. An entity with thousands of items delays another one by one item.
 */
export class Turns<Item> {
  /** The entities in the order of their turns. A list is never empty. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  /** How many items wait, of one entity or of all. */
  sizeOf(entityId?: string): number {
    return entityId === undefined ? this.#size : (this.#waiting.get(entityId)?.length ?? 0);
  }

  /**
   * Whether one more item of the entity may wait. Above `max` items, only an entity with less than its share of `max` may add one,
   * so that one entity cannot fill the queue for all others. At most 2 × `max` items wait.
   */
  hasRoom(entityId: string, max: number): boolean {
    if (this.#size < max) return true;
    return this.#size < 2 * max && this.sizeOf(entityId) < max / (this.#waiting.size + 1);
  }

  push(entityId: string, item: Item): void {
    const own = this.#waiting.get(entityId);
    if (own === undefined) this.#waiting.set(entityId, [item]);
    else own.push(item);
    this.#size++;
  }

  /** The next items in their turns, of one entity or of all. They stay until they are removed. */
  next(count: number, entityId?: string): Item[] {
    if (entityId !== undefined) return this.#waiting.get(entityId)?.slice(0, count) ?? [];
    const items: Item[] = [];
    const most = Math.min(count, this.#size);
    for (let round = 0; items.length < most; round++) {
      for (const own of this.#waiting.values()) {
        const item = own[round];
        if (item !== undefined) items.push(item);
        if (items.length === most) break;
      }
    }
    return items;
  }

  /** Removes an item that was served: the entity's next turn comes after the turns of all others. */
  served(entityId: string, item: Item): void {
    const own = this.#waiting.get(entityId);
    if (own === undefined || !this.#remove(entityId, own, item) || own.length === 0) return;
    this.#waiting.delete(entityId);
    this.#waiting.set(entityId, own);
  }

  /** Removes an item that does not wait any longer. The turns stay as they are. */
  remove(entityId: string, item: Item): void {
    const own = this.#waiting.get(entityId);
    if (own !== undefined) this.#remove(entityId, own, item);
  }

  #remove(entityId: string, own: Item[], item: Item): boolean {
    const index = own.indexOf(item);
    if (index === -1) return false;
    own.splice(index, 1);
    this.#size--;
    if (own.length === 0) this.#waiting.delete(entityId);
    return true;
  }
}
