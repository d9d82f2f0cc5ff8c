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

const dialect: Dialect = {
  uuid: 'blob',
  bindUuid: (hex) => Uint8Array.fromHex(hex),
  hexOf: (uuid) => (uuid as Uint8Array).toHex(),
  uuidFromHex: (expression) => `unhex(${expression})`,
  timeOfUuid: (expression) =>
    `(${Array.from({ length: 12 }, (_, digit) => `((instr('0123456789ABCDEF', substr(hex(${expression}), ${digit + 1}, 1)) - 1) << ${44 - 4 * digit})`).join(' + ')})`,
  storage: { clustered: 'without rowid', updatedInPlace: 'without rowid' },
  bootstrap: [],
  // `begin immediate` takes the only write lock.
  lockStore: [],
  allowLongTransaction: [],
  lockSecrets: [],
  nowMs: `cast(unixepoch('subsec') * 1000 as integer)`,
  lockRow: '',
  skipLocked: '',
  planForClaims: `select cast(unixepoch('subsec') * 1000 as integer) as now_ms`,
  lookUp: (join, table, alias, key) => {
    const conditions = Object.entries(key).map(([column, value]) => `${alias}.${column} = ${value}`);
    return `${join} ${table} ${alias} on ${conditions.join(' and ')}`;
  },
  rowsOf: (table, list, key) => ({
    from: list,
    where: key.map((column) => `${table}.${column} = ${list}.${column}`).join(' and '),
  }),
  findTable: `select name from sqlite_master where type = 'table' and name = $1`,
  storeBytes: '(select page_count * page_size from pragma_page_count(), pragma_page_size())',
};

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
 * The embedded engine: one connection for all writes, one for single reads, one for snapshots. A single read must not
 * share a connection with an open snapshot, or it would see the state of that snapshot.
 */
export class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly dialect = dialect;
  readonly #reader: ConnectionQueries;
  readonly #snapshots: ConnectionQueries;
  readonly #snapshotSlot = new Semaphore(1, MAX_WAITING);
  readonly #budget = new TickBudget();

  constructor(
    private readonly writer: Writer,
    private readonly connections: Connections,
  ) {
    this.#reader = new ConnectionQueries(connections.reader);
    this.#snapshots = new ConnectionQueries(connections.snapshots);
  }

  async all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    if (this.#budget.isSpent) await this.#budget.nextTick();
    return this.#reader.all(sql, params);
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    if (this.#budget.isSpent) await this.#budget.nextTick();
    return this.#reader.get(sql, params);
  }

  async snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    if (this.#budget.isSpent) await this.#budget.nextTick();
    const leave = await this.#snapshotSlot.enter(STORE_DEADLINE_MS);
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

  /** There is a single process, which wakes itself. */
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

const READS_PER_TICK = 256;

/**
 * SQLite completes a read within the tick of the event loop, so a caller with many reads in a row would let no request and
 * no write run. After this many reads in one tick, the next read waits for another tick.
 */
class TickBudget {
  #reads = 0;

  get isSpent(): boolean {
    if (this.#reads++ === 0) setImmediate(() => this.#renew());
    return this.#reads > READS_PER_TICK;
  }

  nextTick(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #renew(): void {
    this.#reads = 0;
  }
}

/** All reads of `work` see the same state. */
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

/** There are few different texts, because only lists of values vary in length; the limit is a precaution. */
const MAX_STATEMENTS = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|NOMEM|PROTOCOL|READONLY)/;

/** Statements on one connection, each prepared once. */
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
    // SQLite reads `$1` as a name and binds names in order of appearance; `?1` is parameter 1.
    const statement = this.connection.prepare(sql.replace(/\$(\d+)/g, '?$1'));
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Tells a failure of the disk or a lock, after which a call may be repeated, from an error in a statement. */
export function translated<Value>(action: () => Value): Value {
  try {
    return action();
  } catch (error) {
    throw translate(error);
  }
}

export function translate(error: unknown): unknown {
  const code = codeOf(error);
  const closed = error instanceof RangeError;
  return UNAVAILABLE.test(code) || closed ? new StoreUnavailableError(code || 'closed', { cause: error }) : error;
}

/** Such as `SQLITE_BUSY`; empty for an error without a code. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
