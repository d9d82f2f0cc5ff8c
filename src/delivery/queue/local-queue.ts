import { isSuccess, type Outcome, showsDestinationUnhealthy } from '../../domain/attempt.ts';
import type { DestinationKey } from '../../domain/destination.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { returnClaims } from '../../store/deliveries/claim.ts';
import type { Sendable } from '../../store/deliveries/claimed.ts';
import type { AttemptRecord } from '../../store/deliveries/record-attempts.ts';
import { type AttemptTools, makeAttempt } from '../attempt.ts';
import { type AttemptResult, Destinations } from './destination-health.ts';

/*
 * States of a delivery in this process:
 *
 *   reserved   has a slot at its destination, but its acceptance or its claim is not in the queue yet
 *   queued     is claimed by this process, has a slot, and waits for its destination
 *   in flight  its request is being made
 *   finished   has an outcome that waits to be recorded; its slot is released
 *
 * Transitions:
 *
 *   none      → reserved   reserve         an event is being accepted, or a delivery was claimed from the store
 *   reserved  → none       cancel          the acceptance failed
 *   reserved  → none       reject          the process is stopping; the claim is returned to the store
 *   reserved  → queued     enqueue         the acceptance or the claim is committed
 *   queued    → in flight  #startNext      the destination may have one more request in flight
 *   queued    → none       #returnOverdue  the destination is unhealthy or has become slow; the claim is returned
 *   queued    → none       drain           the process is stopping; the claim is returned
 *   in flight → finished   #finish         the request has an outcome
 *   in flight → none       #abandon        the request could not be prepared; the delivery is due when its lease expires
 *   finished  → none       forget          the outcome is recorded, or another instance has claimed the delivery
 */

/** Far longer than a queue takes: the destination has become slow, and another instance may reach it. */
const MAX_WAIT_MS = 1_000;

export type LocalQueueOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly tools: AttemptTools;
  /** Requests in flight to one destination. */
  readonly destinationCap: number;
  /** Requests in flight to all destinations together. */
  readonly totalCap: number;
  readonly onFinished: (record: AttemptRecord) => void;
  /** A slot was released at the destination. */
  readonly onReleased: (destination: DestinationKey) => void;
  /** Claims were returned: deliveries to the destination are due in the store. */
  readonly onReturned: (destination: DestinationKey) => void;
};

type Queued = { readonly delivery: Sendable; readonly sinceMs: number };

/** The deliveries that this process holds: first come, first served at each destination. */
export class LocalQueue {
  readonly destinations: Destinations;
  readonly #queues = new Map<DestinationKey, Queued[]>();
  /** By delivery id, from `enqueue` to `forget`. */
  readonly #held = new Map<string, Sendable>();
  readonly #returning = new Set<Promise<void>>();
  #inFlight = 0;

  constructor(private readonly options: LocalQueueOptions) {
    this.destinations = new Destinations(options.destinationCap, options.totalCap);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  find(deliveryId: string): Sendable | undefined {
    return this.#held.get(deliveryId);
  }

  forget(deliveryId: string): void {
    this.#held.delete(deliveryId);
  }

  /** Takes a slot at the destination, if one is free. */
  reserve(destination: DestinationKey): boolean {
    if (this.destinations.freeSlotsAt(destination) <= 0) return false;
    this.destinations.reserve(destination);
    return true;
  }

  cancel(deliveries: readonly Pick<Sendable, 'destination'>[]): void {
    for (const { destination } of deliveries) {
      this.destinations.release(destination);
      this.options.onReleased(destination);
    }
  }

  /** Each delivery has its slot already. */
  enqueue(deliveries: readonly Sendable[]): void {
    const sinceMs = performance.now();
    for (const delivery of deliveries) {
      this.#held.set(delivery.deliveryId, delivery);
      const queue = this.#queues.get(delivery.destination);
      if (queue !== undefined) queue.push({ delivery, sinceMs });
      else this.#queues.set(delivery.destination, [{ delivery, sinceMs }]);
    }
    for (const { destination } of deliveries) this.#startNext(destination);
  }

  /** For deliveries that were accepted or claimed while the process was already stopping. */
  reject(deliveries: readonly Sendable[]): void {
    this.cancel(deliveries);
    void this.#returnClaims(deliveries);
  }

  /** Returns the claims of everything that is not in flight. */
  drain(): void {
    const queued = [...this.#queues.keys()].flatMap((destination) => this.#dequeueAll(destination));
    void this.#returnClaims(queued);
  }

  /** Resolves when the store has all claims that were returned so far. */
  async claimsReturned(): Promise<void> {
    while (this.#returning.size > 0) await Promise.all(this.#returning);
  }

  #startNext(destination: DestinationKey): void {
    const queue = this.#queues.get(destination);
    if (queue === undefined) return;
    while (this.destinations.mayStart(destination)) {
      const next = queue.shift();
      if (next === undefined) break;
      this.destinations.start(destination);
      void this.#attempt(next.delivery);
    }
    if (queue.length === 0) this.#queues.delete(destination);
  }

  async #attempt(delivery: Sendable): Promise<void> {
    this.#inFlight++;
    let record: AttemptRecord;
    try {
      record = await makeAttempt(this.options.tools, delivery);
    } catch (error) {
      this.#abandon(delivery, error);
      return;
    }
    this.#finish(record);
  }

  #finish(record: AttemptRecord): void {
    const { delivery, outcome } = record;
    this.options.onFinished(record);
    this.#release(delivery.destination, resultOf(outcome), outcome.durationMs);
  }

  /** Nothing was sent, so this is no attempt. */
  #abandon(delivery: Sendable, error: unknown): void {
    const { entityId, deliveryId, destination } = delivery;
    this.forget(deliveryId);
    const message = 'a delivery could not be prepared; it is retried when its lease expires';
    this.options.log.warn({ err: error, entityId, deliveryId }, message);
    this.#release(destination, 'other', 0);
  }

  #release(destination: DestinationKey, result: AttemptResult, durationMs: number): void {
    this.#inFlight--;
    this.destinations.finish(destination, result, durationMs);
    if (this.#isOverdue(destination)) this.#returnOverdue(destination);
    else this.#startNext(destination);
    this.options.onReleased(destination);
  }

  #isOverdue(destination: DestinationKey): boolean {
    const first = this.#queues.get(destination)?.[0];
    if (first === undefined) return false;
    return this.destinations.isUnhealthy(destination) || performance.now() - first.sinceMs > MAX_WAIT_MS;
  }

  #returnOverdue(destination: DestinationKey): void {
    const { onReturned } = this.options;
    void this.#returnClaims(this.#dequeueAll(destination)).then(() => onReturned(destination));
  }

  #dequeueAll(destination: DestinationKey): Sendable[] {
    const queue = this.#queues.get(destination) ?? [];
    this.#queues.delete(destination);
    for (let released = 0; released < queue.length; released++) this.destinations.release(destination);
    return queue.map(({ delivery }) => delivery);
  }

  async #returnClaims(deliveries: readonly Sendable[]): Promise<void> {
    if (deliveries.length === 0) return;
    for (const { deliveryId } of deliveries) this.forget(deliveryId);
    const returning = this.#writeReturned(deliveries).finally(() => this.#returning.delete(returning));
    this.#returning.add(returning);
    await returning;
  }

  async #writeReturned(deliveries: readonly Sendable[]): Promise<void> {
    const { db, log } = this.options;
    try {
      await db.transaction((queries) => returnClaims(db, queries, deliveries));
    } catch (error) {
      log.warn({ err: error }, 'claims could not be returned; the deliveries are due again when their leases expire');
    }
  }
}

function resultOf(outcome: Outcome): AttemptResult {
  if (isSuccess(outcome)) return 'success';
  return showsDestinationUnhealthy(outcome) ? 'unhealthy' : 'other';
}
