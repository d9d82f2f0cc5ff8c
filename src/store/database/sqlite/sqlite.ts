import { Database as Connection } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type CallOptions,
  type Database,
  type Dialect,
  MAX_WAITING,
  type Queries,
  type SqlValue,
  STORE_DEADLINE_MS,
} from '../database.ts';
import { Semaphore } from '../semaphore.ts';
import { SqliteWriter } from './group-commit.ts';
import { ConnectionQueries, translate } from './statements.ts';

/**
 * The embedded engine: one connection for all that writes, one connection for single reads, one for snapshots.
 * A single read must not share a connection with an open snapshot, or it would see that older moment.
 */

const dialect: Dialect = {
  bootstrap: [],
  // `begin immediate` holds the one write lock that there is.
  lockStore: [],
  lockSecrets: [],
  nowMs: `cast(unixepoch('subsec') * 1000 as integer)`,
  skipLocked: '',
  lockWebhooks: '',
  // SQLite's plans do not depend on how many rows there are, as nobody counts them.
  planAnew: [],
  findTable: `select name from sqlite_master where type = 'table' and name = $1`,
  storeBytes: 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()',
};

/** Waiting inside SQLite stops the whole event loop, so it waits briefly there and the writer tries again from outside. */
const BUSY_TIMEOUT_MS = 20;

export async function openSqlite(file: string): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const writer = connect(file);
  makeDurable(writer);
  const reader = connect(file);
  const snapshots = connect(file);
  for (const connection of [reader, snapshots]) connection.exec('pragma query_only = on');
  return new SqliteDatabase(writer, reader, snapshots);
}

function connect(file: string): Connection {
  const connection = new Connection(file, { create: true, readwrite: true });
  connection.exec('pragma busy_timeout = 5000');
  // Auto-vacuum can be chosen only before the first page is written, and so before WAL.
  connection.exec('pragma auto_vacuum = incremental');
  connection.exec('pragma journal_mode = wal');
  connection.exec('pragma synchronous = full');
  connection.exec('pragma foreign_keys = on');
  connection.exec('pragma temp_store = memory');
  connection.exec('pragma cache_size = -16000');
  // In pages: four times the default, since what was written several times meanwhile is brought over once.
  connection.exec('pragma wal_autocheckpoint = 4000');
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return connection;
}

/** With less than FULL, a power cut may take back what was acknowledged, and no test that kills a process shows it. */
function makeDurable(connection: Connection): void {
  const journal = connection.query('pragma journal_mode').get() as { journal_mode: string };
  const synchronous = connection.query('pragma synchronous').get() as { synchronous: number };
  if (journal.journal_mode === 'wal' && synchronous.synchronous === 2) return;
  throw new Error('this file system does not let SQLite use WAL with synchronous=FULL; put the store on a local disk');
}

class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly dialect = dialect;
  readonly #writer: SqliteWriter;
  readonly #reader: ConnectionQueries;
  readonly #snapshots: ConnectionQueries;
  readonly #snapshotGate = new Semaphore(1, MAX_WAITING);
  readonly #turn = new Turn();

  constructor(
    private readonly writer: Connection,
    private readonly reader: Connection,
    private readonly snapshots: Connection,
  ) {
    this.#writer = new SqliteWriter(writer);
    this.#reader = new ConnectionQueries(reader);
    this.#snapshots = new ConnectionQueries(snapshots);
  }

  async all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    if (this.#turn.isLong) await this.#turn.next();
    return this.#reader.all(sql, params);
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    if (this.#turn.isLong) await this.#turn.next();
    return this.#reader.get(sql, params);
  }

  async snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    if (this.#turn.isLong) await this.#turn.next();
    const leave = await this.#snapshotGate.enter(STORE_DEADLINE_MS);
    try {
      return await within(this.snapshots, () => work(this.#snapshots));
    } finally {
      leave();
    }
  }

  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = STORE_DEADLINE_MS, maxCommitDelayMs = 0 }: CallOptions = {},
  ): Promise<Value> {
    return this.#writer.transaction(work, deadlineMs, maxCommitDelayMs);
  }

  /** There is one process, and its own acceptances wake it. */
  async announceWork(): Promise<void> {}

  async onWork(): Promise<void> {}

  checkpoint(): Promise<void> {
    return this.#writer.checkpoint();
  }

  async close(): Promise<void> {
    for (const connection of [this.snapshots, this.reader, this.writer]) connection.close();
  }
}

const READS_PER_TURN = 256;

/**
 * SQLite answers a read without leaving the turn of the event loop. Whoever reads on and on would let nobody else in, no
 * request and no write: after so many reads in one turn, the next waits for another.
 */
class Turn {
  #reads = 0;

  get isLong(): boolean {
    if (this.#reads++ === 0) setImmediate(() => this.#end());
    return this.#reads > READS_PER_TURN;
  }

  next(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #end(): void {
    this.#reads = 0;
  }
}

/** All that `work` reads is of one moment. */
async function within<Value>(connection: Connection, work: () => Promise<Value>): Promise<Value> {
  try {
    connection.exec('begin');
    const value = await work();
    connection.exec('commit');
    return value;
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback');
    throw translate(error);
  }
}
