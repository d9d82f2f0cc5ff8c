import type { Database as Connection, Statement } from 'bun:sqlite';
import { BoundedMap } from '../../../bounded-map.ts';
import { type Queries, type SqlValue, StoreUnavailableError, type UnavailableReason } from '../database.ts';

const READS_PER_TICK = 256;
const MS_PER_TICK = 10;

/**
 * SQLite completes a statement within the tick of the event loop, so a caller with many statements in a row would let
 * no request and no other write run. After this many statements or milliseconds in one tick, the next statement waits
 * for another tick, even in the middle of a transaction.
 */
export class TickBudget {
  #statements = 0;
  #startedAtMs = 0;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  get isSpent(): boolean {
    if (this.#statements++ === 0) {
      this.#startedAtMs = this.nowMs();
      setImmediate(() => this.#renew());
      return false;
    }
    return this.#statements > READS_PER_TICK || this.nowMs() - this.#startedAtMs >= MS_PER_TICK;
  }

  nextTick(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #renew(): void {
    this.#statements = 0;
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

  /** The budget is null on a thread without other work. */
  constructor(
    private readonly connection: Connection,
    private readonly budget: TickBudget | null = null,
  ) {}

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    if (this.budget?.isSpent) await this.budget.nextTick();
    return this.#translated(() => this.#prepare(sql).all(params) as Row[]);
  }

  async get<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row | undefined> {
    if (this.budget?.isSpent) await this.budget.nextTick();
    return this.#translated(() => (this.#prepare(sql).get(params) ?? undefined) as Row | undefined);
  }

  async run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    if (this.budget?.isSpent) await this.budget.nextTick();
    return this.#translated(() => this.#prepare(sql).run(params).changes);
  }

  async send(sql: string, params?: readonly SqlValue[]): Promise<void> {
    await this.run(sql, params);
  }

  /** Distinguishes a failure of the disk or a lock, after which a call may be repeated, from an error in a statement. */
  #translated<Value>(action: () => Value): Value {
    try {
      return action();
    } catch (error) {
      throw translate(error, this.connection);
    }
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

export function translate(error: unknown, { filename }: Pick<Connection, 'filename'>): unknown {
  const code = codeOf(error);
  const closed = error instanceof RangeError;
  if (!UNAVAILABLE.test(code) && !closed) return error;
  const { message, reason } = explainFailure(code, filename);
  return new StoreUnavailableError(message, { cause: error, reason });
}

function explainFailure(code: string, file: string): { message: string; reason: UnavailableReason } {
  if (code.startsWith('SQLITE_FULL')) {
    return { message: `the disk is full: cannot write ${file}`, reason: 'disk_full' };
  }
  if (code.startsWith('SQLITE_READONLY')) return { message: `${file} is read-only (${code})`, reason: 'read_only' };
  return { message: code || 'closed', reason: 'no_answer' };
}

/** Such as `SQLITE_BUSY`; empty for an error without a code. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
