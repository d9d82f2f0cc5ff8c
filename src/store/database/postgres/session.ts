import type { ReservedSQL, SQL } from 'bun';
import { type Queries, type SqlValue, STORE_DEADLINE_MS, StoreUnavailableError } from '../database.ts';

export type PostgresTarget = {
  readonly url: string;
  /** For the connection that listens, if `url` is a pooler's. */
  readonly listenUrl?: string | undefined;
  readonly pool?: number | undefined;
  readonly deadlineMs?: number | undefined;
};

/** Share of a call's deadline for connecting. The statement needs the rest. */
const CONNECT_SHARE = 3 / 5;
/** Share of the same deadline for a cancel, and again for the connection to report the end of its statement. */
const CANCEL_SHARE = 1 / 5;

/** Returns a client that opens connections when it needs them. */
export function connect(
  { url, deadlineMs = STORE_DEADLINE_MS }: PostgresTarget,
  max = 1,
  connection: Readonly<Record<string, string | number>> = {},
): SQL {
  // `Bun.SQL` is not imported by name, because an import would load it at every start, even on SQLite.
  return new Bun.SQL(url, { max, connectionTimeout: (deadlineMs * CONNECT_SHARE) / 1_000, connection });
}

/**
 * One transaction on its own connection. After the deadline, `cancel` ends the running statement, without an effect on other
 * connections.
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

  /** Returns whether the connection responded. If not, it is closed. */
  async cancel(target: PostgresTarget): Promise<boolean> {
    this.#isExpired = true;
    if (this.#pid !== null) this.#cancelling = cancelBackend(target, this.#pid);
    await this.#cancelling;
    if (await settles(this.#ended, cancelMs(target))) return true;
    await this.#connection?.close({ timeout: 0 }).catch(() => undefined);
    return false;
  }

  /** For a server that would not cancel the statement in time. */
  async abandon(): Promise<void> {
    this.#isExpired = true;
    await this.#connection?.close({ timeout: 0 }).catch(() => undefined);
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
    this.#requireTime();
    try {
      const queries = new ConnectionQueries(connection, () => this.#requireTime());
      queries.sent(this.#begin(connection, begin));
      const value = await work(queries);
      // Fails if the client rejected a statement. The server never got that statement, and would commit the others.
      await queries.settled();
      this.#requireTime();
      await prepared(connection, 'commit');
      return value;
    } catch (error) {
      await this.#cancelling;
      // When the rollback fails, closing the connection makes the server roll back.
      await connection.unsafe('rollback').catch(() => connection.close({ timeout: 0 }));
      throw error;
    }
  }

  async #begin(connection: ReservedSQL, begin: string): Promise<void> {
    // One round trip. `execute` sends it at once, and not only when it is awaited, so that it precedes the first statement of the
    // transaction.
    const begun = connection.unsafe(`${begin}; select pg_backend_pid() as pid`).execute();
    const results: { pid: number }[][] = await begun;
    this.#pid = results.at(-1)?.[0]?.pid ?? null;
  }

  #requireTime(): void {
    if (this.#isExpired) throw new StoreUnavailableError('the deadline of the transaction has passed');
  }
}

/** Usually no transaction sends more statements than this without waiting. */
const MAX_UNSETTLED = 16;

/**
 * The server runs the statements of a connection in their order, so a statement whose result is not needed takes no separate
 * round trip. After a failure the server rejects everything up to the rollback.
 */
class ConnectionQueries implements Queries {
  /**
   * Statements that were sent and have not succeeded yet. A failed statement stays here: it is the reason for every failure after it.
   */
  readonly #unsettled = new Set<Promise<unknown>>();

  constructor(
    private readonly connection: SQL,
    private readonly requireTime: () => void,
  ) {}

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    this.requireTime();
    return this.result(statement<Row>(this.connection, sql, params));
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, params))[0];
  }

  async run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    this.requireTime();
    const { affectedRows } = await this.result(this.connection.unsafe(sql, [...params]).execute());
    return affectedRows ?? 0;
  }

  async send(sql: string, params: readonly SqlValue[] = []): Promise<void> {
    this.requireTime();
    if (this.#unsettled.size >= MAX_UNSETTLED) await this.settled();
    this.sent(this.connection.unsafe(sql, [...params]).execute());
  }

  /** Fails if any statement that was sent has failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#unsettled);
  }

  sent(statement: Promise<unknown>): void {
    this.#unsettled.add(statement);
    statement.then(
      () => this.#unsettled.delete(statement),
      () => undefined,
    );
  }

  /** Fails with the first failure, which is the earliest. */
  async result<Value>(statement: Promise<Value>): Promise<Value> {
    const before = [...this.#unsettled];
    this.sent(statement);
    const [result] = await Promise.all([statement, ...before]);
    return result;
  }
}

export async function statement<Row>(client: SQL, sql: string, params: readonly SqlValue[]): Promise<Row[]> {
  const rows = params.length === 0 ? prepared(client, sql) : client.unsafe(sql, [...params]).execute();
  // Converts the result to a plain array, because Bun's array has the command and the count of rows as further properties.
  return Array.from<Row>(await rows);
}

/** A read on a connection that no other call shares until its end, so that it can be given up by itself. */
export async function readAlone<Row>(
  client: SQL,
  sql: string,
  params: readonly SqlValue[],
  signal: AbortSignal,
): Promise<Row[]> {
  const connection = await client.reserve();
  let isOver = false;
  signal.addEventListener('abort', () => {
    if (!isOver) void connection.close({ timeout: 0 }).catch(() => undefined);
  });
  try {
    signal.throwIfAborted();
    return await statement<Row>(connection, sql, params);
  } finally {
    isOver = true;
    connection.release();
  }
}

/** Bun would send a text without parameters as possibly several statements, which the server plans each time. */
function prepared(client: SQL, sql: string) {
  const strings = Object.defineProperty([sql], 'raw', { value: [sql] });
  return client(strings as string[] & TemplateStringsArray).execute();
}

/** Uses a separate connection, because every connection of the pool may be busy. Never rejects. */
async function cancelBackend(target: PostgresTarget, pid: number): Promise<void> {
  const client = connect(target);
  await settles(
    client.unsafe('select pg_cancel_backend($1)', [pid]).catch(() => undefined),
    cancelMs(target),
  );
  await client.close({ timeout: 0 }).catch(() => undefined);
}

function cancelMs({ deadlineMs = STORE_DEADLINE_MS }: PostgresTarget): number {
  return deadlineMs * CANCEL_SHARE;
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
