import type { DestinationKey } from '../../domain/post-url.ts';
import { DestinationHealth, type DestinationLimit, type HealthClass } from './destination-health.ts';
import { Pace, type PaceShare } from './pace.ts';
import { type EntityUse, noUse } from './slot-shares.ts';

type Queued<Delivery> = { readonly delivery: Delivery; readonly sinceMs: number };

export type Limit = DestinationLimit & PaceShare;

/** The deliveries that the local queue holds for one destination. The queue alone changes the counts. */
export type DestinationState<Delivery> = {
  readonly destination: DestinationKey;
  readonly health: DestinationHealth;
  /** Null without a rate limit. */
  readonly pace: Pace | null;
  readonly limit: Limit;
  /** One object for all destinations of the entity that hold a delivery. */
  entity: EntityUse;
  reserved: number;
  queue: Queued<Delivery>[];
  inFlight: number;
  slots: number;
  pausedUntilMs: number;
  /** The values that `SlotShares` has counted: the deliveries beyond the slots, and the class of the slots. */
  countedQueued: number;
  countedClass: HealthClass;
};

export function newState<Delivery>(
  destination: DestinationKey,
  limit: Limit,
  rate: number | null,
  nowMs: number,
): DestinationState<Delivery> {
  return {
    destination,
    limit,
    health: new DestinationHealth(limit),
    pace: rate === null ? null : new Pace(rate, limit, nowMs),
    entity: noUse(),
    reserved: 0,
    queue: [],
    inFlight: 0,
    slots: 0,
    pausedUntilMs: 0,
    countedQueued: 0,
    countedClass: 'untried',
  };
}

/** Deliveries that the destination holds and that have not started. */
export function waitingIn({ reserved, queue }: DestinationState<unknown>): number {
  return reserved + queue.length;
}

export function heldBy({ reserved, queue, inFlight }: DestinationState<unknown>): number {
  return reserved + queue.length + inFlight;
}

/** How many deliveries a pause and the rate limit let start now, beyond those that wait. */
export function allowedNow(state: DestinationState<unknown>, nowMs: () => number): number {
  if (state.pausedUntilMs > 0 && state.pausedUntilMs > nowMs()) return 0;
  if (state.pace === null) return Number.POSITIVE_INFINITY;
  return state.pace.available(nowMs()) - waitingIn(state);
}

export function assertSums(state: DestinationState<unknown>): void {
  const { destination, reserved, queue, inFlight, slots, countedQueued } = state;
  const held = heldBy(state);
  const isRight = reserved >= 0 && inFlight >= 0 && inFlight <= slots && slots + countedQueued === held;
  if (isRight && countedQueued >= 0 && (slots > 0 || held === 0)) return;
  const numbers = JSON.stringify({ reserved, queued: queue.length, inFlight, slots, countedQueued });
  throw new Error(`the slots of ${destination} do not add up: ${numbers}`);
}

/** Limit on the remembered destinations. A forgotten destination starts again with a window of one. */
const MAX_REMEMBERED = 50_000;
/** Forgets many at a time, because each search also reads the destinations that hold deliveries. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets destinations that hold nothing if very many are remembered. Returns the forgotten ones. */
export function forgetIdle<Delivery>(
  states: Map<DestinationKey, DestinationState<Delivery>>,
): readonly DestinationState<Delivery>[] {
  if (states.size <= MAX_REMEMBERED) return [];
  const forgotten: DestinationState<Delivery>[] = [];
  for (const state of states.values()) {
    if (heldBy(state) > 0) continue;
    states.delete(state.destination);
    if (forgotten.push(state) === FORGOTTEN_AT_ONCE) break;
  }
  return forgotten;
}
