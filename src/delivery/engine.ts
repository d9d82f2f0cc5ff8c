import type { Config } from '../config.ts';
import type { DestinationKey } from '../domain/destination.ts';
import type { Logger } from '../log.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import { releaseAllLeases } from '../store/deliveries/claim.ts';
import type { DirectDispatch, Sendable } from '../store/deliveries/claimed.ts';
import { type AttemptRecord, recordAttempts } from '../store/deliveries/record-attempts.ts';
import { type AttemptTools, recordAlone } from './attempt.ts';
import type { AttemptObserver } from './delivery-metrics.ts';
import { SuspensionMonitor } from './jobs/webhook-health.ts';
import { ClaimPlanner, type PlannedClaim } from './queue/claim-planner.ts';
import { type Claims, makeClaims } from './queue/claims.ts';
import { LocalQueue } from './queue/local-queue.ts';
import { WakeSignal } from './queue/wake-signal.ts';

/** Finds work whose wake-up was lost, and bounds how late a retry can be because of that. */
const POLL_MS = 1_000;
/** A lease outlives its attempt by this much: time to record the outcome, and for a stall. */
const LEASE_SLACK_MS = 15_000;
const MAX_RECORDS_PER_TRANSACTION = 500;
/** No delivery waits for an outcome to be recorded, so recording may wait this long to share another commit. */
const RECORD_MAX_COMMIT_DELAY_MS = 30;
const OUTAGE_PAUSE_MS = 500;
const STOP_SLACK_MS = 5_000;

export type EngineOptions = {
  readonly db: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly tools: AttemptTools;
  readonly observers?: readonly AttemptObserver[];
};

/**
 * Claims due deliveries, runs their attempts within the caps, and records the outcomes in batches. One loop, in which
 * each tick is at most one transaction: record what has finished, claim what is next. No transaction is open during a
 * request. Events accepted in this process are dispatched directly, as far as their destinations have free slots.
 */
export class Engine implements DirectDispatch {
  readonly leaseMs: number;
  readonly #wakeSignal = new WakeSignal();
  readonly #queue: LocalQueue;
  readonly #planner: ClaimPlanner;
  readonly #suspensions: SuspensionMonitor;
  #finished: AttemptRecord[] = [];
  /** By the monotonic clock, so that a step of the wall clock neither stalls nor hurries the loop. */
  #planAtMs = 0;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: EngineOptions) {
    const { db, config, log, tools } = options;
    this.leaseMs = config.DELIVERY_TIMEOUT + LEASE_SLACK_MS;
    this.#queue = new LocalQueue({
      db,
      log,
      tools,
      destinationCap: config.DESTINATION_CONCURRENCY,
      totalCap: config.DELIVERY_CONCURRENCY,
      onFinished: (record) => this.#finished.push(record),
      onReleased: (destination) => this.#noteReleased(destination),
      onReturned: (destination) => this.wake([destination]),
    });
    this.#planner = new ClaimPlanner(db, this.#queue.destinations);
    this.#suspensions = new SuspensionMonitor(db, log);
  }

  async start(): Promise<void> {
    const { db } = this.options;
    if (db.engine === 'sqlite') await releaseAllLeases(db);
    await db.onWork(() => this.wake());
    this.#running = this.#run();
  }

  /** Deliveries are due, at these destinations or anywhere. */
  wake(destinations?: Iterable<DestinationKey>): void {
    if (destinations === undefined) this.#planner.scheduleScan(0);
    else this.#planner.wake(destinations);
    this.#planAtMs = 0;
    this.#wakeSignal.wake();
  }

  reserve(destination: DestinationKey): boolean {
    return !this.#isStopping && !this.#planner.mayHaveOlder(destination) && this.#queue.reserve(destination);
  }

  cancel(deliveries: readonly Pick<Sendable, 'destination'>[]): void {
    this.#queue.cancel(deliveries);
  }

  begin(deliveries: readonly Sendable[]): void {
    if (this.#isStopping) this.#queue.reject(deliveries);
    else this.#queue.enqueue(deliveries);
  }

  /** Claims nothing more, lets the attempts in flight end by their own deadline, and records them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wakeSignal.wake();
    this.#queue.drain();
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, this.options.config.DELIVERY_TIMEOUT + STOP_SLACK_MS);
    await Promise.race([this.#running.then(() => this.#suspensions.idle()), deadline.promise]);
    // The timer would keep the process alive.
    clearTimeout(timer);
    await this.claimsReturned();
  }

  /** To be awaited before the store is closed, since an acceptance may be committed after the engine has stopped. */
  claimsReturned(): Promise<void> {
    return this.#queue.claimsReturned();
  }

  get inFlight(): number {
    return this.#queue.inFlight;
  }

  get queued(): number {
    return this.#queue.destinations.queued;
  }

  /** Unhealthy destinations, which get one request at a time until one succeeds. */
  get breakersOpen(): number {
    return this.#queue.destinations.unhealthy;
  }

  get #isDone(): boolean {
    return this.#isStopping && this.inFlight === 0 && this.#finished.length === 0;
  }

  get #freeSlots(): number {
    return this.#isStopping ? 0 : this.#queue.destinations.freeSlots;
  }

  /** Without a free slot there is nothing to plan, and the end of an attempt wakes the loop. */
  get #idleMs(): number {
    return this.#freeSlots > 0 ? this.#planAtMs - performance.now() : POLL_MS;
  }

  #noteReleased(destination: DestinationKey): void {
    if (this.#planner.noteReleased(destination)) this.#planAtMs = 0;
    this.#wakeSignal.wake();
  }

  async #run(): Promise<void> {
    while (!this.#isDone) {
      try {
        await this.#tick();
        if (this.#finished.length === 0 && !this.#isDone) await this.#wakeSignal.wait(this.#idleMs);
      } catch (error) {
        this.options.log.error({ err: error }, 'delivery is paused: the store is unavailable');
        if (this.#isStopping) return;
        await Bun.sleep(OUTAGE_PAUSE_MS);
      }
    }
  }

  async #tick(): Promise<void> {
    const records = this.#finished.splice(0, MAX_RECORDS_PER_TRANSACTION);
    try {
      const planned = await this.#plan();
      if (records.length > 0 || planned.length > 0) await this.#recordAndClaim(records, planned);
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        this.#finished.unshift(...records);
        throw error;
      }
      this.options.log.error({ err: error }, 'a batch of attempts could not be recorded; each is recorded on its own');
      await this.#recordEach(records);
    }
  }

  async #plan(): Promise<readonly PlannedClaim[]> {
    const freeSlots = this.#freeSlots;
    if (freeSlots <= 0 || performance.now() < this.#planAtMs) return [];
    // Set before planning, so that a wake-up meanwhile leads to another plan.
    this.#planAtMs = performance.now() + POLL_MS;
    const { claims, nextPlanInMs } = await this.#planner.plan(freeSlots);
    this.#planAtMs = Math.min(this.#planAtMs, performance.now() + nextPlanInMs);
    return claims;
  }

  async #recordAndClaim(records: readonly AttemptRecord[], planned: readonly PlannedClaim[]): Promise<void> {
    const { db } = this.options;
    const { recorded, claims } = await db.transaction(
      async (queries) => {
        // A plan cached for an empty store would make each claim read the long backlog of another destination.
        for (const sql of db.dialect.replan) await queries.run(sql);
        const recorded = await recordAttempts(queries, db.dialect, records);
        const claims = planned.length === 0 ? null : await makeClaims(db, queries, this.#queue, planned, this.leaseMs);
        return { recorded, claims };
      },
      planned.length === 0 ? { maxCommitDelayMs: RECORD_MAX_COMMIT_DELAY_MS } : {},
    );
    if (claims !== null) this.#noteClaimed(claims);
    if (this.#planner.isReady) this.#planAtMs = 0;
    this.#noteRecorded(records, recorded);
  }

  #noteClaimed({ sendable, renewed, mayHaveMore }: Claims): void {
    this.#planner.noteClaimed(mayHaveMore);
    for (const { deliveryId, token } of renewed) {
      const held = this.#queue.find(deliveryId);
      if (held !== undefined) held.token = token;
    }
    for (const { destination } of sendable) this.#queue.destinations.reserve(destination);
    this.begin(sendable);
  }

  #noteRecorded(records: readonly AttemptRecord[], recorded: ReadonlySet<string>): void {
    for (const { delivery } of records) {
      const { entityId, deliveryId } = delivery;
      this.#queue.forget(deliveryId);
      if (recorded.has(deliveryId)) continue;
      const message = 'an attempt was not recorded: another instance has claimed the delivery';
      this.options.log.warn({ entityId, deliveryId }, message);
    }
    const kept = records.filter(({ delivery }) => recorded.has(delivery.deliveryId));
    for (const record of kept) {
      for (const observer of this.options.observers ?? []) observer.note(record);
      // Several redeliveries of one delivery may have been requested, and then the next one is due now.
      const dueInMs = record.delivery.kind === 'redelivery' ? 0 : (record.next.delayMs ?? POLL_MS);
      this.#planner.scheduleScan(dueInMs);
      this.#planAtMs = Math.min(this.#planAtMs, performance.now() + dueInMs);
    }
    this.#suspensions.note(kept);
  }

  /** The store rejects something in one of them. That one fails with its reason, and the others are recorded as they are. */
  async #recordEach(records: readonly AttemptRecord[]): Promise<void> {
    for (const record of records) {
      try {
        this.#noteRecorded([record], await recordAlone(this.options.db, record));
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          this.#finished.push(record);
          continue;
        }
        const { entityId, deliveryId } = record.delivery;
        this.#queue.forget(deliveryId);
        const message = 'an attempt could not be recorded; the delivery is due again when its lease expires';
        this.options.log.error({ err: error, entityId, deliveryId }, message);
      }
    }
  }
}
