import { Fifo } from '../../src/delivery/queue/fifo.ts';
import type { DestinationKey } from '../../src/domain/post-url.ts';

/** One delivery of the model. Its shard is that of its entity. */
export type Delivery = {
  readonly destination: DestinationKey;
  readonly shard: Shard;
  readonly acceptedAtMs: number;
  readonly group: string;
};

/** A database of the cluster: what is due in it, by destination, the longest due first. */
export class Shard {
  isUp = true;
  readonly #due = new Map<DestinationKey, Fifo<Delivery>>();
  /** Destinations that a claim has locked: another one passes over them. */
  readonly #locked = new Set<DestinationKey>();
  #waiting = 0;

  /** Deliveries that are due and that no instance holds. */
  get waiting(): number {
    return this.#waiting;
  }

  put(delivery: Delivery): void {
    const known = this.#due.get(delivery.destination) ?? new Fifo<Delivery>();
    known.push(delivery);
    this.#due.set(delivery.destination, known);
    this.#waiting++;
  }

  /** Reads on where the last window ended. */
  destinations(): Iterator<DestinationKey> {
    return this.#due.keys();
  }

  /** False if another claim has the lock. */
  lock(destination: DestinationKey): boolean {
    if (this.#locked.has(destination)) return false;
    this.#locked.add(destination);
    return true;
  }

  unlock(destination: DestinationKey): void {
    this.#locked.delete(destination);
  }

  /** Takes up to `most` deliveries, and gives the lock back. */
  claim(destination: DestinationKey, most: number): Delivery[] {
    this.unlock(destination);
    const due = this.#due.get(destination);
    const taken: Delivery[] = [];
    while (taken.length < most) {
      const next = due?.shift();
      if (next === undefined) break;
      taken.push(next);
    }
    if (due?.length === 0) this.#due.delete(destination);
    this.#waiting -= taken.length;
    return taken;
  }
}
