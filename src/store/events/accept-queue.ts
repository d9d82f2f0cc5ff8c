import type { DestinationKey } from '../../domain/destination.ts';
import { DomainError } from '../../domain/errors.ts';
import { type Database, StoreUnavailableError } from '../database/database.ts';
import type { DirectDispatch } from '../deliveries/claimed.ts';
import { type Acceptance, type AcceptContext, acceptEvents, type NewEvent, type NoteAccepted } from './accept.ts';

/** Enough to share the cost of a commit, few enough that the first event does not wait long for the last. */
const MAX_GROUP = 200;
const MAX_WAITING = 10_000;
const MAX_TICKS = 5;
/** As many as one destination accepts in a few milliseconds. */
const SHORT_QUEUE = 64;
const MAX_TICKS_FOR_QUEUE = 16;

type Waiting = {
  event: NewEvent;
  resolve: (acceptance: Acceptance) => void;
  reject: (error: unknown) => void;
};

/**
 * Group commit: events that arrive together, or while a commit is under way, share the next one. An acceptance resolves
 * only after the commit that holds the event and all of its deliveries.
 */
export class AcceptQueue {
  #waiting: Waiting[] = [];
  #committing = false;

  constructor(
    private readonly db: Database,
    /** Called with the destinations that have deliveries to be claimed, and since when by the database's clock. */
    private readonly onDue: (due: ReadonlyMap<DestinationKey, number>) => void,
    /** Called after the commit for each new event, with the destination of each delivery. */
    private readonly record: NoteAccepted = () => undefined,
    /** The dispatcher of this process, if it has one. */
    private readonly directDispatch: DirectDispatch | null = null,
  ) {}

  accept(event: NewEvent): Promise<Acceptance> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new StoreUnavailableError('too many events are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      if (!this.#committing) void this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const group = this.#waiting.splice(0, MAX_GROUP);
      await this.#commit(group);
    }
    this.#committing = false;
  }

  /**
   * Requests that are ready are gathered first, as long as each tick of the event loop brings more: a commit on SQLite
   * blocks the loop, and a group of one costs as much as a group of many.
   */
  async #gather(): Promise<void> {
    let gathered = 0;
    for (let ticks = 0; ticks < MAX_TICKS && gathered < this.#waiting.length; ticks++) {
      gathered = this.#waiting.length;
      await nextTick();
    }
    await this.#letQueueShrink();
  }

  /**
   * Lets queued deliveries start before more are accepted: a busy process would accept faster than it sends, and every
   * delivery without a slot costs a claim. Only while each tick shortens the queue, so that no request waits for a
   * receiver.
   */
  async #letQueueShrink(): Promise<void> {
    let before = Number.POSITIVE_INFINITY;
    for (let ticks = 0; ticks < MAX_TICKS_FOR_QUEUE; ticks++) {
      const queued = this.directDispatch?.queued ?? 0;
      if (queued <= SHORT_QUEUE || queued >= before) return;
      before = queued;
      await nextTick();
    }
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const { db, directDispatch } = this;
    const noted: Parameters<NoteAccepted>[] = [];
    const note: NoteAccepted = (...one) => noted.push(one);
    const context: AcceptContext = { note, directDispatch, dispatched: [], due: new Map() };
    try {
      const events = group.map(({ event }) => event);
      const results = await db.transaction((queries) => acceptEvents(queries, db.dialect, events, context));
      directDispatch?.begin(context.dispatched);
      for (const one of noted) this.record(...one);
      this.#complete(group, results);
      if (context.due.size > 0) this.onDue(context.due);
    } catch (error) {
      directDispatch?.cancel(context.dispatched);
      const unavailable = error instanceof StoreUnavailableError;
      if (unavailable || group.length === 1) for (const { reject } of group) reject(error);
      // One event made the group fail: each is committed alone, so that only that one is rejected.
      else for (const member of group) await this.#commit([member]);
    }
  }

  #complete(group: readonly Waiting[], results: readonly (Acceptance | DomainError)[]): void {
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      if (result === undefined || result instanceof DomainError) reject(result);
      else resolve(result);
    }
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
