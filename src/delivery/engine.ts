import type { Config } from '../config.ts';
import type { DestinationKey } from '../domain/destination.ts';
import type { Logger } from '../log.ts';
import { type Database, type Queries, StoreUnavailableError } from '../store/database/database.ts';
import { claimDue, releaseAllLeases } from '../store/deliveries/claim.ts';
import type { DirectDispatch, Sendable } from '../store/deliveries/claimed.ts';
import { type AttemptRecord, recordAttempts } from '../store/deliveries/record-attempts.ts';
import type { AttemptTools } from './attempt.ts';
import { SuspensionJob } from './jobs/suspension.ts';
import { AttemptRunner } from './queue/attempt-runner.ts';
import { placeClaimed } from './queue/claim-check.ts';
import { ClaimPlanner, type Pick } from './queue/claim-planner.ts';
import { WakeSignal } from './queue/wake-signal.ts';
import { recordAlone } from './record-alone.ts';

/** The fallback for a wake-up that got lost, and the longest that a retry may be late for it. */
const POLL_MS = 1_000;
/** A lease outlives the attempt by this much: time to settle, and for a stall. */
const LEASE_SLACK_MS = 15_000;
const SETTLE_AT_MOST = 500;
/** What has ended is in nobody's way: its settlement waits so long for a commit that is made anyway. */
const SETTLE_PATIENCE_MS = 30;
const OUTAGE_PAUSE_MS = 500;
const STOP_SLACK_MS = 5_000;

export type AttemptObserver = { note(record: AttemptRecord): void };

export type EngineParts = {
  db: Database;
  config: Config;
  log: Logger;
  tools: AttemptTools;
  /** Told of every recorded attempt. */
  observers?: readonly AttemptObserver[];
};

/**
 * Claims due deliveries, runs their attempts within the caps, and settles them in batches. One loop, and each turn of
 * it is at most one transaction: write what has ended, take what is next. Never a transaction across HTTP. What is
 * accepted in this process comes by hand-over, as far as there is room for it.
 */
export class Engine implements DirectDispatch {
  readonly leaseMs: number;
  readonly #bell = new WakeSignal();
  readonly #posting: AttemptRunner;
  readonly #planner: ClaimPlanner;
  readonly #watch: SuspensionJob;
  #finished: AttemptRecord[] = [];
  /** By the monotonic clock: a step of the wall clock neither stalls nor hurries the loop. */
  #lookAtMs = 0;
  #stopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: EngineParts) {
    this.leaseMs = parts.config.DELIVERY_TIMEOUT + LEASE_SLACK_MS;
    this.#posting = new AttemptRunner({
      ...parts,
      cap: parts.config.DESTINATION_CONCURRENCY,
      most: parts.config.DELIVERY_CONCURRENCY,
      onFinished: (made) => this.#finished.push(made),
      onFreed: (destination) => this.#noteFreed(destination),
      onReturned: (destination) => this.expect([destination]),
    });
    this.#planner = new ClaimPlanner(parts.db, this.#posting.destinations);
    this.#watch = new SuspensionJob(parts.db, parts.log);
  }

  async start(): Promise<void> {
    const { db } = this.parts;
    if (db.engine === 'sqlite') await releaseAllLeases(db);
    await db.onWork(() => this.wake());
    this.#running = this.#run();
  }

  /** There may be something due, and nobody knows where. */
  wake(): void {
    this.#planner.ask(0);
    this.#lookNow();
  }

  /** There is something due at these destinations. */
  expect(destinations: Iterable<DestinationKey>): void {
    this.#planner.expect(destinations);
    this.#lookNow();
  }

  reserve(destination: DestinationKey): boolean {
    if (this.#stopping || this.#planner.mayBeBehind(destination)) return false;
    const { destinations } = this.#posting;
    const isFree = destinations.roomAt(destination) > 0;
    if (isFree) destinations.take(destination);
    return isFree;
  }

  cancel(deliveries: readonly Sendable[]): void {
    this.#posting.cancel(deliveries);
  }

  begin(deliveries: readonly Sendable[]): void {
    if (this.#stopping) void this.#posting.decline(deliveries);
    else this.#posting.begin(deliveries);
  }

  /** Claims nothing more, lets the attempts in flight end by their own deadline, and settles them. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#bell.ring();
    await this.#posting.drain();
    const lastMs = this.parts.config.DELIVERY_TIMEOUT + STOP_SLACK_MS;
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, lastMs);
    await Promise.race([this.#running.then(() => this.#watch.idle()), deadline.promise]);
    // Left alone it would hold the process to the end of that time.
    clearTimeout(timer);
  }

  get inFlight(): number {
    return this.#posting.inFlight;
  }

  get queued(): number {
    return this.#posting.destinations.inLine;
  }

  /** Destinations that are probed by one post at a time until one succeeds. */
  get breakersOpen(): number {
    return this.#posting.destinations.unhealthy;
  }

  get #done(): boolean {
    return this.#stopping && this.inFlight === 0 && this.#finished.length === 0;
  }

  get #room(): number {
    return this.#stopping ? 0 : this.#posting.destinations.room;
  }

  /** Without room there is nothing to look for: the end of an attempt rings. */
  get #idleMs(): number {
    return this.#room > 0 ? this.#lookAtMs - performance.now() : POLL_MS;
  }

  #lookNow(): void {
    this.#lookAtMs = 0;
    this.#bell.ring();
  }

  #noteFreed(destination: DestinationKey): void {
    if (this.#planner.freed(destination)) this.#lookAtMs = 0;
    this.#bell.ring();
  }

  async #run(): Promise<void> {
    while (!this.#done) {
      try {
        await this.#turn();
        if (this.#finished.length === 0 && !this.#done) await this.#bell.wait(this.#idleMs);
      } catch (error) {
        this.parts.log.error({ err: error }, 'delivery pauses: the store does not answer');
        if (this.#stopping) return;
        await Bun.sleep(OUTAGE_PAUSE_MS);
      }
    }
  }

  async #turn(): Promise<void> {
    const { db } = this.parts;
    const made = this.#finished.splice(0, SETTLE_AT_MOST);
    try {
      const picks = await this.#plan();
      if (made.length === 0 && picks.length === 0) return;
      const patience = picks.length === 0 ? { maxCommitDelayMs: SETTLE_PATIENCE_MS } : {};
      const { settled, sendable, gaveAll } = await db.transaction(async (queries) => {
        // One destination's long backlog must not make the claims of all others read it.
        for (const sql of db.dialect.planAnew) await queries.run(sql);
        const settled = await recordAttempts(queries, db.dialect, made);
        return { settled, ...(await this.#claim(queries, picks)) };
      }, patience);
      if (picks.length > 0) this.#planner.claimed(gaveAll);
      for (const { destination } of sendable) this.#posting.destinations.take(destination);
      this.begin(sendable);
      if (this.#planner.isReady) this.#lookAtMs = 0;
      this.#noteSettled(made, settled);
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        this.#finished.unshift(...made);
        throw error;
      }
      this.parts.log.error({ err: error }, 'a batch of settlements failed; each is tried alone');
      await this.#recordEachAlone(made);
    }
  }

  async #plan(): Promise<Pick[]> {
    const room = this.#room;
    if (room <= 0 || performance.now() < this.#lookAtMs) return [];
    // Set before the look, so that a wake-up during it counts for the next one.
    this.#lookAtMs = performance.now() + POLL_MS;
    const { picks, lookAgainInMs } = await this.#planner.plan(room);
    this.#lookAtMs = Math.min(this.#lookAtMs, performance.now() + lookAgainInMs);
    return picks;
  }

  async #claim(queries: Queries, picks: readonly Pick[]): Promise<{ sendable: Sendable[]; gaveAll: DestinationKey[] }> {
    const { db } = this.parts;
    const sendable: Sendable[] = [];
    const gaveAll: DestinationKey[] = [];
    for (const { destination, most } of picks) {
      const claims = await claimDue(db, queries, destination, most, this.leaseMs);
      if (claims.length === most) gaveAll.push(destination);
      for (const claimed of claims) {
        const held = this.#posting.find(claimed.deliveryId);
        // Our own, its lease run out while we were stalled: the new token is ours too, and one attempt is enough.
        if (held !== undefined) held.token = claimed.token;
        const place = held === undefined ? await placeClaimed(db, queries, claimed) : null;
        if (place === null) continue;
        if ('send' in place) sendable.push(place.send);
        else this.#planner.expect([place.movedTo]);
      }
    }
    return { sendable, gaveAll };
  }

  #noteSettled(made: readonly AttemptRecord[], settled: ReadonlySet<string>): void {
    for (const { delivery } of made) {
      this.#posting.forget(delivery.deliveryId);
      if (settled.has(delivery.deliveryId)) continue;
      const { entityId, deliveryId } = delivery;
      this.parts.log.warn({ entityId, deliveryId }, 'settlement refused: another instance has taken the delivery over');
    }
    const counted = made.filter(({ delivery }) => settled.has(delivery.deliveryId));
    for (const attempt of counted) {
      for (const observer of this.parts.observers ?? []) observer.note(attempt);
    }
    for (const { delivery, next } of counted) {
      // Somebody may have asked for several redeliveries: the next of them is due at once.
      const dueInMs = delivery.kind === 'redelivery' ? 0 : (next.delayMs ?? POLL_MS);
      this.#planner.ask(dueInMs);
      this.#lookAtMs = Math.min(this.#lookAtMs, performance.now() + dueInMs);
    }
    this.#watch.note(counted);
  }

  /** One of them carries something that the store refuses: it ends as failed with its reason, the others as they are. */
  async #recordEachAlone(made: readonly AttemptRecord[]): Promise<void> {
    for (const attempt of made) {
      try {
        this.#noteSettled([attempt], await recordAlone(this.parts.db, attempt));
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          this.#finished.push(attempt);
          continue;
        }
        const { entityId, deliveryId } = attempt.delivery;
        this.#posting.forget(deliveryId);
        const message = 'a delivery could not be settled; its lease will run out';
        this.parts.log.error({ err: error, entityId, deliveryId }, message);
      }
    }
  }
}
