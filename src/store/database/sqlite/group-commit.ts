import type { Database as Connection, Statement } from 'bun:sqlite';
import { MAX_WAITING, type Queries, StoreUnavailableError } from '../database.ts';
import { ConnectionQueries, codeOf, TickBudget, translate } from './connection-queries.ts';

const BUSY_PAUSE_MS = 10;

/** Bounds a group, so that in a long queue the first transaction does not wait for the last. */
const MAX_GROUP = 50;

/** After this many commits, the length of the write-ahead log is checked. The thread copies the log if it has `LONG_LOG_PAGES`. */
const COMMITS_PER_LOOK = 16;
const LONG_LOG_PAGES = 1_000;

/** A transaction that waits for its group. */
type Member = {
  /** Does the work, and returns the function that resolves its promise after the commit. */
  readonly run: (queries: Queries) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
  readonly endsAtMs: number;
  readonly timer: Timer;
};

/** The statements around every group, prepared once. Otherwise SQLite would parse them for every member. */
type Steps = Readonly<
  Record<'begin' | 'commit' | 'rollBack' | 'save' | 'release' | 'rollBackToSaved' | 'logLength', Statement>
>;

function prepareSteps(connection: Connection): Steps {
  return {
    begin: connection.prepare('begin immediate'),
    commit: connection.prepare('commit'),
    rollBack: connection.prepare('rollback'),
    save: connection.prepare('savepoint member'),
    release: connection.prepare('release member'),
    rollBackToSaved: connection.prepare('rollback to member'),
    logLength: connection.prepare('pragma wal_checkpoint(noop)'),
  };
}

/**
 * Group commit. SQLite has one writer, and the disk takes a millisecond or two to confirm a commit: transactions that arrive
 * together, or during another commit, share the next one. Each transaction is all or nothing because of its own savepoint, and
 * none resolves before the disk has confirmed all of them.
 */
export class SqliteWriter {
  readonly #queries: ConnectionQueries;
  readonly #steps: Steps;
  readonly #waiting: Member[] = [];
  #committing = false;
  #commits = 0;
  /** Called when the write-ahead log is so long that a commit which copies it would block the event loop. */
  onLongLog: () => void = () => undefined;
  /** Whether a waiting transaction has no commit delay, or has used it up. */
  #isUrgent = false;
  /** Ends the commit delay of the transaction that has waited longest. */
  #delay: Timer | null = null;
  /** Settles when the connection is free: after the running group or checkpoint. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly connection: Connection,
    private readonly budget = new TickBudget(),
  ) {
    this.#queries = new ConnectionQueries(connection, budget);
    this.#steps = prepareSteps(connection);
  }

  /** During its commit delay, a transaction starts no group, and joins the first group that another transaction starts. */
  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
    maxCommitDelayMs: number,
  ): Promise<Value> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new StoreUnavailableError('too many callers are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      const run = async (queries: Queries) => {
        const value = await work(queries);
        return () => resolve(value);
      };
      const timer = setTimeout(() => this.#timeOut(member, deadlineMs), deadlineMs);
      const member: Member = { run, reject, endsAtMs: performance.now() + deadlineMs, timer };
      this.#waiting.push(member);
      if (maxCommitDelayMs > 0) this.#delay ??= setTimeout(() => this.#commitSoon(), maxCommitDelayMs);
      else this.#commitSoon();
    });
  }

  #commitSoon(): void {
    this.#isUrgent = true;
    if (!this.#committing) void this.#commitAll();
  }

  /** Runs the action alone. Transactions that arrive during it wait. */
  alone(action: () => Promise<void>): Promise<void> {
    const done = this.#last.then(action);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #timeOut(member: Member, deadlineMs: number): void {
    this.#waiting.splice(this.#waiting.indexOf(member), 1);
    member.reject(new StoreUnavailableError(`the store was not free within ${deadlineMs} ms`));
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#isUrgent && this.#waiting.length > 0) {
      // Waits for other callers of this tick, because a commit blocks the event loop and a group of one is expensive.
      await new Promise((resolve) => setImmediate(resolve));
      // The group also takes transactions whose commit delay has not ended.
      this.#isUrgent = this.#waiting.length > MAX_GROUP;
      if (this.#delay !== null) clearTimeout(this.#delay);
      this.#delay = null;
      await this.alone(() => this.#commit(this.#waiting.splice(0, MAX_GROUP)));
    }
    this.#committing = false;
  }

  async #commit(group: readonly Member[]): Promise<void> {
    for (const { timer } of group) clearTimeout(timer);
    let present = group;
    try {
      present = await this.#begin(group);
      if (present.length === 0) return;
      const completions: (() => void)[] = [];
      for (const member of present) completions.push(await this.#run(member, present.length > 1));
      if (this.budget.isSpent) await this.budget.nextTick();
      this.#steps.commit.run();
      for (const complete of completions) complete();
      if (++this.#commits % COMMITS_PER_LOOK === 0) this.#lookAtLog();
    } catch (error) {
      this.#rollBack();
      for (const { reject } of present) reject(translate(error, this.connection));
    }
  }

  #lookAtLog(): void {
    const { log, checkpointed } = this.#steps.logLength.get() as { log: number; checkpointed: number };
    if (log - checkpointed >= LONG_LOG_PAGES) this.onLongLog();
  }

  /** If even the rollback fails, the next `begin` fails too and rejects its group. The caller rejects the present group. */
  #rollBack(): void {
    try {
      if (this.connection.inTransaction) this.#steps.rollBack.run();
    } catch {
      // The caller reports the error that led to the rollback.
    }
  }

  /**
   * Another process, such as the command line, may have the write lock for a moment. Repeats `begin` until the deadlines of the
   * members.
   */
  async #begin(group: readonly Member[]): Promise<readonly Member[]> {
    let present = group;
    while (present.length > 0) {
      try {
        this.#steps.begin.run();
        return present;
      } catch (error) {
        if (codeOf(error) !== 'SQLITE_BUSY') throw error;
        const [late, others] = partition(present, ({ endsAtMs }) => performance.now() + BUSY_PAUSE_MS >= endsAtMs);
        for (const { reject } of late) reject(translate(error, this.connection));
        present = others;
        await Bun.sleep(BUSY_PAUSE_MS);
      }
    }
    return present;
  }

  /** Returns the function that completes the member after the commit of its group. */
  async #run({ run, reject }: Member, shared: boolean): Promise<() => void> {
    if (shared) this.#steps.save.run();
    try {
      const complete = await run(this.#queries);
      if (shared) this.#steps.release.run();
      return complete;
    } catch (error) {
      // A full disk rolls back the whole transaction, and a group of one has no other member to save.
      if (!shared || !this.connection.inTransaction) throw error;
      this.#steps.rollBackToSaved.run();
      this.#steps.release.run();
      return () => reject(translate(error, this.connection));
    }
  }
}

function partition<Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] {
  const yes: Item[] = [];
  const no: Item[] = [];
  for (const item of items) (matches(item) ? yes : no).push(item);
  return [yes, no];
}
