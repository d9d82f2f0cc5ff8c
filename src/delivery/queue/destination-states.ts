import { type DestinationKey, entityOfDestination } from '../../domain/destination.ts';
import { DestinationHealth, type HealthClass } from './destination-health.ts';
import { Fifo } from './fifo.ts';
import { type EntityUse, noUse } from './slot-shares.ts';

/** A destination that is forgotten starts again with a window of one, which costs it little. */
const MAX_REMEMBERED = 50_000;

/** Many at a time, because each search passes over the destinations that hold deliveries. */
const FORGOTTEN_AT_ONCE = 1_000;

const NONE: readonly never[] = [];

export type Waiting<Delivery> = { readonly delivery: Delivery; readonly sinceMs: number };

export type EntityState = EntityUse & { destinations: number };

/** What `LocalQueue` knows of one destination. */
export type DestinationState<Delivery> = {
  readonly destination: DestinationKey;
  readonly entity: EntityState;
  readonly health: DestinationHealth;
  reserved: number;
  readonly queue: Fifo<Waiting<Delivery>>;
  inFlight: number;
  slots: number;
  /** As what `SlotShares` has counted it: how many deliveries beyond the slots, and slots of which class. */
  countedQueued: number;
  countedClass: HealthClass;
};

export function heldBy({ reserved, queue, inFlight }: DestinationState<unknown>): number {
  return reserved + queue.length + inFlight;
}

/** The destinations that were used lately, and the entities they belong to. */
export class DestinationStates<Delivery> {
  readonly #states = new Map<DestinationKey, DestinationState<Delivery>>();
  readonly #entities = new Map<string, EntityState>();

  constructor(private readonly cap: number) {}

  get(destination: DestinationKey): DestinationState<Delivery> | undefined {
    return this.#states.get(destination);
  }

  values(): Iterable<DestinationState<Delivery>> {
    return this.#states.values();
  }

  /** Not remembered yet, because most of the destinations that are refused a slot would only displace others. */
  create(destination: DestinationKey): DestinationState<Delivery> {
    return {
      destination,
      entity: this.#entities.get(entityOfDestination(destination)) ?? { ...noUse(), destinations: 0 },
      health: new DestinationHealth(this.cap),
      reserved: 0,
      queue: new Fifo(),
      inFlight: 0,
      slots: 0,
      countedQueued: 0,
      countedClass: 'untried',
    };
  }

  /** Returns the states that were forgotten to make room, mostly none. */
  remember(state: DestinationState<Delivery>): readonly DestinationState<Delivery>[] {
    this.#states.set(state.destination, state);
    this.#entities.set(entityOfDestination(state.destination), state.entity);
    state.entity.destinations++;
    return this.#states.size > MAX_REMEMBERED ? this.#forgetIdle() : NONE;
  }

  #forgetIdle(): DestinationState<Delivery>[] {
    const forgotten: DestinationState<Delivery>[] = [];
    for (const [destination, state] of this.#states) {
      if (heldBy(state) > 0) continue;
      this.#states.delete(destination);
      if (--state.entity.destinations === 0) this.#entities.delete(entityOfDestination(destination));
      if (forgotten.push(state) === FORGOTTEN_AT_ONCE) break;
    }
    return forgotten;
  }
}
