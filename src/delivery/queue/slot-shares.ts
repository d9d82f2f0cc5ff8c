import type { HealthClass } from './destination-health.ts';

/** Share of all slots for destinations without a success as their last result: untried and failing together. */
const UNPROVEN_SHARE = 3 / 4;
/** Share of all slots for destinations whose last attempt failed. */
const FAILING_SHARE = 1 / 4;
/**
 * This share of the slots is for the first attempts of destinations and, within a class, for the entities with the fewest
 * slots.
 */
const LAST_SHARE = 1 / 16;
/** An entity may use this many times as many slots as are free. If it is alone, it can use eight ninths of all slots. */
const ENTITY_FACTOR = 8;

export type Capacity = {
  /** How many attempts may be in flight. */
  readonly slots: number;
  /** How many deliveries may be held beyond the attempts in flight. */
  readonly queuePlaces: number;
  /** Limit on the size of the deliveries that are queued or in flight. Reserved deliveries may exceed it. */
  readonly bytes: number;
};

/** Capacity that the destinations of one entity use together. */
export type EntityUse = {
  slots: number;
  /** Slots among `slots` of destinations in these classes. */
  untried: number;
  failing: number;
  /** Deliveries held beyond the slots. */
  queued: number;
  bytes: number;
};

export function noUse(): EntityUse {
  return { slots: 0, untried: 0, failing: 0, queued: 0, bytes: 0 };
}

/**
 * Divides the capacity of this process between entities and health classes.
 *
 * Every limit is relative to the capacity that is free at the moment (a dynamic threshold). A single busy entity
 * may use most of it. Many busy entities get less each, and some capacity remains for an entity that uses none yet. No
 * limit is below one slot, so that every destination makes progress with any capacity.
 */
export class SlotShares {
  readonly #unprovenMax: number;
  readonly #failingMax: number;
  readonly #lastSlots: number;
  readonly #used = noUse();

  constructor(private readonly capacity: Capacity) {
    this.#unprovenMax = Math.max(1, Math.floor(capacity.slots * UNPROVEN_SHARE));
    this.#failingMax = Math.max(1, Math.floor(capacity.slots * FAILING_SHARE));
    this.#lastSlots = Math.floor(capacity.slots * LAST_SHARE);
  }

  /** The capacity that all entities use together. */
  get used(): Readonly<EntityUse> {
    return this.#used;
  }

  /** Whether the entity may use one more slot. `isFirst` if the slot is the first one of its destination. */
  allowSlot(entity: EntityUse, healthClass: HealthClass, isFirst: boolean): boolean {
    const { slots, untried, failing } = this.#used;
    const free = this.capacity.slots - slots;
    if (free <= (isFirst ? 0 : this.#lastSlots)) return false;
    if (entity.slots >= free * ENTITY_FACTOR || !this.#allowBytes(entity)) return false;
    if (healthClass === 'proven') return true;
    // Proven destinations that begin to fail may exceed the share of the failing, but not at the cost of the untried.
    const unprovenFree = this.#unprovenMax - untried - Math.min(failing, this.#failingMax);
    if (healthClass === 'untried') return isWithinShare(entity.untried, unprovenFree, this.#unprovenMax);
    return isWithinShare(entity.failing, Math.min(this.#failingMax - failing, unprovenFree), this.#failingMax);
  }

  /** Whether the entity may hold one more delivery that waits for a slot. */
  allowQueued(entity: EntityUse): boolean {
    return entity.queued < this.capacity.queuePlaces - this.#used.queued && this.#allowBytes(entity);
  }

  /** Counts slots and queued deliveries of a destination; negative numbers when it no longer has them. */
  count(entity: EntityUse, healthClass: HealthClass, slots: number, queued: number): void {
    add(entity, healthClass, slots, queued);
    add(this.#used, healthClass, slots, queued);
  }

  countBytes(entity: EntityUse, bytes: number): void {
    entity.bytes += bytes;
    this.#used.bytes += bytes;
  }

  #allowBytes(entity: EntityUse): boolean {
    return entity.bytes <= this.capacity.bytes - this.#used.bytes;
  }
}

function add(use: EntityUse, healthClass: HealthClass, slots: number, queued: number): void {
  use.slots += slots;
  use.queued += queued;
  if (healthClass !== 'proven') use[healthClass] += slots;
}

/**
 * Whether an entity may have another slot of a class: it may have as many as are free in the class, but only few of the
 * last ones.
 */
function isWithinShare(used: number, free: number, max: number): boolean {
  return used < (free > max * LAST_SHARE ? free : free * LAST_SHARE);
}
