import type { Database as Connection } from 'bun:sqlite';
import { Semaphore } from '../admission.ts';
import {
  type CallOptions,
  type Database,
  type Dialect,
  type LongReads,
  MAX_WAITING,
  type Queries,
  type SqlValue,
  TRANSACTION_LIMITS,
} from '../database.ts';
import { LeaseClock } from '../lease-clock.ts';
import { listOfValues } from '../sql.ts';
import { ConnectionQueries, type TickBudget, translate } from './connection-queries.ts';

const dialect: Omit<Dialect, 'leaseClock'> = {
  uuid: 'blob',
  bindUuid: (hex) => Uint8Array.fromHex(hex),
  hexOf: (uuid) => (uuid as Uint8Array).toHex(),
  timeOfUuid: (expression) =>
    `(${Array.from({ length: 12 }, (_, digit) => `((instr('0123456789ABCDEF', substr(hex(${expression}), ${digit + 1}, 1)) - 1) << ${44 - 4 * digit})`).join(' + ')})`,
  storage: { clustered: 'without rowid', updatedInPlace: 'without rowid' },
  bootstrap: [],
  // `begin immediate` takes the only write lock.
  lockStore: [],
  allowLongTransaction: [],
  lockSecrets: [],
  nowMs: `cast(unixepoch('subsec') * 1000 as integer)`,
  isDistributed: false,
  silentWorkers: () => [],
  hasWorker: () => true,
  onWorker: () => undefined,
  limits: TRANSACTION_LIMITS,
  ofEntity: () => '',
  lockRow: '',
  skipLocked: '',
  planForClaims: `select cast(unixepoch('subsec') * 1000 as integer) as now_ms`,
  lookUp: (join, table, alias, key) => {
    const conditions = Object.entries(key).map(([column, value]) => `${alias}.${column} = ${value}`);
    return `${join} ${table} ${alias} on ${conditions.join(' and ')}`;
  },
  firstOf: (table, alias, key, { by, limit }) => {
    const conditions = Object.entries(key).map(([column, value]) => `f.${column} = ${value}`);
    return `cross join ${table} ${alias} on ${alias}.rowid in (
      select f.rowid from ${table} f where ${conditions.join(' and ')} order by f.${by} limit ${limit})`;
  },
  rowsOf: (table, list, key) => ({
    from: list,
    where: key.map((column) => `${table}.${column} = ${list}.${column}`).join(' and '),
  }),
  rowList: listOfValues,
  byIndex: (index) => `indexed by ${index}`,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  addCounts: (counts, more) => `(select json_group_object(key, total) from (
    select key, sum(value) as total from (
      select key, value from json_each(${counts}) union all select key, value from json_each(${more})) both group by key) sums)`,
  findTable: `select name from sqlite_master where type = 'table' and name = $1`,
  storeBytes: '(select page_count * page_size from pragma_page_count(), pragma_page_size())',
};

/** The group commit, which is the only writer. */
type Writer = {
  /** Runs while no transaction does. */
  alone(action: () => Promise<void>): Promise<void>;
  onLongLog: () => void;
  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
    maxCommitDelayMs: number,
  ): Promise<Value>;
};

/** The part of `StoreThread` that the engine uses. */
type Thread = { readonly connection: Queries; close(): void };

type Connections = Readonly<Record<'writer' | 'reader' | 'snapshots', Connection>>;

/**
 * The embedded engine: one connection for all writes, one for single reads, one for snapshots. A single read must not
 * share a connection with an open snapshot, or it would see the state of that snapshot. Long reads and checkpoints have
 * a connection on a separate thread.
 */
export class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly dialect: Dialect = { ...dialect, leaseClock: new LeaseClock() };
  readonly longReads: LongReads;
  readonly #reader: ConnectionQueries;
  readonly #snapshots: ConnectionQueries;
  readonly #snapshotSlot = new Semaphore(1, MAX_WAITING);
  readonly #threadSlot = new Semaphore(1, MAX_WAITING);
  #isCopyingLog = false;

  constructor(
    private readonly writer: Writer,
    private readonly connections: Connections,
    budget: TickBudget,
    private readonly thread: Thread,
    private readonly deadlineMs: number,
  ) {
    this.#reader = new ConnectionQueries(connections.reader, budget);
    this.#snapshots = new ConnectionQueries(connections.snapshots, budget);
    this.longReads = {
      all: (sql, params, entityId) => this.#onThread((queries) => queries.all(sql, params), entityId),
      get: (sql, params, entityId) => this.#onThread((queries) => queries.get(sql, params), entityId),
      snapshot: (work, entityId) => this.#onThread((queries) => withinOnThread(queries, work), entityId),
    };
    writer.onLongLog = () => void this.#copyLog();
  }

  /** SQLite compares the header of the log, which takes a sixth of the time of a look-up. */
  readonly dataVersion = async (): Promise<number> => {
    const row = await this.#reader.get<{ data_version: number }>('pragma data_version');
    if (row === undefined) throw new Error('SQLite returned no data version');
    return row.data_version;
  };

  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#reader.all(sql, params);
  }

  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#reader.get(sql, params);
  }

  async snapshot<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string): Promise<Value> {
    const leave = await this.#snapshotSlot.enter(this.deadlineMs, entityId);
    try {
      return await within(this.connections.snapshots, () => work(this.#snapshots));
    } finally {
      leave();
    }
  }

  /** Admits one caller at a time, because the next caller must not read in the older snapshot of the caller before. */
  async #onThread<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string): Promise<Value> {
    const leave = await this.#threadSlot.enter(this.deadlineMs, entityId);
    try {
      return await work(this.thread.connection);
    } finally {
      leave();
    }
  }

  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = this.deadlineMs, maxCommitDelayMs = 0 }: CallOptions = {},
  ): Promise<Value> {
    return this.writer.transaction(work, deadlineMs, maxCommitDelayMs);
  }

  /** There is a single process, which wakes itself. */
  async announceWork(): Promise<void> {}

  async onWork(): Promise<void> {}

  /**
   * If another process reads, the checkpoint moves as much as possible. Writes wait in `alone`, because inside SQLite they would
   * block the event loop.
   */
  checkpoint(): Promise<void> {
    return this.#onThread((queries) =>
      this.writer.alone(async () => {
        await queries.get('pragma wal_checkpoint(truncate)');
      }),
    );
  }

  /**
   * Copies the write-ahead log into the file on the thread, so that the writer finds little to copy when it restarts
   * the log: 4,000 pages delay a commit by tens of milliseconds. If this fails, the writer copies them all.
   */
  async #copyLog(): Promise<void> {
    if (this.#isCopyingLog) return;
    this.#isCopyingLog = true;
    await this.#onThread((queries) => queries.get('pragma wal_checkpoint(passive)')).catch(() => undefined);
    this.#isCopyingLog = false;
  }

  async close(): Promise<void> {
    this.thread.close();
    await this.writer.alone(async () => {
      const { snapshots, reader, writer } = this.connections;
      for (const connection of [snapshots, reader, writer]) connection.close();
    });
  }
}

/** All reads of `work` see the same state. */
async function within<Value>(connection: Connection, work: () => Promise<Value>): Promise<Value> {
  try {
    connection.exec('begin');
    return await work();
  } catch (error) {
    throw translate(error, connection);
  } finally {
    if (connection.inTransaction) connection.exec('rollback');
  }
}

/** Does not wait for the end of the snapshot: the thread runs statements in their order, so the next snapshot begins after it. */
async function withinOnThread<Value>(queries: Queries, work: (queries: Queries) => Promise<Value>): Promise<Value> {
  try {
    await queries.run('begin');
    return await work(queries);
  } finally {
    void queries.run('rollback').catch(() => undefined);
  }
}
