import { BoundedMap } from '../bounded-map.ts';

/** How many entities are remembered. A forgotten entity counts as one that was never served. */
const MAX_REMEMBERED = 10_000;

/**
 * Items of several entities that wait for a shared resource. The entities take turns: the entity that was served longest ago is
 * next, with its item that has waited longest. An entity with thousands of items delays another entity by one item.
 */
export class Turns<Item> {
  /** Waiting items by entity. A list is never empty. */
  readonly #waiting = new Map<string, Item[]>();
  /** The entities that wait, in the order of their turns. */
  readonly #order: string[] = [];
  /** When each entity was last served, as a count of all items served. */
  readonly #servedAt = new BoundedMap<string, number>(MAX_REMEMBERED);
  #served = 0;
  #size = 0;

  /** How many items wait, of one entity or of all. */
  sizeOf(entityId?: string): number {
    return entityId === undefined ? this.#size : (this.#waiting.get(entityId)?.length ?? 0);
  }

  /**
   * Whether one more item of the entity may wait. Above `max` items, only an entity with less than its share of `max` may add an
   * item, so that no entity can fill the queue alone. At most 2 × `max` items wait.
   */
  hasRoom(entityId: string, max: number): boolean {
    if (this.#size < max) return true;
    return this.#size < 2 * max && this.sizeOf(entityId) < max / (this.#waiting.size + 1);
  }

  push(entityId: string, item: Item): void {
    const own = this.#waiting.get(entityId);
    this.#size++;
    if (own !== undefined) {
      own.push(item);
      return;
    }
    this.#waiting.set(entityId, [item]);
    this.#enter(entityId);
  }

  /** The next items in their turns, of one entity or of all. They stay until they are removed. */
  next(count: number, entityId?: string): Item[] {
    if (entityId !== undefined) return this.#waiting.get(entityId)?.slice(0, count) ?? [];
    const items: Item[] = [];
    const most = Math.min(count, this.#size);
    for (let round = 0; items.length < most; round++) {
      for (const entity of this.#order) {
        const item = this.#waiting.get(entity)?.[round];
        if (item !== undefined) items.push(item);
        if (items.length === most) break;
      }
    }
    return items;
  }

  /** Removes an item that was served: the entity's next turn comes after the turns of all others. */
  served(entityId: string, item: Item): void {
    this.remove(entityId, item);
    this.noteServed(entityId);
  }

  /** Notes that an entity was served without waiting. */
  noteServed(entityId: string): void {
    this.#servedAt.set(entityId, ++this.#served);
    if (!this.#waiting.has(entityId)) return;
    this.#leave(entityId);
    this.#order.push(entityId);
  }

  /** Removes an item that no longer waits. The turns stay as they are. */
  remove(entityId: string, item: Item): void {
    const own = this.#waiting.get(entityId);
    const index = own?.indexOf(item) ?? -1;
    if (own === undefined || index === -1) return;
    own.splice(index, 1);
    this.#size--;
    if (own.length > 0) return;
    this.#waiting.delete(entityId);
    this.#leave(entityId);
  }

  /** Enters an entity after the waiting entities that were served before it, or were never served. */
  #enter(entityId: string): void {
    const servedAt = this.#servedAt.get(entityId) ?? 0;
    const place = this.#order.findIndex((other) => (this.#servedAt.get(other) ?? 0) > servedAt);
    if (place === -1) this.#order.push(entityId);
    else this.#order.splice(place, 0, entityId);
  }

  #leave(entityId: string): void {
    this.#order.splice(this.#order.indexOf(entityId), 1);
  }
}
