import type { Database as Connection, Statement } from 'bun:sqlite';
import { MAX_WAITING, type Queries, StoreUnavailableError } from '../database.ts';
import { ConnectionQueries, translate, translated } from './sqlite.ts';

const BUSY_PAUSE_MS = 10;

/** So that a long queue does not keep the first of it waiting for the last. */
const MAX_GROUP = 50;

type Member = {
  readonly work: (queries: Queries) => Promise<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly endsAtMs: number;
  readonly timer: Timer;
};

/** What frames every group; prepared once, as each would otherwise be parsed for each member. */
type Steps = Readonly<Record<'begin' | 'commit' | 'rollBack' | 'save' | 'release' | 'rollBackToSaved', Statement>>;

function prepareSteps(connection: Connection): Steps {
  return {
    begin: connection.prepare('begin immediate'),
    commit: connection.prepare('commit'),
    rollBack: connection.prepare('rollback'),
    save: connection.prepare('savepoint member'),
    release: connection.prepare('release member'),
    rollBackToSaved: connection.prepare('rollback to member'),
  };
}

/**
 * Group commit. SQLite has one writer, and the disk takes a millisecond or two to confirm what it wrote: transactions
 * that come together, or while another commits, share the next commit. Each is all or nothing by a savepoint of its own,
 * and none is told that it is done before the disk has all of them.
 */
export class SqliteWriter {
  readonly #queries: ConnectionQueries;
  readonly #steps: Steps;
  readonly #waiting: Member[] = [];
  #committing = false;
  /** Somebody waits who has no time, or no more. */
  #isWanted = false;
  /** When the first of those who have time wants to be served all the same. */
  #patience: Timer | null = null;
  /** The end of whatever has the connection at the moment: one group, or one checkpoint. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: Connection) {
    this.#queries = new ConnectionQueries(connection);
    this.#steps = prepareSteps(connection);
  }

  /** With patience it begins no group by itself for so long, and joins the first that somebody else begins. */
  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
    maxCommitDelayMs: number,
  ): Promise<Value> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new StoreUnavailableError('too many callers are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(member, deadlineMs), deadlineMs);
      const member = { work, resolve, reject, endsAtMs: performance.now() + deadlineMs, timer };
      this.#waiting.push(member);
      if (maxCommitDelayMs > 0) this.#patience ??= setTimeout(() => this.#hurry(), maxCommitDelayMs);
      else this.#hurry();
    });
  }

  #hurry(): void {
    this.#isWanted = true;
    if (!this.#committing) void this.#commitAll();
  }

  checkpoint(): Promise<void> {
    return this.#alone(async () => {
      // Where another process is reading it does as much as it can, and says so in a row that nobody needs.
      translated(() => this.connection.query('pragma wal_checkpoint(truncate)').get());
    });
  }

  #alone(action: () => Promise<void>): Promise<void> {
    const done = this.#last.then(action);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #giveUp(member: Member, deadlineMs: number): void {
    this.#waiting.splice(this.#waiting.indexOf(member), 1);
    member.reject(new StoreUnavailableError(`the store was not free within ${deadlineMs} ms`));
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#isWanted && this.#waiting.length > 0) {
      // Whoever is about to ask comes first: a commit stops the event loop, and a group of one is dear.
      await new Promise((resolve) => setImmediate(resolve));
      // All who wait come along, and with them everybody's patience.
      this.#isWanted = this.#waiting.length > MAX_GROUP;
      if (this.#patience !== null) clearTimeout(this.#patience);
      this.#patience = null;
      await this.#alone(() => this.#commit(this.#waiting.splice(0, MAX_GROUP)));
    }
    this.#committing = false;
  }

  async #commit(group: readonly Member[]): Promise<void> {
    for (const { timer } of group) clearTimeout(timer);
    let present = group;
    try {
      present = await this.#begin(group);
      if (present.length === 0) return;
      const answers: (() => void)[] = [];
      for (const member of present) answers.push(await this.#run(member, present.length > 1));
      this.#steps.commit.run();
      for (const answer of answers) answer();
    } catch (error) {
      this.#rollBack();
      for (const { reject } of present) reject(translate(error));
    }
  }

  /** Where even that fails, the next `begin` says so to whoever comes next; those who wait must be told now. */
  #rollBack(): void {
    try {
      if (this.connection.inTransaction) this.#steps.rollBack.run();
    } catch {
      // The error that led here is the one to tell.
    }
  }

  /** Another process may hold the write lock for a moment: the command line on a running server's store. */
  async #begin(group: readonly Member[]): Promise<readonly Member[]> {
    let present = group;
    while (present.length > 0) {
      try {
        this.#steps.begin.run();
        return present;
      } catch (error) {
        const translatedError = translate(error);
        const locked = translatedError instanceof StoreUnavailableError && translatedError.message === 'SQLITE_BUSY';
        if (!locked) throw error;
        const [late, patient] = partition(present, ({ endsAtMs }) => performance.now() + BUSY_PAUSE_MS >= endsAtMs);
        for (const { reject } of late) reject(translatedError);
        present = patient;
        await Bun.sleep(BUSY_PAUSE_MS);
      }
    }
    return present;
  }

  /** Answers how to answer, once all is committed. */
  async #run({ work, resolve, reject }: Member, shared: boolean): Promise<() => void> {
    if (shared) this.#steps.save.run();
    try {
      const value = await work(this.#queries);
      if (shared) this.#steps.release.run();
      return () => resolve(value as never);
    } catch (error) {
      // A full disk takes the whole transaction along; and where there is one member, there is nobody else to save.
      if (!shared || !this.connection.inTransaction) throw error;
      this.#steps.rollBackToSaved.run();
      this.#steps.release.run();
      return () => reject(translate(error));
    }
  }
}

function partition<Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] {
  const yes: Item[] = [];
  const no: Item[] = [];
  for (const item of items) (matches(item) ? yes : no).push(item);
  return [yes, no];
}
