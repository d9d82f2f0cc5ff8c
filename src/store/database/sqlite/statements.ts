import type { Database as Connection, Statement } from 'bun:sqlite';
import { BoundedMap } from '../../../domain/bounded-map.ts';
import { type Queries, type SqlValue, StoreUnavailableError } from '../database.ts';

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
