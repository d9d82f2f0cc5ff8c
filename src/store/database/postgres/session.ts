import { type ReservedSQL, SQL } from 'bun';
import { type Queries, type SqlValue, StoreUnavailableError } from '../database.ts';

export const CONNECT_TIMEOUT_S = 3;

/** How long a cancel may take, and how long the connection then has to say that its statement has ended. */
const CANCEL_MS = 1_000;

/**
 * One transaction on a connection of its own. After its deadline, `cancel` ends the statement that is running, and no
 * other connection notices.
 */
export class Session {
  #connection: ReservedSQL | null = null;
  #pid: number | null = null;
  #isExpired = false;
  #ended: Promise<unknown> = Promise.resolve();
  #cancelling: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: SQL) {}

  run<Value>(begin: string, work: (queries: Queries) => Promise<Value>): Promise<Value> {
    const running = this.#run(begin, work);
    this.#ended = running.catch(() => undefined);
    return running;
  }

  /** Returns whether the connection responded. One that did not is closed. */
  async cancel(url: string): Promise<boolean> {
    this.#isExpired = true;
    if (this.#pid !== null) this.#cancelling = cancelBackend(url, this.#pid);
    await this.#cancelling;
    if (await settles(this.#ended, CANCEL_MS)) return true;
    await this.#connection?.close({ timeout: 0 }).catch(() => undefined);
    return false;
  }

  async #run<Value>(begin: string, work: (queries: Queries) => Promise<Value>): Promise<Value> {
    const connection = await this.client.reserve();
    this.#connection = connection;
    try {
      return await this.#transact(connection, begin, work);
    } finally {
      // A cancel on its way must not meet the next user of the connection.
      await this.#cancelling;
      connection.release();
    }
  }

  async #transact<Value>(
    connection: ReservedSQL,
    begin: string,
    work: (queries: Queries) => Promise<Value>,
  ): Promise<Value> {
    const requireTime = () => this.#requireTime();
    requireTime();
    try {
      // Both in one round trip.
      const [, [backend]] = await connection.unsafe(`${begin}; select pg_backend_pid() as pid`);
      this.#pid = backend.pid;
      const value = await work(new ConnectionQueries(connection, requireTime));
      requireTime();
      await connection.unsafe('commit');
      return value;
    } catch (error) {
      await this.#cancelling;
      // When the rollback fails, closing the connection makes the server roll back.
      await connection.unsafe('rollback').catch(() => connection.close({ timeout: 0 }));
      throw error;
    }
  }

  #requireTime(): void {
    if (this.#isExpired) throw new StoreUnavailableError('the deadline of the transaction has passed');
  }
}

class ConnectionQueries implements Queries {
  constructor(
    private readonly connection: SQL,
    private readonly requireTime: () => void,
  ) {}

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    this.requireTime();
    return statement<Row>(this.connection, sql, params);
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, params))[0];
  }

  async run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    this.requireTime();
    const result = await this.connection.unsafe(sql, [...params]);
    return result.affectedRows ?? 0;
  }
}

export async function statement<Row>(client: SQL, sql: string, params: readonly SqlValue[]): Promise<Row[]> {
  // A plain array: Bun's own has the command and the count of rows as further properties.
  return Array.from<Row>(await client.unsafe(sql, [...params]));
}

/** On a connection of its own, because every one of the pool may be busy. Never rejects. */
async function cancelBackend(url: string, pid: number): Promise<void> {
  const client = new SQL(url, { max: 1, connectionTimeout: CONNECT_TIMEOUT_S });
  await settles(
    client.unsafe('select pg_cancel_backend($1)', [pid]).catch(() => undefined),
    CANCEL_MS,
  );
  await client.close({ timeout: 0 }).catch(() => undefined);
}

async function settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), withinMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
