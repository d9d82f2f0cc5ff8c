import { ClaimPlanner, type Plan } from '../../../src/delivery/queue/claim-planner.ts';
import type { AttemptResult } from '../../../src/delivery/queue/destination-health.ts';
import { Fifo } from '../../../src/delivery/queue/fifo.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import type { DestinationKey } from '../../../src/domain/post-url.ts';
import { TaskHeap } from './task-heap.ts';

/**
 * The service in virtual time: the real `LocalQueue` and `ClaimPlanner`, with a store, a network and one processor that
 * only take time. Every run of one simulation gives the same figures.
 */

/** Processor time, as measured for one delivery of the real service and rounded up. */
const ACCEPT_MS = 0.06;
const START_MS = 0.05;
const FINISH_MS = 0.04;
const CLAIM_ROW_MS = 0.03;
/** What else passes while the store works. */
const COMMIT_MS = 1;
const CLAIM_MS = 2;
const RETRY_MS = 30_000;

export type Response = { readonly result: AttemptResult; readonly durationMs: number };

export type Receiver = (nowMs: number) => Response;

export const DEADLINE_MS = 15_000;
export const hangs: Receiver = () => ({ result: 'unhealthy', durationMs: DEADLINE_MS });
export const respondsIn =
  (durationMs: number): Receiver =>
  () => ({ result: 'success', durationMs });

type Delivery = { readonly destination: DestinationKey; readonly acceptedAtMs: number; readonly group: string };

export class Simulation {
  nowMs = 0;
  readonly queue: LocalQueue<Delivery>;
  readonly planner: ClaimPlanner;
  /** How long each delivery of a group waited from its acceptance to its first attempt. */
  readonly waitedMs = new Map<string, number[]>();
  /** When the last attempt of a group that succeeded ended. */
  readonly lastEndMs = new Map<string, number>();
  readonly #store = new Map<DestinationKey, Fifo<Delivery>>();
  readonly #receivers = new Map<DestinationKey, Receiver>();
  readonly #tasks = new TaskHeap();
  #claiming = false;
  #wanted = false;

  constructor(options: { slots: number; cap: number }) {
    const capacity = { slots: options.slots, queuePlaces: Math.min(options.slots, 4_096), bytes: 0 };
    const nowMs = () => this.nowMs;
    this.queue = new LocalQueue({ ...capacity, destinationCap: options.cap, sizeOf: () => 0, nowMs });
    this.planner = new ClaimPlanner(this.queue);
    this.planner.noteScanned();
  }

  receiver(destination: DestinationKey, receiver: Receiver): void {
    this.#receivers.set(destination, receiver);
  }

  at(atMs: number, run: () => void): void {
    this.#tasks.push(atMs, run);
  }

  run(untilMs: number): void {
    for (let task = this.#tasks.popUntil(untilMs); task !== null; task = this.#tasks.popUntil(untilMs)) {
      // What comes while the processor is busy waits for it.
      this.nowMs = Math.max(this.nowMs, task.atMs);
      task.run();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** An event is accepted in this process. */
  accept(destination: DestinationKey, group: string): void {
    const delivery = { destination, group, acceptedAtMs: this.nowMs };
    this.#spend(ACCEPT_MS);
    if (!this.planner.mayHaveOlder(destination) && this.queue.reserve(destination) === 1) {
      this.#after(COMMIT_MS, () => this.#enqueue(delivery));
    } else this.#after(COMMIT_MS, () => this.due(delivery.destination, group, 1, delivery.acceptedAtMs));
  }

  /** Deliveries are due that another instance accepted, or that were there before. */
  due(destination: DestinationKey, group: string, count: number, acceptedAtMs = this.nowMs): void {
    for (let added = 0; added < count; added++) this.#put({ destination, group, acceptedAtMs });
    this.planner.wake([destination]);
    this.#claim();
  }

  /** How many deliveries of the destination have not started yet. */
  backlog(destination: DestinationKey): number {
    return this.#store.get(destination)?.length ?? 0;
  }

  percentile(group: string, share: number): number {
    const sorted = (this.waitedMs.get(group) ?? []).toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  }

  #put(delivery: Delivery): void {
    const known = this.#store.get(delivery.destination);
    if (known !== undefined) known.push(delivery);
    else {
      const fifo = new Fifo<Delivery>();
      fifo.push(delivery);
      this.#store.set(delivery.destination, fifo);
    }
  }

  #enqueue(delivery: Delivery): void {
    this.queue.enqueue(delivery);
    this.#advance(delivery.destination);
  }

  #advance(destination: DestinationKey): void {
    for (let next = this.queue.start(destination); next !== null; next = this.queue.start(destination)) {
      const delivery = next;
      this.#spend(START_MS);
      const waits = this.waitedMs.get(delivery.group) ?? [];
      this.waitedMs.set(delivery.group, waits);
      waits.push(this.nowMs - delivery.acceptedAtMs);
      const response = (this.#receivers.get(destination) ?? hangs)(this.nowMs);
      this.#after(response.durationMs, () => this.#finish(delivery, response));
    }
  }

  #finish(delivery: Delivery, { result, durationMs }: Response): void {
    const { destination, group } = delivery;
    this.#spend(FINISH_MS);
    this.queue.finish(delivery, result, durationMs);
    if (result === 'success') this.lastEndMs.set(group, this.nowMs);
    else this.#after(RETRY_MS, () => this.due(destination, `${group}, retries`, 1));
    const overdue = this.queue.takeOverdue(destination);
    if (overdue.length > 0) {
      this.#after(COMMIT_MS, () => {
        for (const one of overdue) this.#put(one);
        this.planner.wake([destination]);
        this.#claim();
      });
    } else this.#advance(destination);
    if (this.planner.noteReleased(destination)) this.#claim();
  }

  /** One claim at a time; whatever wakes the planner meanwhile is part of the next. */
  #claim(): void {
    this.#wanted = true;
    if (this.#claiming) return;
    this.#claiming = true;
    this.#after(0, () => this.#planNext());
  }

  #planNext(): void {
    this.#claiming = false;
    if (!this.#wanted) return;
    const plan = this.planner.plan();
    this.#wanted = plan.isCut;
    if (plan.claims.length === 0) return;
    this.#claiming = true;
    this.#after(CLAIM_MS, () => this.#claimed(plan));
  }

  #claimed({ claims: planned }: Plan): void {
    const claims = planned.map(({ destination, limit }) => {
      const due = this.#store.get(destination);
      const found = Math.min(limit, due?.length ?? 0);
      for (let count = 0; count < found; count++) {
        this.#spend(CLAIM_ROW_MS);
        const delivery = due?.shift();
        if (delivery !== undefined) this.queue.enqueue(delivery);
      }
      return { destination, limit, enqueued: found, mayHaveMore: found === limit };
    });
    this.planner.noteClaimed(claims);
    for (const { destination } of planned) this.#advance(destination);
    this.#wanted ||= this.planner.waiting > 0;
    this.#planNext();
  }

  #after(ms: number, run: () => void): void {
    this.at(this.nowMs + ms, run);
  }

  #spend(ms: number): void {
    this.nowMs += ms;
  }
}
