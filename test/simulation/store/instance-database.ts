import {
  type Announcement,
  type CallOptions,
  type Database,
  type Dialect,
  type Queries,
  type Reads,
  type SqlValue,
  StoreUnavailableError,
} from '../../../src/store/database/database.ts';
import { as, asNobody, never, type Owner } from '../world/owners.ts';
import { THAW_LOOK_MS, world } from '../world/world.ts';
import { TimedStatements, timedQueries } from './clock.ts';
import type { DatabaseFaults } from './faults.ts';
import type { Notifications } from './notifications.ts';

/** The transaction of an instance that was killed ends without a commit. */
class KilledError extends StoreUnavailableError {}

export type InstanceDatabaseOptions = {
  readonly shared: Database;
  /** `sqlite` for the only instance of a file; several instances behave as on PostgreSQL, whatever the file is. */
  readonly engine: Database['engine'];
  readonly dialect: Dialect;
  readonly owner: Owner;
  readonly faults: DatabaseFaults;
  readonly notifications: Notifications;
};

/**
 * The database as one instance sees it. Its calls may be slow, fail, or be carried out and not answered; an instance that was
 * killed gets no answers any longer, and its open transaction is rolled back.
 */
export class InstanceDatabase implements Database {
  readonly engine: Database['engine'];
  readonly dialect: Dialect;
  readonly longReads: Reads;
  readonly dataVersion: Database['dataVersion'];
  readonly #statements: TimedStatements;

  constructor(private readonly options: InstanceDatabaseOptions) {
    this.engine = options.engine;
    this.dialect = options.dialect;
    this.#statements = new TimedStatements(options.shared.dialect);
    const { longReads, dataVersion } = options.shared;
    this.dataVersion = options.engine === 'sqlite' && dataVersion !== null ? () => this.#read(dataVersion) : null;
    this.longReads = {
      all: (sql, params) => this.#read(() => longReads.all(...this.#statements.of(sql, params))),
      get: (sql, params) => this.#read(() => longReads.get(...this.#statements.of(sql, params))),
      snapshot: (work) => this.#snapshot(longReads, work),
    };
  }

  async all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    // Several instances on a file take it for PostgreSQL. A file has no partitions.
    if (this.options.shared.engine === 'sqlite' && sql.includes('pg_class')) return [];
    return this.#read(() => this.options.shared.all<Row>(...this.#statements.of(sql, params)));
  }

  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#read(() => this.options.shared.get<Row>(...this.#statements.of(sql, params)));
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    return this.#snapshot(this.options.shared, work);
  }

  async transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value> {
    const { shared, owner, faults } = this.options;
    await this.#reachable();
    let isUnanswered = false;
    let lateMs = 0;
    const value = await this.#answered(() =>
      shared.transaction(async (queries) => {
        const result = await this.#within(queries, work);
        const fault = faults.take('commit');
        if (fault !== null) world.note(`${owner.name} commit ${fault.effect}`);
        if (fault?.effect === 'fails') throw new StoreUnavailableError('the commit failed');
        isUnanswered = fault?.effect === 'unanswered';
        lateMs = fault?.effect === 'slow' ? fault.delayMs : 0;
        // A transaction that holds back its commit holds back every other one of an engine with one writer.
        if (shared.engine === 'postgres' && lateMs > 0) await this.#wait(lateMs);
        return result;
      }, options),
    );
    world.note(`${owner.name} commit`);
    if (isUnanswered) throw new StoreUnavailableError('the commit was not answered');
    if (lateMs > 0) await asNobody(() => world.sleep(lateMs));
    await this.#reachable();
    return value;
  }

  async announceWork(what: Announcement = 'deliveries'): Promise<void> {
    if (this.engine === 'sqlite') return;
    await this.#reachable();
    this.options.notifications.send(this.options.owner, what);
  }

  async onWork(callback: (what: string) => void): Promise<void> {
    if (this.engine === 'postgres') this.options.notifications.listen(this.options.owner, callback);
  }

  async checkpoint(): Promise<void> {}

  async close(): Promise<void> {}

  async #read<Value>(read: () => Promise<Value>): Promise<Value> {
    await this.#reachable();
    await this.#statement();
    return this.#answered(read);
  }

  async #snapshot<Value>(reads: Reads, work: (queries: Queries) => Promise<Value>): Promise<Value> {
    await this.#reachable();
    return this.#answered(() => reads.snapshot((queries) => this.#within(queries, work)));
  }

  /** The work of the instance between the begin and the end of a transaction. */
  #within<Value>(queries: Queries, work: (queries: Queries) => Promise<Value>): Promise<Value> {
    const before = async () => {
      await this.#statement();
      this.#requireAlive();
      await this.#thawedWithin();
    };
    return as(this.options.owner, async () => {
      this.#requireAlive();
      const value = await work(timedQueries(queries, this.#statements, before));
      this.#requireAlive();
      return value;
    });
  }

  /** A call that was sent is carried out, whatever becomes of the instance, which gets the answer only if it still runs. */
  async #answered<Value>(call: () => Promise<Value>): Promise<Value> {
    const { owner } = this.options;
    try {
      const value = await asNobody(call);
      return owner.isAlive ? value : await never();
    } catch (error) {
      if (!owner.isAlive) return never();
      throw error;
    }
  }

  async #statement(): Promise<void> {
    const { owner, faults } = this.options;
    const fault = faults.take('statement');
    if (fault === null) return;
    world.note(`${owner.name} statement ${fault.effect}`);
    if (fault.effect === 'fails') throw new StoreUnavailableError('the statement failed');
    await this.#wait(fault.delayMs);
  }

  /** By a timer that outlives the instance: what it holds in the database has to be given back. */
  #wait(ms: number): Promise<void> {
    return asNobody(() => world.sleep(ms));
  }

  /** The way to the database and back. An instance that is frozen goes on later, one that was killed never. */
  async #reachable(): Promise<void> {
    const { owner, faults } = this.options;
    const waitMs = faults.latencyMs();
    if (waitMs > 0) await this.#wait(waitMs);
    await this.#thawed();
    if (!owner.isAlive) await never();
  }

  async #thawed(): Promise<void> {
    const { owner } = this.options;
    while (owner.isAlive && owner.frozenUntilMs > world.nowMs) {
      await this.#wait(Math.min(THAW_LOOK_MS, owner.frozenUntilMs - world.nowMs));
    }
  }

  /** The server rolls back the transaction of an instance that stands still. One process alone goes on later. */
  async #thawedWithin(): Promise<void> {
    const isFrozen = this.options.owner.frozenUntilMs > world.nowMs;
    if (!isFrozen) return;
    if (this.engine === 'postgres') throw new StoreUnavailableError('the transaction stood still for too long');
    await this.#thawed();
    this.#requireAlive();
  }

  #requireAlive(): void {
    if (!this.options.owner.isAlive) throw new KilledError('the instance was killed');
  }
}
