import { DomainError } from '../../domain/errors.ts';
import type { EventNumbers } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import type { AcceptanceSpan, Tracer } from '../../telemetry/tracer.ts';
import { type Database, ofEntity, type Queries, StoreUnavailableError } from '../database/database.ts';
import type { DirectDispatch } from '../deliveries/claim/claimed.ts';
import { HeadChangedError, repeatIfHeadChanged } from '../deliveries/head-locks.ts';
import { eventNumbers } from '../new-id.ts';
import { Turns } from '../turns.ts';
import { acceptEvents } from './accept.ts';
import { type Acceptance, type AcceptedGroup, emptyGroup, type NewEvent } from './acceptance.ts';

/** Enough events to share the cost of a commit, and few enough that the first event does not wait for the last. */
const MAX_GROUP = 200;
const MAX_WAITING = 10_000;
const MAX_TICKS = 5;
/** The number of deliveries that one destination takes in a few milliseconds. */
const SHORT_QUEUE = 64;
const MAX_TICKS_FOR_QUEUE = 16;

type Waiting = {
  event: NewEvent;
  resolve: (acceptance: Acceptance) => void;
  reject: (error: unknown) => void;
};

/** The entity whose events a lane commits. */
type Lane = string | null;
const ALL_ENTITIES = null;

/** Callbacks after a commit, and the parts that the queue works with. */
export type AcceptQueueOptions = {
  /** Destinations with deliveries that are due and must be claimed, and the time of the database's clock. */
  onDue: (due: ReadonlySet<DestinationKey>, nowMs: number) => void;
  /** Called for each new event, with the destinations of its deliveries. */
  onAccepted?: (entityId: string, destinations: readonly DestinationKey[]) => void;
  /** Called if a task creates further deliveries of an event, because one transaction had no room for them. */
  onTask?: () => void;
  /** The dispatcher of this process, if it has one. */
  directDispatch?: DirectDispatch | null;
  /** Records the acceptance of events whose trace is recorded. */
  tracer?: Tracer | null;
  /** Separate numbers for each of several instances in one process, as the simulator of the tests runs them. */
  numbers?: EventNumbers;
};

/**
 * Group commit: events that arrive together, or while a commit is under way, share the next commit, in turns of their entities.
 * An acceptance resolves only after the commit, which contains the event with all its deliveries, or with a task that creates the
 * remaining deliveries.
 */
export class AcceptQueue {
  readonly #waiting = new Turns<Waiting>();
  /**
   * Lanes that commit now. Usually one lane serves all entities. If the tables are distributed, each entity has its own lane, so
   * that a server that is down stops only its own entities.
   */
  readonly #lanes = new Set<Lane>();

  constructor(
    private readonly db: Database,
    private readonly options: AcceptQueueOptions,
  ) {}

  accept(event: NewEvent): Promise<Acceptance> {
    if (!this.#waiting.hasRoom(event.entityId, MAX_WAITING)) {
      return Promise.reject(new StoreUnavailableError('too many events are waiting for the store'));
    }
    const span = this.options.tracer?.acceptance(event) ?? null;
    return span === null ? this.#enqueue(event) : ending(span, this.#enqueue({ ...event, trace: span.context }));
  }

  #enqueue(event: NewEvent): Promise<Acceptance> {
    return new Promise((resolve, reject) => {
      const lane = this.db.dialect.isDistributed ? event.entityId : ALL_ENTITIES;
      this.#waiting.push(event.entityId, { event, resolve, reject });
      if (this.#lanes.has(lane)) return;
      this.#lanes.add(lane);
      void this.#commitAll(lane);
    });
  }

  /**
   * Accepts events in order, in a separate transaction together with the statements of `also`. Returns the results of
   * the first events, as many as one transaction can take.
   */
  async acceptInOrder(
    events: readonly NewEvent[],
    also: (queries: Queries, results: readonly (Acceptance | DomainError)[]) => Promise<void>,
  ): Promise<readonly (Acceptance | DomainError)[]> {
    const spans = events.map((event) => this.options.tracer?.acceptance({ ...event, beginsTrace: true }) ?? null);
    const traced = events.map((event, index) => ({ ...event, trace: spans[index]?.context ?? null }));
    const accepted = await this.#store(traced, also);
    this.#announce(accepted);
    for (const [index, result] of accepted.results.entries()) spans[index]?.end(result);
    return accepted.results;
  }

  async #commitAll(lane: Lane): Promise<void> {
    const entity = lane ?? undefined;
    while (this.#waiting.sizeOf(entity) > 0) {
      await this.#gather(entity);
      const group = this.#waiting.next(MAX_GROUP, entity);
      const settled = await this.#commit(group);
      for (const member of group.slice(0, settled)) this.#waiting.served(member.event.entityId, member);
    }
    this.#lanes.delete(lane);
  }

  /**
   * Waits while each tick of the event loop brings further requests, so that they join the group. A commit of SQLite blocks the
   * event loop, and a group of one costs as much as a group of many.
   */
  async #gather(entity: string | undefined): Promise<void> {
    let gathered = 0;
    for (let ticks = 0; ticks < MAX_TICKS && gathered < this.#waiting.sizeOf(entity); ticks++) {
      gathered = this.#waiting.sizeOf(entity);
      await nextTick();
    }
    await this.#letQueueShrink();
  }

  /**
   * Waits while accepted deliveries are sent. A saturated process would accept faster than it sends, and each delivery without a
   * slot costs a claim. It waits only while each tick shortens the queue, and never for a receiver.
   */
  async #letQueueShrink(): Promise<void> {
    let before = Number.POSITIVE_INFINITY;
    for (let ticks = 0; ticks < MAX_TICKS_FOR_QUEUE; ticks++) {
      const queued = this.options.directDispatch?.queued ?? 0;
      if (queued <= SHORT_QUEUE || queued >= before) return;
      before = queued;
      await nextTick();
    }
  }

  /** Returns how many events were settled, from the first on. The remaining events did not fit into one transaction. */
  async #commit(group: readonly Waiting[]): Promise<number> {
    try {
      const accepted = await this.#store(group.map(({ event }) => event));
      this.#announce(accepted);
      for (const [index, result] of accepted.results.entries()) {
        if (result instanceof DomainError) group[index]?.reject(result);
        else group[index]?.resolve(result);
      }
      return accepted.results.length;
    } catch (error) {
      const isUnavailable = error instanceof StoreUnavailableError && !(error.cause instanceof HeadChangedError);
      if (isUnavailable || group.length === 1) for (const { reject } of group) reject(error);
      // The database rejects one of the events, or the webhooks of one event change all the time. Each event is then accepted
      // alone, so that only this event fails.
      else for (const member of group) await this.#commit([member]);
      return group.length;
    }
  }

  #store(
    events: readonly NewEvent[],
    also?: (queries: Queries, results: AcceptedGroup['results']) => Promise<void>,
  ): Promise<AcceptedGroup> {
    return repeatIfHeadChanged(() => this.#storeOnce(events, also));
  }

  /** Accepts the events in one transaction. If the transaction fails, frees the slots that it took. */
  async #storeOnce(
    events: readonly NewEvent[],
    also?: (queries: Queries, results: AcceptedGroup['results']) => Promise<void>,
  ): Promise<AcceptedGroup> {
    const { db, options } = this;
    const { directDispatch = null, numbers = eventNumbers } = options;
    const accepted = emptyGroup();
    const ofOne = ofEntity(db, events[0]?.entityId);
    try {
      await db.transaction(async (queries) => {
        await acceptEvents(queries, db.dialect, events, directDispatch, accepted, numbers);
        await also?.(queries, accepted.results);
      }, ofOne);
      return accepted;
    } catch (error) {
      accepted.isOver = true;
      directDispatch?.cancel(accepted.slots);
      throw error;
    }
  }

  #announce({ dispatched, destinations, due, nowMs, hasRest }: AcceptedGroup): void {
    this.options.directDispatch?.begin(dispatched);
    for (const one of destinations) this.options.onAccepted?.(one.entityId, one.destinations);
    if (due.size > 0) this.options.onDue(due, nowMs);
    if (hasRest) this.options.onTask?.();
  }
}

/** Ends the span when the acceptance ends. */
async function ending(span: AcceptanceSpan, accepting: Promise<Acceptance>): Promise<Acceptance> {
  try {
    const accepted = await accepting;
    span.end(accepted);
    return accepted;
  } catch (error) {
    span.end(error instanceof Error ? error : new Error('unknown'));
    throw error;
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
