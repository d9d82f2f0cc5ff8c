import type { Database as Connection, Statement } from 'bun:sqlite';
import { BoundedMap } from '../../../bounded-map.ts';
import { Semaphore } from '../admission.ts';
import {
  type CallOptions,
  type Database,
  type Dialect,
  MAX_WAITING,
  type Queries,
  type SqlValue,
  STORE_DEADLINE_MS,
  StoreUnavailableError,
} from '../database.ts';

/** The group commit, which is the only writer. */
type Writer = Pick<Database, 'checkpoint'> & {
  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
    maxCommitDelayMs: number,
  ): Promise<Value>;
};

type Connections = Readonly<Record<'writer' | 'reader' | 'snapshots', Connection>>;

/**
 * The embedded engine: one connection for all that writes, one connection for single reads, one for snapshots.
 * A single read must not share a connection with an open snapshot, or it would see that older moment.
 */
export class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly #reader: ConnectionQueries;
  readonly #snapshots: ConnectionQueries;
  readonly #snapshotGate = new Semaphore(1, MAX_WAITING);
  readonly #turn = new Turn();

  constructor(
    readonly dialect: Dialect,
    private readonly writer: Writer,
    private readonly connections: Connections,
  ) {
    this.#reader = new ConnectionQueries(connections.reader);
    this.#snapshots = new ConnectionQueries(connections.snapshots);
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
      return await within(this.connections.snapshots, () => work(this.#snapshots));
    } finally {
      leave();
    }
  }

  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = STORE_DEADLINE_MS, maxCommitDelayMs = 0 }: CallOptions = {},
  ): Promise<Value> {
    return this.writer.transaction(work, deadlineMs, maxCommitDelayMs);
  }

  /** There is one process, and its own acceptances wake it. */
  async announceWork(): Promise<void> {}

  async onWork(): Promise<void> {}

  checkpoint(): Promise<void> {
    return this.writer.checkpoint();
  }

  async close(): Promise<void> {
    const { snapshots, reader, writer } = this.connections;
    for (const connection of [snapshots, reader, writer]) connection.close();
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

/** Texts are few, since all but the lists of values are written out; the bound is for what nobody foresaw. */
const MAX_STATEMENTS = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|PROTOCOL|READONLY)/;

/** The statements of one connection, each prepared once. */
export class ConnectionQueries implements Queries {
  readonly #statements = new BoundedMap<string, Statement>(MAX_STATEMENTS, {
    onEvict: (statement) => statement.finalize(),
  });

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
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What the disk or a lock did is told apart from what is wrong with a statement. */
export function translated<Value>(action: () => Value): Value {
  try {
    return action();
  } catch (error) {
    throw translate(error);
  }
}

export function translate(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const closed = error instanceof RangeError;
  return UNAVAILABLE.test(code) || closed ? new StoreUnavailableError(code || 'closed', { cause: error }) : error;
}
