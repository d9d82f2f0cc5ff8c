import type { SQL } from 'bun';
import { Semaphore } from '../admission.ts';
import {
  type Announcement,
  type CallOptions,
  type Database,
  type Dialect,
  MAX_WAITING,
  type Queries,
  type SqlValue,
  STORE_DEADLINE_MS,
  StoreUnavailableError,
} from '../database.ts';
import { LeaseClock } from '../lease-clock.ts';
import { citusDialect, isDistributed } from './citus.ts';
import { dialect } from './dialect.ts';
import {
  connectionSettings,
  findPooler,
  type Pooler,
  PoolerError,
  type ServerSettings,
  takesSettings,
} from './pooler.ts';
import { connect, type PostgresTarget, readAlone, Session, statement } from './session.ts';

/**
 * The engine for more than one process. Transactions and snapshots each use a bounded share of one pool, so that writers that
 * queue for the lock of one entity leave connections for other reads.
 */

const DEFAULT_POOL = 16;
/** Shares of the pool's connections. */
const TRANSACTIONS = 1 / 2;
const SNAPSHOTS = 1 / 4;
/** The part of each share that may be in use for one worker of Citus. */
const OF_ONE_WORKER = 1 / 2;

const WORK_CHANNEL = 'paybell_work';

/**
 * Settings that make the server cancel a statement before our own deadline, and compile none (`jit`). Up to version 17, a plan
 * method that `planForClaims` disables adds 10,000,000,000 to the cost of a plan that needs it anyway. That exceeds
 * `jit_above_cost`, so the server would spend hundreds of milliseconds on compiling a read of a few rows.
 */
function settingsOf({ deadlineMs = STORE_DEADLINE_MS }: PostgresTarget): ServerSettings {
  return { statement_timeout: deadlineMs - 1_000, idle_in_transaction_session_timeout: deadlineMs, jit: 'off' };
}

export async function openPostgres(target: PostgresTarget): Promise<Database> {
  // The pool is first opened as if there were no pooler. If its connections do not have the settings, there is a pooler.
  let pool = connectPool(target, 'none');
  try {
    const isDirect = await takesSettings(pool, settingsOf(target));
    const pooler = isDirect ? 'none' : await findPooler(target);
    if (!isDirect) {
      await pool.close({ timeout: 0 });
      pool = connectPool(target, pooler);
    }
    const plain: Dialect = { ...dialect, leaseClock: new LeaseClock() };
    const isOnCitus = await isDistributed(pool);
    const db = new PostgresDatabase(target, pooler, isOnCitus ? citusDialect(plain) : plain, pool);
    return isOnCitus ? await gated(db, target) : db;
  } catch (error) {
    await pool.close({ timeout: 0 }).catch(() => undefined);
    throw translate(error);
  }
}

/** The slots of one worker leave connections for the entities of the others. */
async function gated(db: PostgresDatabase, target: PostgresTarget): Promise<Database> {
  const { pool = DEFAULT_POOL } = target;
  const slotsOf = (share: number) => Math.max(1, Math.floor(pool * share * OF_ONE_WORKER));
  const slots = { transaction: slotsOf(TRANSACTIONS), snapshot: slotsOf(SNAPSHOTS), read: slotsOf(SNAPSHOTS) };
  // Not loaded without Citus.
  const { openGated } = await import('../citus/gated-database.ts');
  return openGated(db, target, slots);
}

function connectPool(target: PostgresTarget, pooler: Pooler): SQL {
  return connect(target, target.pool ?? DEFAULT_POOL, connectionSettings(pooler, settingsOf(target)));
}

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly longReads = this;
  readonly dataVersion = null;
  readonly #transactionSlots: Semaphore;
  readonly #snapshotSlots: Semaphore;
  #pool: Pool;
  /** Pools that were replaced. Each is closed once the last of its calls has ended. */
  readonly #retired = new Set<Pool>();
  readonly #deadlineMs: number;
  /**
   * Sets, in each transaction, the settings that a pooler does not accept with a connection. Empty without a pooler.
   */
  readonly #localSettings: string;
  #listener: SQL | null = null;
  #reading = 0;

  constructor(
    private readonly target: PostgresTarget,
    private readonly pooler: Pooler,
    readonly dialect: Dialect,
    client: SQL,
  ) {
    const { pool = DEFAULT_POOL, deadlineMs = STORE_DEADLINE_MS } = target;
    this.#deadlineMs = deadlineMs;
    const settings = Object.entries(settingsOf(target)).map(([name, value]) => `; set local ${name} = ${value}`);
    this.#localSettings = pooler === 'none' ? '' : settings.join('');
    this.#transactionSlots = new Semaphore(Math.ceil(pool * TRANSACTIONS), MAX_WAITING);
    this.#snapshotSlots = new Semaphore(Math.ceil(pool * SNAPSHOTS), MAX_WAITING);
    this.#pool = { client, calls: 0 };
  }

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    if (this.#reading >= MAX_WAITING) throw new StoreUnavailableError('too many reads are waiting for the store');
    this.#reading++;
    try {
      return await this.#read((client) => statement<Row>(client, sql, params));
    } finally {
      this.#reading--;
    }
  }

  /** As `all`, for a server that would not cancel the statement in time. */
  readAlone<Row>(sql: string, params: readonly SqlValue[], signal: AbortSignal): Promise<Row[]> {
    return this.#read((client) => readAlone<Row>(client, sql, params, signal));
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, params))[0];
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string, signal?: AbortSignal): Promise<Value> {
    const begin = 'begin isolation level repeatable read read only';
    return this.#within(this.#snapshotSlots, begin, work, this.#deadlineMs, entityId, signal);
  }

  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = this.#deadlineMs, signal }: CallOptions = {},
  ): Promise<Value> {
    return this.#within(this.#transactionSlots, 'begin', work, deadlineMs, undefined, signal);
  }

  async announceWork(what: Announcement = 'deliveries'): Promise<void> {
    await this.#read((client) => client.notify(WORK_CHANNEL, what));
  }

  async onWork(callback: (what: string) => void): Promise<void> {
    const { url, listenUrl } = this.target;
    if (this.pooler === 'by transaction' && listenUrl === undefined) {
      throw new PoolerError(
        'The pooler before PostgreSQL shares connections by transaction, so that none can listen: set LISTEN_DATABASE_URL ' +
          'to the URL of PostgreSQL itself',
      );
    }
    // A connection outside of the pool, because a pool may be replaced. After an outage, this connection subscribes again by
    // itself.
    this.#listener ??= connect({ ...this.target, url: listenUrl ?? url });
    await this.#listener.listen(WORK_CHANNEL, callback);
  }

  /** PostgreSQL runs its own checkpointer. */
  async checkpoint(): Promise<void> {}

  async close(): Promise<void> {
    await this.#listener?.close({ timeout: 0 });
    for (const { client } of [this.#pool, ...this.#retired]) await client.close({ timeout: 0 });
  }

  /** The server cancels a read that takes too long. So if a read gets no response, its connection is broken, and the pool is replaced. */
  async #read<Value>(call: (client: SQL) => Promise<Value>): Promise<Value> {
    const pool = this.#enter();
    try {
      return await byDeadline(call(pool.client), this.#deadlineMs, () => this.#retire(pool));
    } finally {
      this.#leave(pool);
    }
  }

  /** Cancels the running statement after the deadline of the whole transaction, even if each statement is fast. */
  async #within<Value>(
    slots: Semaphore,
    begin: string,
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
    entityId?: string,
    signal?: AbortSignal,
  ): Promise<Value> {
    const leaveSlot = await slots.enter(deadlineMs, entityId);
    const pool = this.#enter();
    const session = new Session(pool.client);
    let cancelling: Promise<void> | null = null;
    const leave = () => {
      leaveSlot();
      this.#leave(pool);
    };
    let isOver = false;
    signal?.addEventListener('abort', () => {
      if (!isOver) cancelling ??= session.abandon().then(leave);
    });
    try {
      return await byDeadline(session.run(begin + this.#localSettings, work), deadlineMs, () => {
        cancelling ??= session.cancel(this.target).then((responded) => {
          if (!responded) this.#retire(pool);
          leave();
        });
      });
    } finally {
      isOver = true;
      if (cancelling === null) leave();
    }
  }

  #enter(): Pool {
    this.#pool.calls++;
    return this.#pool;
  }

  #leave(pool: Pool): void {
    pool.calls--;
    if (pool.calls > 0 || !this.#retired.delete(pool)) return;
    pool.client.close({ timeout: 0 }).catch(() => undefined);
  }

  /**
   * New calls get new connections, because the idle ones may be as dead as the one that did not respond. Calls that are
   * running or waiting on the old ones are not touched.
   */
  #retire(pool: Pool): void {
    if (this.#pool !== pool) return;
    this.#pool = { client: connectPool(this.target, this.pooler), calls: 0 };
    this.#retired.add(pool);
  }
}

type Pool = { readonly client: SQL; calls: number };

async function byDeadline<Value>(call: Promise<Value>, deadlineMs: number, onLate: () => void): Promise<Value> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreUnavailableError(`PostgreSQL was not done within ${deadlineMs} ms`));
      onLate();
    }, deadlineMs);
  });
  try {
    return await Promise.race([call, late]);
  } catch (error) {
    throw translate(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Classes of SQLSTATE that do not mean a wrong statement. They include deadlock, serialization failure, and the end of a
 * transaction whose process stood still.
 */
const UNAVAILABLE_STATE = /^(08|53|57|58|40|55P03|25006|25P0[34])/;
const DISK_FULL = '53100';
const READ_ONLY = '25006';
const UNAVAILABLE_CODE = /^(ERR_POSTGRES_(CONNECTION|IDLE_TIMEOUT|LIFETIME_TIMEOUT)|E[A-Z]+$)/;

/** If the connection to a worker breaks within a transaction, Citus reports only an internal error. */
function isLostWorker(state: string, { message }: Error): boolean {
  return state === 'XX000' && message.startsWith('failure on connection marked as essential');
}

function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
  const code = 'code' in error ? String(error.code) : '';
  const state = 'errno' in error ? String(error.errno) : '';
  const isUnavailable = UNAVAILABLE_STATE.test(state) || UNAVAILABLE_CODE.test(code) || isLostWorker(state, error);
  if (!isUnavailable) return error;
  if (state === DISK_FULL) {
    const message = `the disk of the PostgreSQL server is full (${state})`;
    return new StoreUnavailableError(message, { cause: error, reason: 'disk_full' });
  }
  if (state === READ_ONLY) {
    return new StoreUnavailableError(`PostgreSQL is read-only (${state})`, { cause: error, reason: 'read_only' });
  }
  return new StoreUnavailableError(`PostgreSQL is not available (${state || code})`, { cause: error });
}
