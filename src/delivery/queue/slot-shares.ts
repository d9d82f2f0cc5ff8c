import type { HealthClass } from './destination-health.ts';

/** Destinations that have not succeeded yet, and those whose last attempt failed, use no more than this of all slots. */
const UNPROVEN_SHARE = 3 / 4;
/** Of these, the destinations whose last attempt failed. */
const FAILING_SHARE = 1 / 4;
/** The last slots are for the first attempt of a destination, and in a class for the entities with the fewest. */
const LAST_SHARE = 1 / 16;
/** An entity uses at most this many times as many slots as are free: eight ninths of all when it is alone. */
const ENTITY_FACTOR = 8;

/** What the destinations of one entity use together. */
export type EntityUse = {
  slots: number;
  /** Those of `slots` that belong to destinations of these classes. */
  untried: number;
  failing: number;
  /** Deliveries held beyond the slots. */
  queued: number;
};

export function noUse(): EntityUse {
  return { slots: 0, untried: 0, failing: 0, queued: 0 };
}

/**
 * Divides a fixed number of slots, and of places in the local queue, between entities and health classes.
 *
 * Every limit is relative to what is free at the moment (a dynamic threshold): one busy entity may use most of the
 * slots, a crowd leaves less to each of its members, and something always remains for an entity that uses nothing yet.
 * No limit is ever below one, so that every destination makes progress with any number of slots.
 */
export class SlotShares {
  readonly #unprovenMax: number;
  readonly #failingMax: number;
  readonly #last: number;
  #used = 0;
  #untried = 0;
  #failing = 0;
  #queued = 0;

  constructor(
    private readonly slots: number,
    private readonly queuePlaces: number,
  ) {
    this.#unprovenMax = Math.max(1, Math.floor(slots * UNPROVEN_SHARE));
    this.#failingMax = Math.max(1, Math.floor(slots * FAILING_SHARE));
    this.#last = Math.floor(slots * LAST_SHARE);
  }

  get freeSlots(): number {
    return this.slots - this.#used;
  }

  get queued(): number {
    return this.#queued;
  }

  get totals(): readonly number[] {
    return [this.#used, this.#untried, this.#failing, this.#queued];
  }

  /** Whether the entity may use one more slot for a destination of that class. */
  allowSlot(entity: EntityUse, healthClass: HealthClass, isFirst: boolean): boolean {
    const free = this.freeSlots;
    if (free <= (isFirst ? 0 : this.#last)) return false;
    if (entity.slots >= free * ENTITY_FACTOR) return false;
    if (healthClass === 'proven') return true;
    // Proven destinations that begin to fail may use more than the share of the failing: not at the cost of the untried.
    const unprovenFree = this.#unprovenMax - this.#untried - Math.min(this.#failing, this.#failingMax);
    if (healthClass === 'untried') return isWithinShare(entity.untried, unprovenFree, this.#unprovenMax);
    const failingFree = Math.min(this.#failingMax - this.#failing, unprovenFree);
    return isWithinShare(entity.failing, failingFree, this.#failingMax);
  }

  /** Whether the entity may hold one more delivery that waits for a slot. */
  allowQueued(entity: EntityUse): boolean {
    return entity.queued < this.queuePlaces - this.#queued;
  }

  /** Counts slots and queued deliveries of a destination; negative numbers when it no longer has them. */
  count(entity: EntityUse, healthClass: HealthClass, slots: number, queued: number): void {
    this.#used += slots;
    entity.slots += slots;
    this.#queued += queued;
    entity.queued += queued;
    if (healthClass === 'untried') {
      this.#untried += slots;
      entity.untried += slots;
    } else if (healthClass === 'failing') {
      this.#failing += slots;
      entity.failing += slots;
    }
  }
}

/** An entity has no more slots of a class than are free in it, and of the last ones much less. */
function isWithinShare(used: number, free: number, max: number): boolean {
  return used < (free > max * LAST_SHARE ? free : free * LAST_SHARE);
}
