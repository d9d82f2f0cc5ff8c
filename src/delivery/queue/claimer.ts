import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { claimDeliveries } from '../../store/deliveries/claim/claim.ts';
import type { Claimed } from '../../store/deliveries/claim/claimed.ts';
import type { WorkerHealth } from '../worker-health.ts';
import type { AttemptRunner } from './attempt-runner.ts';
import type { ClaimPlanner, PlannedClaim } from './claim-planner.ts';
import { DestinationScan } from './destination-scan.ts';
import { WakeSignal } from './wake-signal.ts';

/** The longest wait between two steps, so that work whose wake-up was lost is at most this late. */
const POLL_MS = 1_000;
const OUTAGE_PAUSE_MS = 500;

/** The scan pauses while more destinations than this wait. */
const MAX_WAITING = 100_000;

export type ClaimerOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly planner: ClaimPlanner;
  readonly runner: Pick<AttemptRunner, 'find'>;
  readonly leaseMs: number;
  readonly health: WorkerHealth;
  /** Called with claimed deliveries, whose places are reserved. */
  readonly onClaimed: (deliveries: readonly Claimed[]) => void;
};

/**
 * Claims due deliveries from the store, as the planner decides. Runs one loop, in which each step is at most one
 * transaction.
 */
export class Claimer {
  readonly #scan: DestinationScan;
  readonly #wakeSignal = new WakeSignal();
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: ClaimerOptions) {
    this.#scan = new DestinationScan(options.db);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves after the last claim. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    return this.#running;
  }

  /** Call this if another plan may find something. */
  wake(): void {
    this.#wakeSignal.wake();
  }

  /** Call this if deliveries at unknown destinations will be due in this time. */
  scheduleScan(inMs: number): void {
    this.#scan.schedule(inMs);
    if (inMs < POLL_MS) this.wake();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      try {
        const waitMs = await this.#step();
        this.options.health.failuresInARow = 0;
        await this.#wakeSignal.wait(waitMs);
      } catch (error) {
        this.options.health.noteFailure(error);
        this.options.log.error({ err: error }, 'claiming is paused: the database is unavailable');
        if (!this.#isStopping) await Bun.sleep(OUTAGE_PAUSE_MS);
      }
    }
  }

  /** Returns how long to wait for the next step, unless something wakes the claimer before. */
  async #step(): Promise<number> {
    const { planner } = this.options;
    if (planner.waiting < MAX_WAITING) planner.wake(await this.#scan.next());
    if (this.#scan.isComplete) planner.noteScanned();
    const { claims, isCut } = planner.plan();
    if (claims.length > 0) await this.#claim(claims);
    const mayFindMore = isCut || (claims.length > 0 && planner.waiting > 0);
    return mayFindMore ? 0 : Math.min(POLL_MS, this.#scan.nextInMs);
  }

  async #claim(planned: readonly PlannedClaim[]): Promise<void> {
    const { db, planner, runner, leaseMs, onClaimed } = this.options;
    const picks = planned.map(({ destination, limit }) => ({ destination, most: limit }));
    const { claimed, mayHaveMore } = await claimDeliveries(db, picks, leaseMs).catch((error: unknown) => {
      planner.noteFailed(planned);
      throw error;
    });
    const fresh: Claimed[] = [];
    for (const delivery of claimed) {
      const held = runner.find(delivery);
      // The lease had expired while this process was stalled. This process also has the new token, and one attempt is
      // enough.
      if (held === undefined) fresh.push(delivery);
      else Object.assign(held, { token: delivery.token, leaseEndsMs: delivery.leaseEndsMs });
    }
    const enqueued = Map.groupBy(fresh, ({ destination }) => destination);
    try {
      onClaimed(fresh);
    } finally {
      planner.noteClaimed(
        planned.map((claim) => ({
          ...claim,
          enqueued: enqueued.get(claim.destination)?.length ?? 0,
          mayHaveMore: mayHaveMore.includes(claim.destination),
        })),
      );
    }
  }
}
