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
import { citusDialect, isDistributed } from './citus.ts';
import { connectionSettings, findPooler, type Pooler, PoolerError, takesTimeouts } from './pooler.ts';
import { connect, type PostgresTarget, Session, statement } from './session.ts';

/**
 * The engine for more than one process. Transactions and snapshots each use a bounded share of one pool, so that writers
 * that queue for the lock of one entity leave connections for the reads of others.
 */

const DEFAULT_POOL = 16;
/** Of the connections of the pool. */
const TRANSACTIONS = 1 / 2;
const SNAPSHOTS = 1 / 4;

const WORK_CHANNEL = 'paybell_work';

const dialect: Dialect = {
  uuid: 'uuid',
  bindUuid: (hex) => hex,
  hexOf: (uuid) => (uuid as string).replaceAll('-', ''),
  uuidFromHex: (expression) => `cast(${expression} as uuid)`,
  timeOfUuid: (expression) =>
    `cast(cast('x' || substr(replace(cast(${expression} as text), '-', ''), 1, 12) as bit(48)) as bigint)`,
  storage: {
    clustered: '',
    // Half of each page stays free, so that a claim rewrites its row on the same page and touches no index.
    updatedInPlace: `with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      autovacuum_vacuum_cost_delay = 0)`,
  },
  bootstrap: [
    // "binary" compares by bytes, as SQLite's collation of that name does, whatever the locale of the database.
    `do $do$ begin
       if not exists (select from pg_collation where collname = 'binary' and collnamespace = current_schema::regnamespace)
       then create collation "binary" (provider = libc, locale = 'C'); end if;
     end $do$`,
  ],
  // The number is arbitrary and only has to be the same for every instance ("payb" in ASCII).
  lockStore: ['set local statement_timeout = 0', 'select pg_advisory_xact_lock(1885436258)'],
  // By name from the catalogue, because not every version has all of them. A process that stops for longer than a minute
  // loses its migration, so that it does not keep every other instance from starting.
  allowLongTransaction: [
    `select set_config(name, '0', true) from pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout')`,
    `set local idle_in_transaction_session_timeout = '1min'`,
  ],
  lockSecrets: [
    `lock table signing_secrets, signing_keys, endpoint_secrets, endpoint_headers, endpoint_certificates,
       listen_sessions in share row exclusive mode`,
  ],
  nowMs: 'cast(extract(epoch from statement_timestamp()) * 1000 as bigint)',
  isDistributed: false,
  ofEntity: () => '',
  lockRow: 'for update',
  skipLocked: 'for update skip locked',
  planForClaims: `select ${['bitmapscan', 'seqscan', 'sort', 'hashjoin', 'mergejoin']
    .map((method) => `set_config('enable_${method}', 'off', true)`)
    .join(', ')}, cast(extract(epoch from statement_timestamp()) * 1000 as bigint) as now_ms`,
  lookUp: (join, table, alias, key) => {
    const row = `(select * from ${table} ${alias} where ${byIndex(alias, Object.entries(key))})`;
    return `${join} lateral ${row} ${alias}${join === 'left join' ? ' on true' : ''}`;
  },
  firstOf: (table, alias, key, { by, limit }) => {
    const [[column, value] = [], ...others] = Object.entries(key);
    const row = (values: readonly string[]) => `(${values.join(', ')})`;
    const columns = others.map(([name]) => `${alias}.${name}`);
    const [left, right] = [row(columns), row(others.map(([, given]) => given))];
    // Compared as a row and not by `=`, so that only the index of the whole key gives the order: see `byIndex`.
    return `cross join lateral (select * from ${table} ${alias}
      where ${alias}.${column} = ${value} and ${left} >= ${right} and ${left} <= ${right}
      order by ${[...columns, `${alias}.${by}`].join(', ')} limit ${limit}) ${alias}`;
  },
  rowsOf: (table, list, key) => {
    const values = key.map((column) => [column, `${list}.${column}`] as const);
    const row = `select ${table}.ctid as place from ${table} where ${byIndex(table, values)}`;
    return {
      from: `(select ${list}.*, found.place from ${list} cross join lateral (${row}) found) ${list}`,
      where: `${table}.ctid = ${list}.place`,
    };
  },
  byIndex: () => '',
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  addCounts: (counts, more) => `(select ${jsonOf('key', 'total')} from (
    select key, sum(cast(value as bigint)) as total from (
      select * from json_each_text(cast(${counts} as json)) union all select * from json_each_text(cast(${more} as json))
    ) both_counts group by key) sums)`,
  countsOf: (slot, total) => jsonOf(slot, total),
  findTable: 'select tablename from pg_tables where schemaname = current_schema and tablename = $1',
  storeBytes: 'pg_database_size(current_database())',
};

/** Without the spaces that PostgreSQL writes into JSON, as SQLite has it. */
function jsonOf(key: string, value: string): string {
  return `replace(cast(json_object_agg(${key}, ${value}) as text), ' ', '')`;
}

/**
 * With sorting switched off (`planForClaims`), only the index of these columns gives the last of them in order; two equal
 * bounds and not `=`, which would make the order go without saying.
 */
function byIndex(alias: string, key: readonly (readonly [column: string, value: string])[]): string {
  const [last = '', value = ''] = key.at(-1) ?? [];
  const conditions = [
    ...key.slice(0, -1).map(([column, equal]) => `${alias}.${column} = ${equal}`),
    `${alias}.${last} >= ${value}`,
    `${alias}.${last} <= ${value}`,
  ];
  return `${conditions.join(' and ')} order by ${alias}.${last} limit 1`;
}

/** The server cancels a statement before our own deadline. */
function timeoutsOf({ deadlineMs = STORE_DEADLINE_MS }: PostgresTarget) {
  return { statement_timeout: deadlineMs - 1_000, idle_in_transaction_session_timeout: deadlineMs };
}

export async function openPostgres(target: PostgresTarget): Promise<Database> {
  // The first connection of the pool tells what it is connected to, unless a pooler takes no such connections.
  let pool = connectPool(target, 'none');
  try {
    const isDirect = await takesTimeouts(pool, timeoutsOf(target));
    const pooler = isDirect ? 'none' : await findPooler(target);
    if (!isDirect) {
      await pool.close({ timeout: 0 });
      pool = connectPool(target, pooler);
    }
    const spoken = (await isDistributed(pool)) ? citusDialect(dialect) : dialect;
    return new PostgresDatabase(target, pooler, spoken, pool);
  } catch (error) {
    await pool.close({ timeout: 0 }).catch(() => undefined);
    throw translate(error);
  }
}

function connectPool(target: PostgresTarget, pooler: Pooler): SQL {
  return connect(target, target.pool ?? DEFAULT_POOL, connectionSettings(pooler, timeoutsOf(target)));
}

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly longReads = this;
  readonly #transactionSlots: Semaphore;
  readonly #snapshotSlots: Semaphore;
  #pool: Pool;
  /** Replaced, and closed once the last of their calls has ended. */
  readonly #retired = new Set<Pool>();
  readonly #deadlineMs: number;
  /** Where a pooler takes no timeouts with a connection, each transaction has its own. */
  readonly #localTimeouts: string;
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
    const timeouts = Object.entries(timeoutsOf(target)).map(([name, ms]) => `; set local ${name} = ${ms}`);
    this.#localTimeouts = pooler === 'none' ? '' : timeouts.join('');
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

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, params))[0];
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    const begin = 'begin isolation level repeatable read read only';
    return this.#within(this.#snapshotSlots, begin, work, this.#deadlineMs);
  }

  transaction<Value>(
    work: (queries: Queries) => Promise<Value>,
    { deadlineMs = this.#deadlineMs }: CallOptions = {},
  ): Promise<Value> {
    return this.#within(this.#transactionSlots, 'begin', work, deadlineMs);
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
    // A connection outside of the pool, which may be replaced. It subscribes again by itself after an outage.
    this.#listener ??= connect({ ...this.target, url: listenUrl ?? url });
    await this.#listener.listen(WORK_CHANNEL, callback);
  }

  /** PostgreSQL has a checkpointer of its own. */
  async checkpoint(): Promise<void> {}

  async close(): Promise<void> {
    await this.#listener?.close({ timeout: 0 });
    for (const { client } of [this.#pool, ...this.#retired]) await client.close({ timeout: 0 });
  }

  /** The server cancels a read that takes too long, so one without a response is on a connection that is gone. */
  async #read<Value>(call: (client: SQL) => Promise<Value>): Promise<Value> {
    const pool = this.#enter();
    try {
      return await byDeadline(call(pool.client), this.#deadlineMs, () => this.#retire(pool));
    } finally {
      this.#leave(pool);
    }
  }

  /** Each statement may be quick and the sum late: then the one that is running is cancelled. */
  async #within<Value>(
    slots: Semaphore,
    begin: string,
    work: (queries: Queries) => Promise<Value>,
    deadlineMs: number,
  ): Promise<Value> {
    const leaveSlot = await slots.enter(deadlineMs);
    const pool = this.#enter();
    const session = new Session(pool.client);
    let cancelling: Promise<void> | null = null;
    const leave = () => {
      leaveSlot();
      this.#leave(pool);
    };
    try {
      return await byDeadline(session.run(begin + this.#localTimeouts, work), deadlineMs, () => {
        cancelling = session.cancel(this.target).then((responded) => {
          if (!responded) this.#retire(pool);
          leave();
        });
      });
    } finally {
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
 * Classes of SQLSTATE that say nothing against the statement; among them deadlock and serialization failure, and a transaction that
 * the server ended because this process stood still.
 */
const UNAVAILABLE_STATE = /^(08|53|57|58|40|55P03|25006|25P0[34])/;
const UNAVAILABLE_CODE = /^(ERR_POSTGRES_(CONNECTION|IDLE_TIMEOUT|LIFETIME_TIMEOUT)|E[A-Z]+$)/;

/** Citus gives a connection to a worker that breaks within a transaction no state but that of an internal error. */
function isLostWorker(state: string, { message }: Error): boolean {
  return state === 'XX000' && message.startsWith('failure on connection marked as essential');
}

function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
  const code = 'code' in error ? String(error.code) : '';
  const state = 'errno' in error ? String(error.errno) : '';
  const isUnavailable = UNAVAILABLE_STATE.test(state) || UNAVAILABLE_CODE.test(code) || isLostWorker(state, error);
  if (!isUnavailable) return error;
  return new StoreUnavailableError(`PostgreSQL is not available (${state || code})`, { cause: error });
}
