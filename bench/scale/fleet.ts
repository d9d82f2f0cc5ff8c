import { ClaimPlanner, type PlannedClaim } from '../../src/delivery/queue/claim-planner.ts';
import { FleetShare } from '../../src/delivery/queue/fleet-share.ts';
import { LocalQueue } from '../../src/delivery/queue/local-queue.ts';
import type { DestinationKey } from '../../src/domain/post-url.ts';
import { TaskHeap } from '../../test/delivery/queue/task-heap.ts';
import { type Delivery, Shard } from './shards.ts';

/**
 * Many instances on many shards, in virtual time: the real `LocalQueue` and `ClaimPlanner` of each instance, with a processor of
 * its own, and databases and receivers that only take time. A claim and a scan ask each shard by itself, so that a shard that is
 * down costs what is in it. Every run with one seed gives the same figures.
 */

/** Processor time of an instance, as measured for one delivery on PostgreSQL and rounded up. */
const ACCEPT_MS = 0.15;
const START_MS = 0.1;
const FINISH_MS = 0.1;
const CLAIM_ROW_MS = 0.06;
const SCAN_MS = 1;
/** What else passes while a shard works. */
const COMMIT_MS = 3;
const CLAIM_MS = 5;
/** Notifications are gathered for 10 ms; the scan that follows costs processor time of each instance, which is not counted. */
const NOTIFY_MS = 15;
/** As in the service. */
const SCAN_EVERY_MS = 1_000;
const SCAN_WINDOW = 256;
const MAX_WAITING = 1_024;
const LEASE_MS = 30_000;
const RETRY_MS = 30_000;
const RECORD_AGAIN_MS = 1_000;
const QUEUE_PLACES = 4_096;

export const DEADLINE_MS = 15_000;

/** How long a request to the destination takes, or null if it gets no response before the deadline. */
export type Respond = (destination: DestinationKey, nowMs: number) => number | null;

export type FleetOptions = {
  readonly instances: number;
  readonly shards: number;
  readonly slots: number;
  readonly destinationCap: number;
  readonly shardOf: (destination: DestinationKey) => number;
  readonly respond: Respond;
};

export class Fleet {
  nowMs = 0;
  readonly shards: readonly Shard[];
  readonly instances: readonly Instance[];
  /** How long each delivery of a group waited from its acceptance to its first attempt. */
  readonly waitedMs = new Map<string, number[]>();
  readonly counts = { accepted: 0, refused: 0, recorded: 0, twice: 0 };
  readonly #received = new Set<Delivery>();
  readonly #inFlight = new Map<DestinationKey, number>();
  readonly #tasks = new TaskHeap();
  /** Until the instances change. */
  readonly #senders = new Map<DestinationKey, readonly Instance[]>();
  #mostInFlight = 0;

  constructor(readonly options: FleetOptions) {
    this.shards = Array.from({ length: options.shards }, () => new Shard());
    this.instances = Array.from({ length: options.instances }, (_, index) => new Instance(this, index));
    this.shareCap();
  }

  /** The most requests that one destination had at the same time, from all instances together. */
  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  at(atMs: number, run: () => void): void {
    this.#tasks.push(atMs, run);
  }

  run(untilMs: number): void {
    for (let task = this.#tasks.popUntil(untilMs); task !== null; task = this.#tasks.popUntil(untilMs)) {
      this.nowMs = task.atMs;
      task.run();
    }
    this.nowMs = untilMs;
  }

  shardFor(destination: DestinationKey): Shard {
    const shard = this.shards[this.options.shardOf(destination)];
    if (shard === undefined) throw new Error(`there is no shard for ${destination}`);
    return shard;
  }

  /** The cap of a destination is divided by the instances that live, as their heartbeats tell. */
  shareCap(): void {
    this.#senders.clear();
    const live = this.instances.filter(({ isUp }) => isUp);
    const ids = live.map(({ id }) => id);
    for (const { queue, id } of live) queue.limitDestinations(new FleetShare(this.options.destinationCap, id, ids));
  }

  /** The instances that send to the destination find the delivery at their next scan, which the notification begins. */
  notify(destination: DestinationKey): void {
    this.at(this.nowMs + NOTIFY_MS, () => {
      for (const instance of this.#sendersTo(destination)) if (instance.isUp) instance.wake(destination);
    });
  }

  #sendersTo(destination: DestinationKey): readonly Instance[] {
    const known = this.#senders.get(destination);
    const senders = known ?? this.instances.filter(({ isUp, queue }) => isUp && queue.sendsTo(destination));
    if (known === undefined) this.#senders.set(destination, senders);
    return senders;
  }

  noteStart({ destination, group, acceptedAtMs }: Delivery): void {
    const inFlight = (this.#inFlight.get(destination) ?? 0) + 1;
    this.#inFlight.set(destination, inFlight);
    this.#mostInFlight = Math.max(this.#mostInFlight, inFlight);
    const waits = this.waitedMs.get(group) ?? [];
    this.waitedMs.set(group, waits);
    waits.push(this.nowMs - acceptedAtMs);
  }

  noteEnd(delivery: Delivery, isReceived: boolean): void {
    const { destination } = delivery;
    if (isReceived && this.#received.has(delivery)) this.counts.twice++;
    if (isReceived) this.#received.add(delivery);
    const left = (this.#inFlight.get(destination) ?? 1) - 1;
    if (left === 0) this.#inFlight.delete(destination);
    else this.#inFlight.set(destination, left);
  }
}

export class Instance {
  isUp = true;
  readonly queue: LocalQueue<Delivery>;
  readonly id: string;
  readonly #planner: ClaimPlanner;
  /** Leased in the store until they are recorded. */
  readonly #held = new Set<Delivery>();
  #busyUntilMs = 0;
  #isClaiming = false;
  /** Of the claim that runs. */
  #locked: readonly PlannedClaim[] = [];
  #scanned: { readonly shard: Shard; readonly destinations: Iterator<DestinationKey> }[] = [];

  constructor(
    private readonly fleet: Fleet,
    private readonly index: number,
  ) {
    const { slots, destinationCap } = fleet.options;
    const capacity = { slots, queuePlaces: Math.min(slots, QUEUE_PLACES), bytes: 0 };
    this.queue = new LocalQueue({ ...capacity, destinationCap, sizeOf: () => 0, nowMs: () => fleet.nowMs });
    this.id = `ins_${index}`;
    this.#planner = new ClaimPlanner(this.queue);
    this.#planner.noteScanned();
    // Instances do not start at the same moment.
    this.#after((SCAN_EVERY_MS * index) / fleet.options.instances, () => this.#scanRegularly());
  }

  /** `onRefused` is called while the shard is down: nothing was acknowledged. */
  accept(destination: DestinationKey, group: string, onRefused: () => void): void {
    const { fleet } = this;
    const shard = fleet.shardFor(destination);
    const delivery: Delivery = { destination, shard, group, acceptedAtMs: fleet.nowMs };
    this.#work(0, ACCEPT_MS, () => {
      if (!shard.isUp) {
        fleet.counts.refused++;
        return onRefused();
      }
      const isDirect = !this.#planner.mayHaveOlder(destination) && this.queue.reserve(destination) === 1;
      this.#after(COMMIT_MS, () => {
        fleet.counts.accepted++;
        if (isDirect) this.#enqueue(delivery);
        else this.#putDue(delivery);
      });
    });
  }

  /** What it holds is due again when its leases have run out. Its locks end with its connections. */
  kill(): void {
    this.isUp = false;
    for (const { destination } of this.#locked) this.fleet.shardFor(destination).unlock(destination);
    for (const delivery of this.#held) this.fleet.at(this.fleet.nowMs + LEASE_MS, () => delivery.shard.put(delivery));
    this.#held.clear();
  }

  wake(destination: DestinationKey): void {
    this.#planner.wake([destination]);
    this.#claim();
  }

  #putDue(delivery: Delivery): void {
    const { shard, destination } = delivery;
    shard.put(delivery);
    if (this.queue.sendsTo(destination)) this.wake(destination);
    else this.fleet.notify(destination);
  }

  #enqueue(delivery: Delivery): void {
    this.#held.add(delivery);
    this.queue.enqueue(delivery);
    this.#advance(delivery.destination);
  }

  #advance(destination: DestinationKey): void {
    for (let next = this.queue.start(destination); next !== null; next = this.queue.start(destination)) {
      const delivery = next;
      this.#work(0, START_MS, () => {
        this.fleet.noteStart(delivery);
        const tookMs = this.fleet.options.respond(destination, this.fleet.nowMs);
        this.fleet.at(this.fleet.nowMs + (tookMs ?? DEADLINE_MS), () => {
          this.fleet.noteEnd(delivery, tookMs !== null);
          // The receiver has it, whether the instance lives to record it or not.
          if (this.isUp) this.#work(0, FINISH_MS, () => this.#finish(delivery, tookMs));
        });
      });
    }
  }

  #finish(delivery: Delivery, tookMs: number | null): void {
    const { destination } = delivery;
    this.queue.finish(delivery, tookMs === null ? 'unhealthy' : 'success', tookMs ?? DEADLINE_MS);
    this.#record(delivery, tookMs !== null);
    const overdue = this.queue.takeOverdue(destination);
    for (const one of overdue) this.#giveBack(one);
    if (overdue.length === 0) this.#advance(destination);
    if (this.#planner.noteReleased(destination)) this.#claim();
  }

  #record(delivery: Delivery, isDelivered: boolean): void {
    this.#commit(delivery, () => {
      if (isDelivered) {
        this.fleet.counts.recorded++;
        return;
      }
      const retry = { ...delivery, group: `${delivery.group}, retries`, acceptedAtMs: this.fleet.nowMs + RETRY_MS };
      this.fleet.at(retry.acceptedAtMs, () => delivery.shard.put(retry));
    });
  }

  #giveBack(delivery: Delivery): void {
    this.#commit(delivery, () => this.#putDue(delivery));
  }

  /** Tried again while the shard is down. After that the delivery is not held any more. */
  #commit(delivery: Delivery, run: () => void): void {
    if (!delivery.shard.isUp) {
      this.#after(RECORD_AGAIN_MS, () => this.#commit(delivery, run));
      return;
    }
    this.#after(COMMIT_MS, () => {
      this.#held.delete(delivery);
      run();
    });
  }

  #scanRegularly(): void {
    const { shards } = this.fleet;
    // Each begins at another shard, so that they do not all find the same destinations first.
    const turned = shards.map((_, turn) => shards[(this.index + turn) % shards.length]);
    this.#scanned = turned.flatMap((shard) =>
      shard?.isUp && shard.waiting > 0 ? [{ shard, destinations: shard.destinations() }] : [],
    );
    if (this.#scanned.length > 0) this.#scanOn();
    this.#after(SCAN_EVERY_MS, () => this.#scanRegularly());
  }

  /** One window at a time, while there is room for more destinations. */
  #scanOn(): void {
    const [current] = this.#scanned;
    if (current === undefined || this.#planner.waiting >= MAX_WAITING) return;
    const found: DestinationKey[] = [];
    while (current.shard.isUp && found.length < SCAN_WINDOW) {
      const { value, done } = current.destinations.next();
      if (done) break;
      found.push(value);
    }
    if (found.length < SCAN_WINDOW) this.#scanned.shift();
    this.#planner.wake(found);
    this.#claim();
    this.#work(CLAIM_MS, SCAN_MS, () => this.#scanOn());
  }

  /** One claim at a time; whatever wakes the planner meanwhile is part of the next. */
  #claim(): void {
    if (this.#isClaiming) return;
    const { claims } = this.#planner.plan();
    if (claims.length === 0) return;
    this.#isClaiming = true;
    this.#locked = claims.filter(({ destination }) => {
      const shard = this.fleet.shardFor(destination);
      return shard.isUp && shard.lock(destination);
    });
    this.#after(CLAIM_MS, () => this.#claimed(claims));
  }

  #claimed(claims: readonly PlannedClaim[]): void {
    const locked = new Set(this.#locked);
    this.#locked = [];
    const made = claims.map((claim) => {
      const { destination, limit } = claim;
      const found = locked.has(claim) ? this.fleet.shardFor(destination).claim(destination, limit) : [];
      for (const delivery of found) {
        this.#held.add(delivery);
        this.queue.enqueue(delivery);
      }
      return { destination, limit, enqueued: found.length, mayHaveMore: found.length === limit };
    });
    const rows = made.reduce((sum, { enqueued }) => sum + enqueued, 0);
    this.#planner.noteClaimed(made);
    this.#isClaiming = false;
    this.#work(0, rows * CLAIM_ROW_MS, () => {
      for (const { destination } of claims) this.#advance(destination);
      this.#claim();
    });
  }

  #after(ms: number, run: () => void): void {
    this.fleet.at(this.fleet.nowMs + ms, () => {
      if (this.isUp) run();
    });
  }

  /** Runs when the processor is free, and keeps it for that time. */
  #work(inMs: number, takesMs: number, run: () => void): void {
    const startMs = Math.max(this.fleet.nowMs + inMs, this.#busyUntilMs);
    this.#busyUntilMs = startMs + takesMs;
    this.#after(this.#busyUntilMs - this.fleet.nowMs, run);
  }
}
