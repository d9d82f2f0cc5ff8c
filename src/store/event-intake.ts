import { Problem } from '../domain/problems.ts';
import { type Database, StoreUnavailableError } from './database.ts';
import { type Acceptance, acceptEvents, type NewEvent, type NoteAccepted } from './events.ts';

/** Enough to share the cost of a commit, few enough not to make the first of them wait for the last. */
const MAX_GROUP = 200;
const MAX_WAITING = 10_000;

type Waiting = {
  event: NewEvent;
  resolve: (acceptance: Acceptance) => void;
  reject: (error: unknown) => void;
};

/**
 * Group commit: events that arrive together, or while a commit is under way, share the next one. An acceptance resolves
 * only after the commit that holds the event and all of its deliveries.
 */
export class EventIntake {
  #waiting: Waiting[] = [];
  #committing = false;

  constructor(
    private readonly db: Database,
    private readonly onAccepted: () => void,
    /** Told of what is committed, with the destination of each delivery. */
    private readonly record: NoteAccepted = () => undefined,
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
      // The requests that stand ready come first: SQLite's commit stops the event loop, and a group of one is dear.
      await new Promise((resolve) => setImmediate(resolve));
      const group = this.#waiting.splice(0, MAX_GROUP);
      await this.#commit(group);
    }
    this.#committing = false;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const events = group.map(({ event }) => event);
      const { answers, accepted } = await this.db.transaction(async (queries) => {
        const noted: Parameters<NoteAccepted>[] = [];
        const note: NoteAccepted = (...one) => noted.push(one);
        return { answers: await acceptEvents(queries, this.db.dialect, events, note), accepted: noted };
      });
      for (const one of accepted) this.record(...one);
      this.#answer(group, answers);
    } catch (error) {
      const unavailable = error instanceof StoreUnavailableError;
      if (unavailable || group.length === 1) for (const { reject } of group) reject(error);
      // Something in one of them broke the group: each on its own, so that only that one fails.
      else for (const member of group) await this.#commit([member]);
    }
  }

  #answer(group: readonly Waiting[], answers: readonly (Acceptance | Problem)[]): void {
    let accepted = false;
    for (const [index, { resolve, reject }] of group.entries()) {
      const answer = answers[index];
      if (answer === undefined || answer instanceof Problem) reject(answer);
      else {
        accepted ||= answer.deliveries > 0 && !answer.repeated;
        resolve(answer);
      }
    }
    if (accepted) this.onAccepted();
  }
}
