import type { DestinationKey } from '../../domain/destination.ts';
import { DomainError } from '../../domain/errors.ts';
import { type Database, StoreUnavailableError } from '../database/database.ts';
import type { DirectDispatch } from '../deliveries/claimed.ts';
import { type Acceptance, acceptEvents, type NewEvent, type NoteAccepted, type Reception } from './accept.ts';

/** Enough to share the cost of a commit, few enough not to make the first of them wait for the last. */
const MAX_GROUP = 200;
const MAX_WAITING = 10_000;
const MAX_TURNS = 5;
/** As many as one destination takes in a few milliseconds. */
const SHORT_LINE = 64;
const MAX_TURNS_FOR_LINE = 16;

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
    /** Told where something was accepted that somebody has to claim, and since when by the database's clock. */
    private readonly onDue: (due: ReadonlyMap<DestinationKey, number>) => void,
    /** Told of what is committed, with the destination of each delivery. */
    private readonly record: NoteAccepted = () => undefined,
    /** Who delivers in this process, if anybody does. */
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
   * The requests that stand ready come first, as long as each turn of the event loop brings some: SQLite's commit stops
   * that loop, and a group of one costs as much as a group of many.
   */
  async #gather(): Promise<void> {
    let gathered = 0;
    for (let turns = 0; turns < MAX_TURNS && gathered < this.#waiting.length; turns++) {
      gathered = this.#waiting.length;
      await nextTick();
    }
    await this.#letLineShrink();
  }

  /**
   * What was accepted goes out before more is: a process with no time left would accept faster than it posts, and
   * whatever then finds no place costs a claim. Only while each turn brings the line on: nobody waits for a receiver.
   */
  async #letLineShrink(): Promise<void> {
    let before = Number.POSITIVE_INFINITY;
    for (let turns = 0; turns < MAX_TURNS_FOR_LINE; turns++) {
      const queued = this.directDispatch?.queued ?? 0;
      if (queued <= SHORT_LINE || queued >= before) return;
      before = queued;
      await nextTick();
    }
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const { db, directDispatch } = this;
    const noted: Parameters<NoteAccepted>[] = [];
    const reception: Reception = { note: (...one) => noted.push(one), directDispatch, handed: [], due: new Map() };
    try {
      const events = group.map(({ event }) => event);
      const answers = await db.transaction((queries) => acceptEvents(queries, db.dialect, events, reception));
      directDispatch?.begin(reception.handed);
      for (const one of noted) this.record(...one);
      this.#answer(group, answers);
      if (reception.due.size > 0) this.onDue(reception.due);
    } catch (error) {
      directDispatch?.cancel(reception.handed);
      const unavailable = error instanceof StoreUnavailableError;
      if (unavailable || group.length === 1) for (const { reject } of group) reject(error);
      // Something in one of them broke the group: each on its own, so that only that one fails.
      else for (const member of group) await this.#commit([member]);
    }
  }

  #answer(group: readonly Waiting[], answers: readonly (Acceptance | DomainError)[]): void {
    for (const [index, { resolve, reject }] of group.entries()) {
      const answer = answers[index];
      if (answer === undefined || answer instanceof DomainError) reject(answer);
      else resolve(answer);
    }
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
