import { type DestinationKey, entityOfDestination, rateOf } from '../../domain/post-url.ts';
import type { AttemptResult, HealthClass } from './destination-health.ts';
import {
  allowedNow,
  assertSums,
  type DestinationState,
  forgetIdle,
  heldBy,
  type Limit,
  newState,
  waitingIn,
} from './destination-state.ts';
import type { FleetShare } from './fleet-share.ts';
import { type Capacity, type EntityUse, noUse, SlotShares } from './slot-shares.ts';

/**
 * Holds the deliveries of this process and owns the slots of every destination. No other module changes a slot count.
 *
 *   state       entered by    left by
 *   reserved    reserve       enqueue, release
 *   queued      enqueue       start, takeOverdue, drain
 *   in flight   start         finish
 *
 * Acceptance and claims reserve a place before they commit, and enqueue the delivery after the commit. `finish` removes
 * it. A destination holds `reserved + queued + in flight` deliveries. Each slot lets one of them be in flight; the
 * others wait for a slot of the same destination:
 *
 *   in flight ≤ slots ≤ held, and slots ≥ 1 if held ≥ 1
 *
 * A queued delivery therefore never waits for another destination. `DestinationHealth` sets the window of a
 * destination, and `SlotShares` limits its slots by the use of all others. If the destination has a rate limit
 * (`Pace`), it holds only deliveries that may start now; the others wait in the database. While a destination is
 * paused, or all are, none is reserved.
 */

/** Wait after which a queue is returned. The destination has become slow, and another instance may be free. */
const MAX_WAIT_MS = 1_000;

export type LocalQueueOptions<Delivery> = Capacity & {
  /** How many attempts one destination may have in flight, until `limitDestinations` changes the number. */
  readonly destinationCap: number;
  readonly sizeOf: (delivery: Delivery) => number;
  readonly nowMs?: () => number;
};

export class LocalQueue<Delivery extends { readonly destination: DestinationKey }> {
  readonly #states = new Map<DestinationKey, DestinationState<Delivery>>();
  /** Entities that hold at least one slot. */
  readonly #entities = new Map<string, EntityUse>();
  readonly #shares: SlotShares;
  readonly #nowMs: () => number;
  /** For destinations without a rate limit. */
  readonly #limit: Limit;
  /** Null until the share is known. Until then, this instance sends as if it were alone. */
  #fleet: FleetShare | null = null;
  #inFlight = 0;
  #breakersOpen = 0;
  #pausedUntilMs = 0;

  constructor(private readonly options: LocalQueueOptions<Delivery>) {
    this.#shares = new SlotShares(options);
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#limit = { cap: options.destinationCap, instances: 1 };
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Deliveries held beyond the slots of their destinations. */
  get queued(): number {
    return this.#shares.used.queued;
  }

  get freeSlots(): number {
    return this.options.slots - this.#shares.used.slots;
  }

  /** Destinations that had five failures in a row and get one request at a time until one succeeds. */
  get breakersOpen(): number {
    return this.#breakersOpen;
  }

  /**
   * Sets how many attempts one destination may have in flight. Attempts above the new limit end normally, and no attempt replaces
   * them. This process still sends the deliveries it holds for destinations that now belong to other instances.
   */
  limitDestinations(fleet: FleetShare): void {
    this.#fleet = fleet;
    Object.assign(this.#limit, fleet.shareOf(null));
    for (const state of this.#states.values()) {
      if (state.pace !== null) Object.assign(state.limit, fleet.shareOf(state.pace.perSecond));
      if (heldBy(state) > 0) this.#fit(state);
    }
  }

  /** Whether this instance sends to the destination, and not only other instances. */
  sendsTo(destination: DestinationKey): boolean {
    return this.#fleet?.sendsTo(destination) ?? true;
  }

  healthClass(destination: DestinationKey): HealthClass {
    return this.#states.get(destination)?.health.class ?? 'untried';
  }

  /**
   * Whether this queue holds a delivery of the destination, so that `finish`, `release` or `takeOverdue` will follow.
   */
  holds(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && heldBy(state) > 0;
  }

  /** Whether the destination's queue is more than half full, so that a claim is not worth its commit yet. */
  isStocked(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && state.countedQueued > 0 && state.countedQueued * 2 > state.health.maxQueued;
  }

  /** How long the destination's rate limit or pause keeps it from another delivery; 0 without either. */
  pacedForMs(destination: DestinationKey): number {
    const state = this.#states.get(destination);
    if (state === undefined) return 0;
    const nowMs = this.#nowMs();
    return Math.max(0, state.pausedUntilMs - nowMs, state.pace?.waitMs(waitingIn(state) + 1, nowMs) ?? 0);
  }

  /** How long all destinations are paused. */
  get pausedForMs(): number {
    return this.#pausedUntilMs === 0 ? 0 : Math.max(0, this.#pausedUntilMs - this.#nowMs());
  }

  /** Pauses a destination, or all destinations (null), because this machine cannot open more connections to it. */
  pause(destination: DestinationKey | null, ms: number): void {
    const untilMs = this.#nowMs() + ms;
    if (destination === null) this.#pausedUntilMs = untilMs;
    else this.#stateOf(destination).pausedUntilMs = untilMs;
  }

  /** Reserves up to `most` places at the destination, and returns how many. */
  reserve(destination: DestinationKey, most = 1): number {
    if (!this.sendsTo(destination) || this.pausedForMs > 0) return 0;
    const known = this.#states.get(destination);
    const state = known ?? this.#newState(destination);
    const isIdle = heldBy(state) === 0;
    const entityId = isIdle ? entityOfDestination(destination) : '';
    if (isIdle) {
      state.entity = this.#entities.get(entityId) ?? noUse();
      state.health.resume(this.#nowMs());
    }
    let reserved = 0;
    const allowed = Math.min(most, allowedNow(state, this.#nowMs));
    while (reserved < allowed && this.#reserveOne(state)) reserved++;
    if (isIdle && reserved > 0) this.#entities.set(entityId, state.entity);
    if (known === undefined && reserved > 0) this.#remember(state);
    return reserved;
  }

  /** Releases reservations for which no delivery will come. */
  release(destination: DestinationKey, count = 1): void {
    const state = this.#stateOf(destination);
    state.reserved -= count;
    this.#fit(state);
  }

  /** Turns a reservation into a queued delivery, after the commit of the delivery. */
  enqueue(delivery: Delivery): void {
    const { destination } = delivery;
    const state = this.#stateOf(destination);
    // Checked before any change, so that deliveries with a reservation are still sent.
    if (state.reserved === 0) throw new Error(`the slots of ${destination} do not add up: no place is reserved`);
    state.reserved--;
    state.queue.push({ delivery, sinceMs: this.#nowMs() });
    this.#shares.countBytes(state.entity, this.options.sizeOf(delivery));
  }

  /** The next delivery of the destination that may start, which is in flight from now on. */
  start(destination: DestinationKey): Delivery | null {
    const state = this.#states.get(destination);
    if (state === undefined || state.inFlight >= state.slots) return null;
    const first = state.queue.shift();
    if (first === undefined) return null;
    state.pace?.take(this.#nowMs());
    state.inFlight++;
    this.#inFlight++;
    return first.delivery;
  }

  finish(delivery: Delivery, result: AttemptResult, durationMs: number): void {
    const state = this.#stateOf(delivery.destination);
    const { health } = state;
    const wasOpen = health.isBreakerOpen;
    health.note(result, durationMs, this.#nowMs());
    if (health.isBreakerOpen !== wasOpen) this.#breakersOpen += wasOpen ? -1 : 1;
    state.inFlight--;
    this.#inFlight--;
    this.#shares.countBytes(state.entity, -this.options.sizeOf(delivery));
    this.#fit(state);
  }

  /** Takes the whole queue of a destination that is paused, whose breaker is open or whose first delivery has waited too long. */
  takeOverdue(destination: DestinationKey): Delivery[] {
    const state = this.#states.get(destination);
    const first = state?.queue[0];
    if (state === undefined || first === undefined) return [];
    const isPaused = Math.max(this.#pausedUntilMs, state.pausedUntilMs) > this.#nowMs();
    const isOverdue = state.health.isBreakerOpen || this.#nowMs() - first.sinceMs > MAX_WAIT_MS;
    return isPaused || isOverdue ? this.#takeQueue(state) : [];
  }

  /** Takes all queued deliveries, because the process stops. */
  drain(): Delivery[] {
    return [...this.#states.values()].flatMap((state) => this.#takeQueue(state));
  }

  /** Throws if a total differs from the sum over all destinations. For tests: it reads every destination. */
  checkSums(): void {
    const shares = new SlotShares(this.options);
    const uses = new Map<EntityUse, EntityUse>([...this.#entities.values()].map((entity) => [entity, noUse()]));
    let inFlight = 0;
    for (const state of this.#states.values()) {
      assertSums(state);
      shares.count(uses.get(state.entity) ?? noUse(), state.health.class, state.slots, heldBy(state) - state.slots);
      inFlight += state.inFlight;
    }
    for (const [entity, use] of uses) shares.countBytes(use, entity.bytes);
    const totals = JSON.stringify([this.#inFlight, this.#shares.used, ...uses.keys()]);
    const sums = JSON.stringify([inFlight, shares.used, ...uses.values()]);
    if (totals !== sums) throw new Error(`the totals ${totals} differ from the sums ${sums}`);
  }

  #reserveOne(state: DestinationState<Delivery>): boolean {
    const { entity, health } = state;
    const isNext = state.countedQueued === 0;
    if (isNext && state.slots < health.window && this.#shares.allowSlot(entity, health.class, state.slots === 0)) {
      state.slots++;
      this.#shares.count(entity, health.class, 1, 0);
    } else if (state.slots > 0 && state.countedQueued < health.maxQueued && this.#shares.allowQueued(entity)) {
      state.countedQueued++;
      this.#shares.count(entity, health.class, 0, 1);
    } else return false;
    state.reserved++;
    return true;
  }

  /**
   * Fits the slots of a destination to its deliveries and its window: returns unused slots, and requests new ones for
   * its queue.
   */
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
      state.slots++;
      state.countedQueued--;
      this.#shares.count(entity, health.class, 1, -1);
    }
    if (entity.slots === 0) this.#entities.delete(entityOfDestination(state.destination));
    assertSums(state);
  }

  #takeQueue(state: DestinationState<Delivery>): Delivery[] {
    const taken = state.queue.map(({ delivery }) => delivery);
    if (taken.length === 0) return [];
    state.queue = [];
    for (const delivery of taken) this.#shares.countBytes(state.entity, -this.options.sizeOf(delivery));
    this.#fit(state);
    return taken;
  }

  #stateOf(destination: DestinationKey): DestinationState<Delivery> {
    const state = this.#states.get(destination);
    if (state === undefined) throw new Error(`nothing is held for ${destination}`);
    return state;
  }

  #newState(destination: DestinationKey): DestinationState<Delivery> {
    const rate = rateOf(destination);
    const limit = rate === null ? this.#limit : { ...this.#limit, ...this.#fleet?.shareOf(rate) };
    return newState(destination, limit, rate, this.#nowMs());
  }

  #remember(state: DestinationState<Delivery>): void {
    this.#states.set(state.destination, state);
    for (const { health } of forgetIdle(this.#states)) if (health.isBreakerOpen) this.#breakersOpen--;
  }
}
