import type { Config } from '../config.ts';
import type { DestinationKey } from '../domain/post-url.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database/database.ts';
import type { Claimed, DirectDispatch } from '../store/deliveries/claim/claimed.ts';
import { releaseAllLeases } from '../store/deliveries/claim/leases.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import type { AttemptTools } from './attempt.ts';
import { AttemptRecorder } from './attempt-recorder.ts';
import type { AttemptObserver } from './delivery-metrics.ts';
import { SuspensionMonitor } from './jobs/webhook-health.ts';
import type { LocalResource, LocalShortageError } from './local-shortage.ts';
import { AttemptRunner } from './queue/attempt-runner.ts';
import { ClaimPlanner } from './queue/claim-planner.ts';
import { ClaimReturns } from './queue/claim-returns.ts';
import { Claimer } from './queue/claimer.ts';
import type { FleetShare } from './queue/fleet-share.ts';
import { LocalQueue } from './queue/local-queue.ts';
import { Workers } from './worker-health.ts';

/** A lease is this much longer than `DELIVERY_TIMEOUT`: time to wait for a slot, for a stall, and to record the outcome. */
const LEASE_SLACK_MS = 15_000;
const STOP_SLACK_MS = 5_000;
/** Deliveries held beyond those in flight: what one process sends in half a second. */
const MAX_QUEUED = 4_096;
/** How long nothing is sent after a shortage of files, ports or memory. */
const SHORTAGE_PAUSE_MS = 1_000;
/** Limit on the bodies in memory. Including their sockets, a process then stays within a few hundred megabytes. */
const MAX_HELD_BYTES = 128 * 1024 ** 2;

export type EngineOptions = {
  readonly db: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly tools: AttemptTools;
  /** DELIVERY_CONCURRENCY, unless the limit of open files allows less. */
  readonly slots?: number;
  readonly observers?: readonly AttemptObserver[];
  /** Called if an attempt was not made because this machine has none of the resource left. */
  readonly onShortage?: (resource: LocalResource) => void;
  readonly workers?: Workers;
};

/**
 * Claims due deliveries, runs their attempts within the caps, and records the outcomes. Events accepted in this process
 * are dispatched directly, if their destinations have free slots. Claims and records are separate transactions, and no
 * transaction is open during a request.
 */
export class Engine implements DirectDispatch {
  readonly leaseMs: number;
  readonly #queue: LocalQueue<Claimed>;
  readonly #planner: ClaimPlanner;
  readonly #runner: AttemptRunner;
  readonly #returns: ClaimReturns;
  readonly #claimer: Claimer;
  readonly #recorder: AttemptRecorder;
  readonly #suspensions: SuspensionMonitor;
  #isStopping = false;
  #shortageLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: EngineOptions) {
    const { db, config, log, tools, slots = config.DELIVERY_CONCURRENCY, workers = new Workers() } = options;
    const leaseMs = config.DELIVERY_TIMEOUT + LEASE_SLACK_MS;
    db.dialect.leaseClock.guard(leaseMs);
    const queue = new LocalQueue<Claimed>({
      slots,
      queuePlaces: Math.min(slots, MAX_QUEUED),
      bytes: MAX_HELD_BYTES,
      destinationCap: config.DESTINATION_CONCURRENCY,
      sizeOf: ({ body }) => body?.length ?? 0,
    });
    const planner = new ClaimPlanner(queue, (destination, inMs) => {
      setTimeout(() => this.#endPace(destination), inMs).unref();
    });
    const returns = new ClaimReturns({ db, log, onReturned: (destinations) => this.wake(destinations) });
    const runner = new AttemptRunner({
      queue,
      log,
      tools,
      timeoutMs: config.DELIVERY_TIMEOUT,
      returns,
      onFinished: (record) => this.#recorder.add(record),
      onShortage: (shortage, destination) => this.#pause(shortage, destination),
      onReleased: (destination) => {
        if (planner.noteReleased(destination)) this.#claimer.wake();
      },
    });
    const onClaimed = (deliveries: readonly Claimed[]) => this.begin(deliveries);
    this.leaseMs = leaseMs;
    this.#queue = queue;
    this.#planner = planner;
    this.#runner = runner;
    this.#returns = returns;
    this.#claimer = new Claimer({ db, log, planner, runner, leaseMs, onClaimed, health: workers.add('claims') });
    this.#recorder = new AttemptRecorder({
      db,
      log,
      health: workers.add('records'),
      onRecorded: (records) => this.#noteRecorded(records),
      onDue: (destinations) => this.wake(destinations),
      onDone: (delivery) => runner.forget(delivery),
    });
    this.#suspensions = new SuspensionMonitor(db, log, workers.add('suspensions'));
  }

  async start(): Promise<void> {
    const { db } = this.options;
    if (db.engine === 'sqlite') await releaseAllLeases(db);
    await db.onWork(() => this.wake());
    this.#claimer.start();
  }

  /** Call this if deliveries are due at these destinations. Without destinations, they may be due anywhere. */
  wake(destinations?: Iterable<DestinationKey>): void {
    if (destinations === undefined) this.#claimer.scheduleScan(0);
    else {
      this.#planner.wake(destinations);
      this.#claimer.wake();
    }
  }

  reserve(destination: DestinationKey, wanted: number): number {
    if (this.#isStopping || this.#planner.mayHaveOlder(destination)) return 0;
    return this.#queue.reserve(destination, wanted);
  }

  cancel(slots: ReadonlyMap<DestinationKey, number>): void {
    this.#runner.cancel(slots);
  }

  begin(deliveries: readonly Claimed[]): void {
    if (this.#isStopping) this.#runner.reject(deliveries);
    else this.#runner.enqueue(deliveries);
  }

  /** Claims nothing more, lets the attempts in flight end by their own deadline, and records them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const claimed = this.#claimer.stop();
    this.#runner.drain();
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, this.options.config.DELIVERY_TIMEOUT + STOP_SLACK_MS);
    await Promise.race([claimed.then(() => this.#finishAttempts()), deadline.promise]);
    // The timer would keep the process alive.
    clearTimeout(timer);
    await this.claimsReturned();
  }

  async #finishAttempts(): Promise<void> {
    await this.#runner.idle();
    await this.#recorder.stop();
    await this.#suspensions.idle();
  }

  /** Await this before you close the database, because an acceptance may still commit after the engine has stopped. */
  claimsReturned(): Promise<void> {
    return this.#returns.finished();
  }

  /** Sets this instance's share of the limits of destinations. */
  limitDestinations(fleet: FleetShare): void {
    this.#queue.limitDestinations(fleet);
    // This instance may now send to destinations that previously belonged to another.
    this.#claimer.scheduleScan(0);
  }

  /** A shortage of ports affects one receiver. Any other shortage affects every connection of the process. */
  #pause({ resource, code }: LocalShortageError, destination: DestinationKey): void {
    this.options.onShortage?.(resource);
    const nowMs = performance.now();
    if (nowMs - this.#shortageLoggedMs >= SHORTAGE_PAUSE_MS) {
      this.#shortageLoggedMs = nowMs;
      const message = 'deliveries are paused for a second: this machine has no room for another connection';
      this.options.log.warn({ resource, code, inFlight: this.inFlight }, message);
    }
    if (resource === 'ports') this.#queue.pause(destination, SHORTAGE_PAUSE_MS);
    else if (this.#queue.pausedForMs === 0) {
      this.#queue.pause(null, SHORTAGE_PAUSE_MS);
      setTimeout(() => this.#claimer.wake(), SHORTAGE_PAUSE_MS).unref();
    }
  }

  #endPace(destination: DestinationKey): void {
    this.#planner.notePaced(destination);
    this.#claimer.wake();
  }

  get inFlight(): number {
    return this.#queue.inFlight;
  }

  get queued(): number {
    return this.#queue.queued;
  }

  /** Unhealthy destinations, which get one request at a time until a request succeeds. */
  get breakersOpen(): number {
    return this.#queue.breakersOpen;
  }

  #noteRecorded(records: readonly AttemptRecord[]): void {
    for (const record of records) {
      for (const observer of this.options.observers ?? []) observer.note(record);
      // Several redeliveries of one delivery may have been requested, and then the next one is due now.
      const dueInMs = record.delivery.kind === 'redelivery' ? 0 : record.next.delayMs;
      if (dueInMs !== null) this.#claimer.scheduleScan(dueInMs);
    }
    this.#suspensions.note(records);
  }
}
