import type { DatabaseTarget } from '../../config.ts';

/** The values that both engines accept and return. Dates are integers, and flags are dates or states instead of booleans. */
export type SqlValue = string | number | null;

/** PostgreSQL returns 64-bit integers as text, SQLite as numbers. `Columns` in `sql.ts` makes numbers of both. */
export type SqlInteger = number | string;

/** Statements with `$1 … $n`, one text for both engines. */
export interface Queries {
  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Returns the number of rows that were changed. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
}

/** Statements outside of a transaction only read. Each sees everything that was committed before it was sent. */
export interface Database extends Pick<Queries, 'all' | 'get'> {
  readonly engine: DatabaseTarget['engine'];
  readonly dialect: Dialect;
  /** Several reads that see the same state. */
  snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value>;
  /** All or nothing; resolves when it is durable. */
  transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value>;
  /** Notifies the other processes that use this store of due deliveries. */
  announceWork(): Promise<void>;
  /** Calls back when another process announces work. A lost announcement delays work only until the next poll. */
  onWork(callback: () => void): Promise<void>;
  /** Moves what is in the write-ahead log into the database file. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
}

export type CallOptions = {
  deadlineMs?: number;
  /** How long it may wait for another transaction to share its commit, on an engine with group commit. */
  maxCommitDelayMs?: number;
};

/** Everything in which the SQL of the engines has to differ, by name. */
export type Dialect = {
  /** Statements that run before the first migration. */
  readonly bootstrap: readonly string[];
  /** Held to the end of the transaction; for work that only one instance may do at a time and that has no row to lock. */
  readonly lockStore: readonly string[];
  /** Held to the end of the transaction; no other process seals a secret meanwhile. */
  readonly lockSecrets: readonly string[];
  /** An expression for the time of the database's clock in Unix milliseconds, the same throughout a statement. */
  readonly nowMs: string;
  /** Ends a `select` of rows to be changed: rows that another transaction has locked are skipped. */
  readonly skipLocked: string;
  /**
   * In force to the end of the transaction: statements are planned for their parameters. A plan from when the store was
   * empty reads whole tables, and would be used until the next `analyze`.
   */
  readonly replan: readonly string[];
  /** Ends a `select … from webhooks w`: those rows stay as they are until the transaction ends. */
  readonly lockWebhooks: string;
  /** Returns a row when the table `$1` exists. */
  readonly findTable: string;
  /** An expression for the size of the store on disk. */
  readonly storeBytes: string;
};

/** The longest that a call waits to be admitted, and the longest that it then waits for its result. */
export const STORE_DEADLINE_MS = 5_000;

/** With more waiting callers than this the store is overloaded, and a call fails at once instead of after a timeout. */
export const MAX_WAITING = 2_000;

/** Neither the request nor the data is wrong: the call may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
