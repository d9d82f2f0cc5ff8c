import type { DestinationKey } from '../../domain/destination.ts';
import type { AttemptResult, HealthClass } from './destination-health.ts';
import { type DestinationState, DestinationStates, heldBy } from './destination-states.ts';
import { type EntityUse, noUse, SlotShares } from './slot-shares.ts';

/**
 * The deliveries that this process holds, and the only owner of the slots of a destination.
 *
 *   state       entered by    left by
 *   reserved    reserve       enqueue, release
 *   queued      enqueue       start, takeOverdue, drain
 *   in flight   start         finish
 *
 * A delivery is reserved while it is accepted or claimed, queued once that is committed, and in flight during its
 * attempt; after that it is gone from here. A destination holds `reserved + queued + in flight` deliveries. As many of
 * them as it has slots may be in flight, and the others wait for one of those to end:
 *
 *   in flight ≤ slots ≤ held, and slots ≥ 1 where held ≥ 1
 *
 * so nothing that is queued here depends on another destination. The window of the destination (`DestinationHealth`)
 * and what others use (`SlotShares`) decide how many slots it may have.
 */

/** Much longer than a queue should take: the destination has become slow, and another instance may be free. */
const MAX_WAIT_MS = 1_000;

export type LocalQueueOptions = {
  /** How many attempts may be in flight in this process. */
  readonly slots: number;
  /** How many deliveries it may hold beyond these. */
  readonly queuePlaces: number;
  /** How many attempts one destination may have in flight. */
  readonly cap: number;
  readonly nowMs?: () => number;
};

export class LocalQueue<Delivery extends { readonly destination: DestinationKey }> {
  readonly #states: DestinationStates<Delivery>;
  readonly #shares: SlotShares;
  readonly #nowMs: () => number;
  #inFlight = 0;
  #breakersOpen = 0;

  constructor({ slots, queuePlaces, cap, nowMs = () => performance.now() }: LocalQueueOptions) {
    this.#states = new DestinationStates(cap);
    this.#shares = new SlotShares(slots, queuePlaces);
    this.#nowMs = nowMs;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Deliveries held beyond the slots of their destinations. */
  get queued(): number {
    return this.#shares.queued;
  }

  get freeSlots(): number {
    return this.#shares.freeSlots;
  }

  /** Destinations that had five failures in a row and are probed by one attempt at a time. */
  get breakersOpen(): number {
    return this.#breakersOpen;
  }

  healthClass(destination: DestinationKey): HealthClass {
    return this.#states.get(destination)?.health.class ?? 'untried';
  }

  /** Whether anything of the destination is here, so that `finish`, `release` or `takeOverdue` will follow. */
  holds(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && heldBy(state) > 0;
  }

  /** Whether its queue is more than half full: a claim for it would not be worth its commit yet. */
  isStocked(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && state.countedQueued > 0 && state.countedQueued * 2 > state.health.maxQueued;
  }

  /** Reserves up to `most` places at the destination, and returns how many. */
  reserve(destination: DestinationKey, most = 1): number {
    const known = this.#states.get(destination);
    const state = known ?? this.#states.create(destination);
    if (known !== undefined && heldBy(known) === 0) known.health.resume(this.#nowMs());
    let reserved = 0;
    while (reserved < most && this.#reserveOne(state)) reserved++;
    if (known === undefined && reserved > 0) this.#remember(state);
    return reserved;
  }

  /** Nothing will come for these reservations. */
  release(destination: DestinationKey, count = 1): void {
    const state = this.#stateOf(destination);
    state.reserved -= count;
    this.#fit(state);
  }

  /** The delivery that a reservation was made for is committed. */
  enqueue(delivery: Delivery): void {
    const state = this.#stateOf(delivery.destination);
    state.reserved--;
    state.queue.push({ delivery, sinceMs: this.#nowMs() });
    assertSums(state);
  }

  /** The next delivery of the destination that may start, which is in flight from now on. */
  start(destination: DestinationKey): Delivery | null {
    const state = this.#states.get(destination);
    if (state === undefined || state.inFlight >= state.slots) return null;
    const first = state.queue.shift();
    if (first === undefined) return null;
    state.inFlight++;
    this.#inFlight++;
    return first.delivery;
  }

  finish(destination: DestinationKey, result: AttemptResult, durationMs: number): void {
    const state = this.#stateOf(destination);
    const { health } = state;
    const wasOpen = health.isBreakerOpen;
    health.note(result, durationMs, this.#nowMs());
    if (health.isBreakerOpen !== wasOpen) this.#breakersOpen += wasOpen ? -1 : 1;
    state.inFlight--;
    this.#inFlight--;
    this.#fit(state);
  }

  /** The whole queue of a destination whose breaker is open or whose first delivery has waited too long. */
  takeOverdue(destination: DestinationKey): Delivery[] {
    const state = this.#states.get(destination);
    const first = state?.queue.first;
    if (state === undefined || first === undefined) return [];
    const isOverdue = state.health.isBreakerOpen || this.#nowMs() - first.sinceMs > MAX_WAIT_MS;
    return isOverdue ? this.#takeQueue(state) : [];
  }

  /** All that is queued, because the process stops. */
  drain(): Delivery[] {
    return [...this.#states.values()].flatMap((state) => this.#takeQueue(state));
  }

  /** Throws if a total differs from the sum over all destinations. For tests: it reads every destination. */
  checkSums(): void {
    const shares = new SlotShares(0, 0);
    const uses = new Map<EntityUse, EntityUse>();
    let inFlight = 0;
    for (const state of this.#states.values()) {
      assertSums(state);
      const use = uses.get(state.entity) ?? noUse();
      uses.set(state.entity, use);
      shares.count(use, state.health.class, state.slots, heldBy(state) - state.slots);
      inFlight += state.inFlight;
    }
    const totals = [this.#inFlight, ...this.#shares.totals, ...[...uses.keys()].flatMap(numbersOf)];
    const sums = [inFlight, ...shares.totals, ...[...uses.values()].flatMap(numbersOf)];
    if (totals.join() !== sums.join()) throw new Error(`the totals ${totals} differ from the sums ${sums}`);
  }

  #reserveOne(state: DestinationState<Delivery>): boolean {
    const { entity, health } = state;
    const isNext = state.countedQueued === 0;
    if (isNext && state.slots < health.window && this.#shares.allowSlot(entity, health.class, state.slots === 0)) {
      this.#addSlot(state);
    } else if (state.slots > 0 && state.countedQueued < health.maxQueued && this.#shares.allowQueued(entity)) {
      state.countedQueued++;
      this.#shares.count(entity, health.class, 0, 1);
    } else return false;
    state.reserved++;
    return true;
  }

  #addSlot(state: DestinationState<Delivery>): void {
    state.slots++;
    this.#shares.count(state.entity, state.health.class, 1, 0);
  }

  /** After a destination has lost deliveries: slots that it cannot use go back, and its queue gets new ones. */
  #fit(state: DestinationState<Delivery>): void {
    const { entity, health } = state;
    const held = heldBy(state);
    const most = Math.min(held, health.window);
    this.#shares.count(entity, state.countedClass, -state.slots, -state.countedQueued);
    state.slots = Math.max(state.inFlight, Math.min(state.slots, most));
    state.countedQueued = held - state.slots;
    state.countedClass = health.class;
    this.#shares.count(entity, health.class, state.slots, state.countedQueued);
    while (state.slots < most && this.#shares.allowSlot(entity, health.class, false)) {
      this.#addSlot(state);
      state.countedQueued--;
      this.#shares.count(entity, health.class, 0, -1);
    }
    assertSums(state);
  }

  #takeQueue(state: DestinationState<Delivery>): Delivery[] {
    const taken = state.queue.takeAll();
    if (taken.length > 0) this.#fit(state);
    return taken.map(({ delivery }) => delivery);
  }

  #stateOf(destination: DestinationKey): DestinationState<Delivery> {
    const state = this.#states.get(destination);
    if (state === undefined) throw new Error(`nothing is held for ${destination}`);
    return state;
  }

  #remember(state: DestinationState<Delivery>): void {
    for (const { health } of this.#states.remember(state)) if (health.isBreakerOpen) this.#breakersOpen--;
  }
}

function numbersOf({ slots, untried, failing, queued }: EntityUse): number[] {
  return [slots, untried, failing, queued];
}

function assertSums(state: DestinationState<unknown>): void {
  const { destination, reserved, queue, inFlight, slots, countedQueued } = state;
  const held = heldBy(state);
  const isRight = reserved >= 0 && inFlight >= 0 && inFlight <= slots && slots + countedQueued === held;
  if (isRight && countedQueued >= 0 && (slots > 0 || held === 0)) return;
  const numbers = { reserved, queued: queue.length, inFlight, slots, countedQueued };
  throw new Error(`the slots of ${destination} do not add up: ${JSON.stringify(numbers)}`);
}
