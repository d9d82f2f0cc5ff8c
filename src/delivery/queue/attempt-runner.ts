import { isSuccess, showsDestinationUnhealthy } from '../../domain/attempt.ts';
import type { DestinationKey } from '../../domain/destination.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { returnClaims } from '../../store/deliveries/claim.ts';
import type { Claimed, Sendable } from '../../store/deliveries/claimed.ts';
import type { AttemptRecord } from '../../store/deliveries/record-attempts.ts';
import { type AttemptTools, makeAttempt } from '../attempt.ts';
import { type AttemptResult, Destinations } from './destination-health.ts';
import { LocalQueue } from './local-queue.ts';

export type AttemptRunnerParts = {
  readonly db: Database;
  readonly log: Logger;
  readonly tools: AttemptTools;
  /** How many posts one destination may have under way at a time. */
  readonly cap: number;
  /** How many all of them together may. */
  readonly most: number;
  readonly onFinished: (made: AttemptRecord) => void;
  /** A place has become free at the destination. */
  readonly onFreed: (destination: DestinationKey) => void;
  /** What had been claimed for the destination is due in the store again. */
  readonly onReturned: (destination: DestinationKey) => void;
};

/** The deliveries that this process holds: in line, under way, or ended and not yet settled. */
export class AttemptRunner {
  readonly destinations: Destinations;
  readonly #lines: LocalQueue;
  readonly #held = new Map<string, Sendable>();
  #inFlight = 0;

  constructor(private readonly parts: AttemptRunnerParts) {
    this.destinations = new Destinations(parts.cap, parts.most);
    this.#lines = new LocalQueue(this.destinations);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  find(deliveryId: string): Sendable | undefined {
    return this.#held.get(deliveryId);
  }

  /** It is settled, or somebody else's. */
  forget(deliveryId: string): void {
    this.#held.delete(deliveryId);
  }

  /** For deliveries whose places are taken: each begins as soon as its destination may have one more under way. */
  begin(deliveries: readonly Sendable[]): void {
    for (const claimed of deliveries) {
      this.#held.set(claimed.deliveryId, claimed);
      this.#lines.add(claimed);
    }
    for (const { destination } of deliveries) this.#advance(destination);
  }

  /** Nothing will come of the places that were taken for these. */
  cancel(deliveries: readonly Sendable[]): void {
    for (const { destination } of deliveries) {
      this.destinations.leave(destination);
      this.parts.onFreed(destination);
    }
  }

  /** Accepted or claimed at the last moment: nothing of it begins here any more. */
  decline(deliveries: readonly Sendable[]): Promise<void> {
    this.cancel(deliveries);
    return this.#returnClaims(deliveries);
  }

  /** Whatever has not begun goes back to where anybody finds it. */
  drain(): Promise<void> {
    return this.#returnClaims(this.#lines.clearAll());
  }

  #advance(destination: DestinationKey): void {
    for (let next = this.#lines.next(destination); next !== null; next = this.#lines.next(destination)) {
      void this.#start(next);
    }
  }

  async #start(claimed: Sendable): Promise<void> {
    this.#inFlight++;
    let made: AttemptRecord;
    try {
      made = await makeAttempt(this.parts.tools, claimed);
    } catch (error) {
      this.#abandon(claimed, error);
      return;
    }
    this.#finish(made);
  }

  #finish(made: AttemptRecord): void {
    const { delivery, outcome } = made;
    this.parts.onFinished(made);
    const result = isSuccess(outcome) ? 'success' : showsDestinationUnhealthy(outcome) ? 'unwell' : 'other';
    this.#end(delivery, result, outcome.durationMs);
  }

  /** The fault is ours and nothing was sent: that is no attempt, and the end of its lease brings the delivery back. */
  #abandon(claimed: Sendable, error: unknown): void {
    const { entityId, deliveryId } = claimed;
    this.forget(deliveryId);
    this.parts.log.warn({ err: error, entityId, deliveryId }, 'a delivery could not be prepared; it is taken up again');
    this.#end(claimed, 'other', 0);
  }

  #end({ destination }: Claimed, result: AttemptResult, durationMs: number): void {
    this.#inFlight--;
    this.destinations.end(destination, result, durationMs);
    const stuck = this.#lines.stuck(destination);
    if (stuck.length === 0) this.#advance(destination);
    else void this.#returnClaims(stuck).then(() => this.parts.onReturned(destination));
    this.parts.onFreed(destination);
  }

  async #returnClaims(claimed: readonly Sendable[]): Promise<void> {
    if (claimed.length === 0) return;
    const { db, log } = this.parts;
    for (const { deliveryId } of claimed) this.forget(deliveryId);
    try {
      await db.transaction((queries) => returnClaims(db, queries, claimed));
    } catch (error) {
      log.warn({ err: error }, 'deliveries could not be given back; they are taken up again when their leases run out');
    }
  }
}
