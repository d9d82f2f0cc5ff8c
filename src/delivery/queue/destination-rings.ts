import { type DestinationKey, entityOfDestination } from '../../domain/post-url.ts';
import type { HealthClass } from './destination-health.ts';
import { Fifo } from './fifo.ts';

/** The destinations of one entity in one ring. A refused turn is skipped until `admit` allows it again. */
type Turn = { readonly entityId: string; readonly destinations: Fifo<DestinationKey>; isRefused: boolean };

/**
 * Entities take turns, and so do the destinations of each: an entity with 5,000 destinations delays another entity by
 * only one destination. Every other turn goes to an entity that has just joined, so that it does not wait behind all
 * others.
 */
class Ring {
  readonly #turns = new Map<string, Turn>();
  readonly #joined = new Fifo<Turn>();
  readonly #waiting = new Fifo<Turn>();
  /** May also list turns that were admitted since. */
  readonly #refused = new Fifo<Turn>();
  #isTurnOfJoined = true;

  add(destination: DestinationKey, hadTurn: boolean): void {
    const entityId = entityOfDestination(destination);
    const known = this.#turns.get(entityId);
    if (known !== undefined) {
      known.destinations.push(destination);
      return;
    }
    const turn = { entityId, destinations: new Fifo<DestinationKey>(), isRefused: false };
    turn.destinations.push(destination);
    this.#turns.set(entityId, turn);
    (hadTurn ? this.#waiting : this.#joined).push(turn);
  }

  next(): Turn | null {
    const [first, second] = this.#isTurnOfJoined ? [this.#joined, this.#waiting] : [this.#waiting, this.#joined];
    this.#isTurnOfJoined = !this.#isTurnOfJoined;
    return first.shift() ?? second.shift() ?? null;
  }

  end(turn: Turn): void {
    if (turn.destinations.length > 0) this.#waiting.push(turn);
    else this.#turns.delete(turn.entityId);
  }

  refuse(turn: Turn): void {
    turn.isRefused = true;
    this.#refused.push(turn);
  }

  admit(entityId: string): void {
    this.#admit(this.#turns.get(entityId));
  }

  admitSome(count: number): void {
    for (let admitted = 0; admitted < count && this.#refused.length > 0; ) {
      if (this.#admit(this.#refused.shift())) admitted++;
    }
  }

  #admit(turn: Turn | undefined): boolean {
    if (!turn?.isRefused) return false;
    turn.isRefused = false;
    this.#waiting.push(turn);
    return true;
  }
}

/** Destinations that wait to be claimed for, each once, in a ring for each health class. */
export class DestinationRings {
  readonly #rings = { proven: new Ring(), untried: new Ring(), failing: new Ring() };
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** `hadTurn`: the destination comes back after its turn, so its entity does not count as one that has just joined. */
  add(destination: DestinationKey, healthClass: HealthClass, hadTurn: boolean): void {
    this.#size++;
    this.#rings[healthClass].add(destination, hadTurn);
  }

  /**
   * Offers the destination whose turn it is, and removes it if it is taken. Null if there is none. If a destination is
   * not taken, its entity is skipped until `admit`, so that an entity without a free slot costs nothing.
   */
  offer(healthClass: HealthClass, take: (destination: DestinationKey) => boolean): boolean | null {
    const ring = this.#rings[healthClass];
    const turn = ring.next();
    const destination = turn?.destinations.shift();
    if (turn === null || destination === undefined) return null;
    const isTaken = take(destination);
    if (isTaken) {
      this.#size--;
      ring.end(turn);
    } else {
      turn.destinations.push(destination);
      ring.refuse(turn);
    }
    return isTaken;
  }

  /** Lets the entity take turns again, and also the `others` entities that were refused for longest. */
  admit(entityId: string, others: number): void {
    for (const ring of Object.values(this.#rings)) {
      ring.admit(entityId);
      ring.admitSome(others);
    }
  }
}
