import type { DatabaseTarget } from '../../config/database-target.ts';
import type { LeaseClock } from './lease-clock.ts';

/** The values that both engines accept and return. Dates are integers, and flags are dates or states instead of booleans. */
export type SqlValue = string | number | null | Uint8Array;

/** A 16-byte id as the engine stores it: `uuid` on PostgreSQL, a blob on SQLite. Code outside the store never sees this form. */
export type SqlUuid = string | Uint8Array;

/** PostgreSQL returns 64-bit integers as text, SQLite as numbers. `Columns` in `sql.ts` converts both to numbers. */
export type SqlInteger = number | string;

/** Statements with `$1 … $n`, one text for both engines. */
export interface Queries {
  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Returns the number of rows that were changed. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  /**
   * Like `run`, for statements whose result nothing depends on. Does not wait for PostgreSQL's response: if PostgreSQL rejects
   * the statement, a later statement or the commit fails.
   */
  send(sql: string, params?: readonly SqlValue[]): Promise<void>;
}

/** Statements outside of a transaction only read. Each sees everything that was committed before it was sent. */
export interface Reads extends Pick<Queries, 'all' | 'get'> {
  /** Several reads that see the same state. Callers take turns by the entity that they read for. For `signal`, see `CallOptions`. */
  snapshot<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string, signal?: AbortSignal): Promise<Value>;
}

/** Reads that take turns by the entity that they read for. */
export interface LongReads extends Reads {
  all<Row>(sql: string, params?: readonly SqlValue[], entityId?: string): Promise<Row[]>;
  get<Row>(sql: string, params?: readonly SqlValue[], entityId?: string): Promise<Row | undefined>;
}

/** The long reads of one entity, which take their turns with the long reads of other entities. */
export function longReadsOf({ longReads }: Pick<Database, 'longReads'>, entityId: string): Reads {
  return {
    all: (sql, params) => longReads.all(sql, params, entityId),
    get: (sql, params) => longReads.get(sql, params, entityId),
    snapshot: (work) => longReads.snapshot(work, entityId),
  };
}

export type Announcement = 'deliveries' | 'instances';

/** Use the direct reads only for a bounded number of rows that an index finds, and `longReads` for anything else. */
export interface Database extends Reads {
  readonly engine: DatabaseTarget['engine'];
  readonly dialect: Dialect;
  /** For lists, counts and sums, which may read many rows. SQLite runs them on a separate thread. See `longReadsOf`. */
  readonly longReads: LongReads;
  /**
   * Reads a number that differs after every commit of any process. Null on PostgreSQL, where such a number would cost as much as
   * the read that it could save.
   */
  readonly dataVersion: (() => Promise<number>) | null;
  /** Commits all changes or none, and resolves when they are durable. */
  transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value>;
  /** Notifies the processes that use this store of due deliveries, or that an instance starts or stops. */
  announceWork(what?: Announcement): Promise<void>;
  /** Calls back when a process announces work. A lost announcement delays work only until the next poll. */
  onWork(callback: (what: string) => void): Promise<void>;
  /** Moves the write-ahead log into the database file. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
}

export type CallOptions = {
  deadlineMs?: number;
  /** How long the transaction may wait for others to share its commit, on an engine with group commit. */
  maxCommitDelayMs?: number;
  /** The one entity that it is for. On distributed tables, it waits for its turn at the server of that entity. */
  entityId?: string | undefined;
  /** Ends it without waiting for the server, which will not cancel its statement in time. PostgreSQL closes the connection. */
  signal?: AbortSignal | undefined;
};

/** On one server, transactions of all entities share the same connections. */
export function ofEntity(
  { dialect }: Pick<Database, 'dialect'>,
  entityId: string | undefined,
): CallOptions | undefined {
  return dialect.isDistributed ? { entityId } : undefined;
}

/** How much one transaction does: a few tens of milliseconds, far below every deadline. */
export type TransactionLimits = {
  /** Deliveries that an acceptance or one step of a fan-out inserts. */
  readonly deliveries: number;
  /** Rows that one step of any other long work changes. */
  readonly rows: number;
  /** Deliveries that one step of a bulk redelivery reads. The number is larger because a filter may match one delivery in a million. */
  readonly searched: number;
  /** Rows of the queue that one statement of the auditor reads. */
  readonly audited: number;
};

export const TRANSACTION_LIMITS: TransactionLimits = { deliveries: 1_000, rows: 500, searched: 5_000, audited: 1_000 };

export type WorkerCallback = (worker: string, isSilent: boolean) => void;

/** Everything in which the SQL of the engines has to differ, by name. */
export type Dialect = {
  /** The column type of a 16-byte id. */
  readonly uuid: 'uuid' | 'blob';
  /** `bindUuid` converts 32 hex digits without dashes to a parameter, and `hexOf` converts a column's value back to the digits. */
  readonly bindUuid: (hex: string) => SqlUuid;
  readonly hexOf: (uuid: SqlUuid) => string;
  /** The milliseconds in the first 48 bits of a UUIDv7, as an SQL expression. */
  readonly timeOfUuid: (expression: string) => string;
  /** Options at the end of `create table`: rows stored in the order of the primary key, and room for updates in place. */
  readonly storage: { readonly clustered: string; readonly updatedInPlace: string };
  /** Statements that run before the first migration. */
  readonly bootstrap: readonly string[];
  /**
   * A lock until the end of the transaction, for work that only one instance may do at a time and that has no row to
   * lock.
   */
  readonly lockStore: readonly string[];
  /** Lifts the time limits of the connection to the end of a transaction that may take minutes. */
  readonly allowLongTransaction: readonly string[];
  /** A lock until the end of the transaction, so that no other process seals a secret. */
  readonly lockSecrets: readonly string[];
  /** An expression for the time of the database's clock in Unix milliseconds, the same throughout a statement. */
  readonly nowMs: string;
  /**
   * Whether the tables are distributed by entity, as on Citus. If so, a transaction that writes to the queue is for one entity,
   * and each statement names that entity outside of its list of rows. If the rows of a list begin with the entity's key, `$1` is
   * the key too.
   */
  readonly isDistributed: boolean;
  /** The workers of Citus that give no answer. Statements that need one of them are refused. */
  readonly silentWorkers: () => readonly string[];
  /** Whether any server with rows of entities responds, as far as is known. */
  readonly hasWorker: () => boolean;
  /** Calls back when a worker falls silent, and when it responds again. */
  readonly onWorker: (callback: WorkerCallback) => void;
  /** A separate clock for each open database. */
  readonly leaseClock: LeaseClock;
  /** Limits that are written into statements. They are the same on every engine, and smaller in the simulator of the tests. */
  readonly limits: TransactionLimits;
  /** On Citus, the condition that names the entity of a statement's rows, such as ` and q.entity_id = $1`. Empty on one server. */
  readonly ofEntity: (table: string) => string;
  /** Ends a `select` of rows to be changed: rows that another transaction has locked are skipped. */
  readonly skipLocked: string;
  /**
   * The first statement of a transaction that accepts, claims or records. Reads the database's time as `now_ms`. On PostgreSQL,
   * it also restricts the planner to the indexes. With statistics from before a load, the planner may otherwise read whole
   * tables: recording 300 attempts took more than four seconds with 8,000 deliveries waiting.
   */
  readonly planForClaims: string;
  /**
   * Joins the row of a table that has the given key, by one look-up of the index with these columns. PostgreSQL may otherwise
   * read the whole table if its statistics say that the table is empty: a claim took 3.3 s with 11,000 deliveries waiting.
   */
  readonly lookUp: (
    join: 'cross join' | 'left join',
    table: string,
    alias: string,
    key: Readonly<Record<string, string>>,
  ) => string;
  /**
   * Joins the first rows of a key with several columns, in the order of the column that follows them in its index. PostgreSQL may
   * otherwise read every row that matches only the first column of the key: an acceptance took 10 to 27 ms, because its entity
   * had 5,000 webhooks on other networks.
   */
  readonly firstOf: (
    table: string,
    alias: string,
    key: Readonly<Record<string, string>>,
    first: { readonly by: string; readonly limit: number },
  ) => string;
  /**
   * Joins the rows that an `update … from` or a `delete … using` writes to a list that has their keys in its
   * columns. Returns the table to join and the condition. PostgreSQL skips a row that another transaction is changing.
   * With `skipLocked`, it does not wait for the end of that transaction.
   */
  readonly rowsOf: (
    table: string,
    list: string,
    key: readonly string[],
    skipLocked?: 'skip locked',
  ) => { from: string; where: string };
  /**
   * A list of rows to select from, and its parameters, given row by row. PostgreSQL takes one array for each column, so
   * that one text and one plan serve any number of rows. With a text for each number of rows, it spent a fifth of its
   * time on planning.
   */
  readonly rowList: {
    readonly text: (types: readonly string[], rows: number) => string;
    readonly bind: (types: readonly string[], values: readonly SqlValue[]) => readonly SqlValue[];
  };
  /** Written after the name of a table to make SQLite use this index, in places where it would choose a worse one. */
  readonly byIndex: (index: string) => string;
  /** Whether a text contains another one, without wildcards. */
  readonly contains: (text: string, part: string) => string;
  /** The sum of two tallies that are JSON, such as `{"-1":5,"12":3}`. */
  readonly addCounts: (counts: string, more: string) => string;
  /** Ends a `select` of one row that the transaction is about to change. */
  readonly lockRow: string;
  /** Returns a row if the table `$1` exists. */
  readonly findTable: string;
  /** An expression for the size of the store on disk. */
  readonly storeBytes: string;
};

/** The longest that a call waits to be admitted, and the longest that it then waits for its result. */
export const STORE_DEADLINE_MS = 5_000;

/** With more waiting callers than this the store is overloaded, and a call fails at once instead of after a timeout. */
export const MAX_WAITING = 2_000;

/** `no_answer` stands for everything else: an outage, a lock, a deadline. */
export type UnavailableReason = 'disk_full' | 'read_only' | 'no_answer';

/** The database cannot be used now, although the request and the data are correct: the call may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
  readonly reason: UnavailableReason;

  constructor(message: string, { cause, reason = 'no_answer' }: { cause?: unknown; reason?: UnavailableReason } = {}) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A worker of Citus gives no answer. The entities on other workers are served. */
export class SilentWorkerError extends StoreUnavailableError {
  constructor(readonly worker: string) {
    super(`the worker ${worker} of Citus does not respond`);
  }
}
