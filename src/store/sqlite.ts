import { Database as Connection, type Statement } from 'bun:sqlite';
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
  StoreUnavailableError,
} from './database.ts';
import { Gate } from './gate.ts';

/**
 * The embedded engine: one writing connection behind a gate, one connection for single reads, one for snapshots.
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

/** Waiting inside SQLite stops the whole event loop, so it waits briefly there and tries again from outside. */
const BUSY_TIMEOUT_MS = 20;
const BUSY_PAUSE_MS = 10;

/** Texts are few, since all but the lists of values are written out; the bound is for what nobody foresaw. */
const MAX_STATEMENTS = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|PROTOCOL|READONLY)/;

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
  readonly #writer: ConnectionQueries;
  readonly #reader: ConnectionQueries;
  readonly #snapshots: ConnectionQueries;
  readonly #writeGate = new Gate(1, MAX_WAITING);
  readonly #snapshotGate = new Gate(1, MAX_WAITING);

  constructor(
    private readonly writer: Connection,
    private readonly reader: Connection,
    private readonly snapshots: Connection,
  ) {
    this.#writer = new ConnectionQueries(writer);
    this.#reader = new ConnectionQueries(reader);
    this.#snapshots = new ConnectionQueries(snapshots);
  }

  async all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#reader.all(sql, params);
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#reader.get(sql, params);
  }

  async snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    const leave = await this.#snapshotGate.enter(STORE_DEADLINE_MS);
    try {
      return await within(this.snapshots, 'begin', () => work(this.#snapshots));
    } finally {
      leave();
    }
  }

  async transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = STORE_DEADLINE_MS }: CallOptions = {},
  ): Promise<Value> {
    const endsAtMs = performance.now() + deadlineMs;
    const leave = await this.#writeGate.enter(deadlineMs);
    try {
      return await this.#whenNotBusy(endsAtMs, () => within(this.writer, 'begin immediate', () => work(this.#writer)));
    } finally {
      leave();
    }
  }

  /** There is one process, and its own acceptances wake it. */
  async announceWork(): Promise<void> {}

  async onWork(): Promise<void> {}

  async checkpoint(): Promise<void> {
    const leave = await this.#writeGate.enter(STORE_DEADLINE_MS);
    try {
      // Where another process is reading it does as much as it can, and says so in a row that nobody needs.
      translated(() => this.writer.query('pragma wal_checkpoint(truncate)').get());
    } finally {
      leave();
    }
  }

  async close(): Promise<void> {
    for (const connection of [this.snapshots, this.reader, this.writer]) connection.close();
  }

  /** Another process may hold the write lock for a moment: the command line on a running server's store. */
  async #whenNotBusy<Value>(endsAtMs: number, attempt: () => Promise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const locked = error instanceof StoreUnavailableError && error.message === 'SQLITE_BUSY';
        if (!locked || performance.now() + BUSY_PAUSE_MS >= endsAtMs) throw error;
        await Bun.sleep(BUSY_PAUSE_MS);
      }
    }
  }
}

/** Begins, works, commits; whatever fails is rolled back, and what the disk or a lock did is told apart from the rest. */
async function within<Value>(connection: Connection, begin: string, work: () => Promise<Value>): Promise<Value> {
  try {
    connection.exec(begin);
    const value = await work();
    connection.exec('commit');
    return value;
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback');
    throw translate(error);
  }
}

class ConnectionQueries implements Queries {
  readonly #statements = new Map<string, Statement>();

  constructor(private readonly connection: Connection) {}

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return translated(() => this.#prepare(sql).all(...params) as Row[]);
  }

  async get<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row | undefined> {
    return translated(() => (this.#prepare(sql).get(...params) ?? undefined) as Row | undefined);
  }

  async run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    return translated(() => this.#prepare(sql).run(...params).changes);
  }

  #prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    // SQLite takes `$1` for a name and binds by first appearance; `?1` is the number that the text means.
    const statement = this.connection.prepare(sql.replace(/\$(\d+)/g, '?$1'));
    if (this.#statements.size >= MAX_STATEMENTS) this.#forgetOldest();
    this.#statements.set(sql, statement);
    return statement;
  }

  #forgetOldest(): void {
    for (const [sql, statement] of this.#statements) {
      statement.finalize();
      this.#statements.delete(sql);
      return;
    }
  }
}

function translated<Value>(action: () => Value): Value {
  try {
    return action();
  } catch (error) {
    throw translate(error);
  }
}

function translate(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const closed = error instanceof RangeError;
  return UNAVAILABLE.test(code) || closed ? new StoreUnavailableError(code || 'closed', { cause: error }) : error;
}
