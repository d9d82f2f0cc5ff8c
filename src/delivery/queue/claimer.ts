import type { DestinationKey } from '../../domain/destination.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { claimDeliveries } from '../../store/deliveries/claim.ts';
import type { Claimed } from '../../store/deliveries/claimed.ts';
import { Loop } from '../loop.ts';
import type { AttemptRunner } from './attempt-runner.ts';
import { ClaimPlanner, type PlannedClaim } from './claim-planner.ts';
import { DestinationScan } from './destination-scan.ts';
import type { LocalQueue } from './local-queue.ts';

/** Finds work whose wake-up was lost, and bounds how late a retry can be because of that. */
const POLL_MS = 1_000;

/** With more destinations waiting than this the scan pauses. */
const MAX_WAITING = 100_000;

export type ClaimerOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly queue: LocalQueue<Claimed>;
  readonly runner: AttemptRunner;
  readonly leaseMs: number;
  /** Deliveries are claimed for which places are reserved. */
  readonly onClaimed: (deliveries: readonly Claimed[]) => void;
};

/** Claims due deliveries from the store, as the planner decides: each step is one transaction at most. */
export class Claimer {
  readonly #scan: DestinationScan;
  readonly #planner: ClaimPlanner;
  readonly #loop: Loop;

  constructor(private readonly options: ClaimerOptions) {
    this.#scan = new DestinationScan(options.db);
    this.#planner = new ClaimPlanner(options.queue);
    this.#loop = new Loop({ name: 'claims', log: options.log, step: () => this.#step() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Deliveries are due at these destinations. */
  wake(destinations: Iterable<DestinationKey>): void {
    this.#planner.wake(destinations);
    this.#loop.wake();
  }

  /** Deliveries will be due by then, at destinations that are not known. */
  scheduleScan(inMs: number): void {
    this.#scan.schedule(inMs);
    if (inMs < POLL_MS) this.#loop.wake();
  }

  noteReleased(destination: DestinationKey): void {
    if (this.#planner.noteReleased(destination)) this.#loop.wake();
  }

  /** Whether older deliveries may be due there, which go first. Before the first scan this is not known. */
  mayHaveOlder(destination: DestinationKey): boolean {
    return !this.#scan.isComplete || this.#planner.mayHaveOlder(destination);
  }

  async #step(): Promise<number> {
    if (this.#planner.waiting < MAX_WAITING) this.#planner.wake(await this.#scan.next());
    const { claims, isCut } = this.#planner.plan();
    if (claims.length > 0) await this.#claim(claims);
    const mayFindMore = isCut || (claims.length > 0 && this.#planner.waiting > 0);
    return mayFindMore ? 0 : Math.min(POLL_MS, this.#scan.nextInMs);
  }

  async #claim(planned: readonly PlannedClaim[]): Promise<void> {
    const { db, runner, leaseMs, onClaimed } = this.options;
    const picks = planned.map(({ destination, limit }) => ({ destination, most: limit }));
    const { claimed, mayHaveMore } = await claimDeliveries(db, picks, leaseMs).catch((error: unknown) => {
      this.#planner.noteFailed(planned);
      throw error;
    });
    const fresh: Claimed[] = [];
    for (const delivery of claimed) {
      const held = runner.find(delivery);
      // Its lease had expired while this process was stalled: the new token is ours too, and one attempt is enough.
      if (held === undefined) fresh.push(delivery);
      else held.token = delivery.token;
    }
    onClaimed(fresh);
    const enqueued = Map.groupBy(fresh, ({ destination }) => destination);
    this.#planner.noteClaimed(
      planned.map(({ destination, limit }) => ({
        destination,
        limit,
        found: mayHaveMore.includes(destination) ? limit : 0,
        enqueued: enqueued.get(destination)?.length ?? 0,
      })),
    );
  }
}
