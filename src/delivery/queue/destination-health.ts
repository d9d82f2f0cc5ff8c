import type { DestinationKey } from '../../domain/destination.ts';

/** After this many failures in a row a destination is unhealthy and gets one request at a time until one succeeds. */
const UNHEALTHY_AFTER = 5;

/** A destination that is forgotten counts as healthy again, until a few requests have shown otherwise. */
const MAX_REMEMBERED = 50_000;

/**
 * A destination that responds fast may have deliveries queued here, so that it does not idle while more are claimed: as
 * many as it takes in this time, and no more than this many times its cap.
 */
const QUEUE_MS = 100;
const QUEUE_CAPS = 31;

/** The weight of the latest request in the moving average of durations. */
const WEIGHT_OF_LATEST = 0.2;

/** What an attempt shows about the destination as a whole. */
export type AttemptResult = 'success' | 'unhealthy' | 'other';

type State = {
  /** Reserved, queued and in flight together. */
  slots: number;
  inFlight: number;
  failuresInARow: number;
  /** Moving average over successful requests; null before the first. */
  typicalMs: number | null;
};

/**
 * The slots and the health of each destination, in the memory of this process. A slot counts as in flight up to the
 * destination's cap, and as queued beyond it.
 */
export class Destinations {
  readonly #states = new Map<DestinationKey, State>();
  #slots = 0;
  #queued = 0;

  constructor(
    /** Requests in flight to one destination. */
    private readonly cap: number,
    /** Requests in flight to all destinations together; as many more may be queued. */
    private readonly totalCap = Number.POSITIVE_INFINITY,
  ) {}

  /** How many more requests may be in flight to all destinations together. */
  get freeSlots(): number {
    return this.totalCap - (this.#slots - this.#queued);
  }

  get queued(): number {
    return this.#queued;
  }

  /** How many more slots may be reserved at the destination. */
  freeSlotsAt(destination: DestinationKey): number {
    const state = this.#states.get(destination);
    const slots = state?.slots ?? 0;
    const limit = state === undefined ? this.cap : this.#limitOf(state);
    const inFlight = Math.max(0, Math.min(limit, this.cap) - slots);
    if (inFlight > this.freeSlots) return Math.max(0, this.freeSlots);
    const queued = Math.min(limit - Math.max(this.cap, slots), this.totalCap - this.#queued);
    return inFlight + Math.max(0, queued);
  }

  /** How many to claim: none while its queue is more than half full, so that a claim is worth its commit. */
  claimableAt(destination: DestinationKey): number {
    const state = this.#states.get(destination);
    const queued = (state?.slots ?? 0) - this.cap;
    const isHalfFull = state !== undefined && queued > 0 && queued * 2 > this.#limitOf(state) - this.cap;
    return isHalfFull ? 0 : this.freeSlotsAt(destination);
  }

  /** Whether a slot is in use here, and so will be released. */
  holdsAny(destination: DestinationKey): boolean {
    return (this.#states.get(destination)?.slots ?? 0) > 0;
  }

  reserve(destination: DestinationKey): void {
    const state = this.#stateOf(destination);
    if (state.slots >= this.cap) this.#queued++;
    state.slots++;
    this.#slots++;
  }

  release(destination: DestinationKey): void {
    const state = this.#stateOf(destination);
    state.slots--;
    if (state.slots >= this.cap) this.#queued--;
    this.#slots--;
    if (this.#states.size > MAX_REMEMBERED) this.#forgetOneIdle();
  }

  mayStart(destination: DestinationKey): boolean {
    const state = this.#stateOf(destination);
    return state.inFlight < (isUnhealthy(state) ? 1 : this.cap);
  }

  start(destination: DestinationKey): void {
    this.#stateOf(destination).inFlight++;
  }

  /** Releases the slot of a request that has ended. */
  finish(destination: DestinationKey, result: AttemptResult, durationMs: number): void {
    const state = this.#stateOf(destination);
    state.inFlight--;
    if (result === 'success') {
      state.failuresInARow = 0;
      const before = state.typicalMs ?? durationMs;
      state.typicalMs = before + (durationMs - before) * WEIGHT_OF_LATEST;
    }
    if (result === 'unhealthy') state.failuresInARow++;
    this.release(destination);
  }

  isUnhealthy(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && isUnhealthy(state);
  }

  get unhealthy(): number {
    return [...this.#states.values()].filter(isUnhealthy).length;
  }

  #stateOf(destination: DestinationKey): State {
    const known = this.#states.get(destination);
    if (known !== undefined) return known;
    const state = { slots: 0, inFlight: 0, failuresInARow: 0, typicalMs: null };
    this.#states.set(destination, state);
    return state;
  }

  /** The most slots that it may have, in flight and queued. */
  #limitOf(state: State): number {
    if (isUnhealthy(state)) return 1;
    if (state.typicalMs === null) return this.cap;
    const inTime = Math.floor((this.cap * QUEUE_MS) / Math.max(1, state.typicalMs));
    return this.cap + Math.min(inTime, this.cap * QUEUE_CAPS);
  }

  #forgetOneIdle(): void {
    for (const [destination, state] of this.#states) {
      if (state.slots > 0) continue;
      this.#states.delete(destination);
      return;
    }
  }
}

function isUnhealthy(state: State): boolean {
  return state.failuresInARow >= UNHEALTHY_AFTER;
}
