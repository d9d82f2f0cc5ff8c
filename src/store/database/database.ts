import type { DatabaseTarget } from '../../config.ts';

/** What both engines take and give. Dates are integers and flags are dates or states: neither engine's boolean is used. */
export type SqlValue = string | number | null;

/** PostgreSQL gives its 64-bit integers as text, SQLite as numbers: rows are turned into values at the store's edge. */
export type SqlInteger = number | string;

/** Statements with `$1 … $n`, in one text for both engines. */
export interface Queries {
  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Answers how many rows it changed. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
}

/** Statements straight on the database read only: each on its own, seeing everything committed before it was sent. */
export interface Database extends Pick<Queries, 'all' | 'get'> {
  readonly engine: DatabaseTarget['engine'];
  readonly dialect: Dialect;
  /** Several reads of one moment. */
  snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value>;
  /** All or nothing; resolved only once it is durable. */
  transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value>;
  /** Tells the other processes on this store that there is something to deliver; nothing where there are none. */
  announceWork(): Promise<void>;
  /** Calls back when another process announces work. A lost announcement is made good by the engine's own poll. */
  onWork(callback: () => void): Promise<void>;
  /** Brings what was written to its final place, so that the files are no larger than what they hold. */
  checkpoint(): Promise<void>;
  close(): Promise<void>;
}

export type CallOptions = {
  deadlineMs?: number;
  /** How long it may wait for another to share the cost of its commit with, where that costs anything. */
  maxCommitDelayMs?: number;
};

/** Everything in which the engines must differ, by name. */
export type Dialect = {
  /** Statements that run before the first migration. */
  readonly bootstrap: readonly string[];
  /** Held to the end of a transaction; lets one instance at a time through a gate that has no row to lock. */
  readonly lockStore: readonly string[];
  /** Held to the end of a transaction; nobody seals another secret meanwhile. */
  readonly lockSecrets: readonly string[];
  /** The time in Unix milliseconds by the database's clock, the same through one statement. */
  readonly nowMs: string;
  /** Ends a `select` of rows to be claimed: what another instance is claiming at this moment is passed over. */
  readonly skipLocked: string;
  /**
   * Held to the end of a transaction; statements are planned for the tables as they are. A plan that was made when the
   * store was empty reads whole tables, and goes on doing so until somebody counts the rows anew.
   */
  readonly planAnew: readonly string[];
  /** Ends a `select … from webhooks w`: those rows stay as they were read until the transaction ends. */
  readonly lockWebhooks: string;
  /** Answers a row when the table `$1` is there. */
  readonly findTable: string;
  /** How much the store takes on disk. */
  readonly storeBytes: string;
};

/** A call waits no longer than this for its turn, and no longer than this for its answer. */
export const STORE_DEADLINE_MS = 5_000;

/** More callers than this waiting means that the store is not keeping up: better told now than after a time-out. */
export const MAX_WAITING = 2_000;

/** Not a fault of the request and not of the data: trying again later is right. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
