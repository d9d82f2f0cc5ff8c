import type { Dialect, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { world } from '../world/world.ts';

/**
 * The clock of the database is the time of the world: in every statement that reads the clock of the engine, that text becomes
 * one more parameter.
 */

/** By the text of a statement: the text with the parameter, or null where it does not read the clock. */
const texts = new Map<string, string | null>();

export class TimedStatements {
  constructor(private readonly dialect: Pick<Dialect, 'nowMs'>) {}

  of(sql: string, params: readonly SqlValue[] = []): [string, readonly SqlValue[]] {
    let text = texts.get(sql);
    if (text === undefined) {
      const { nowMs } = this.dialect;
      text = sql.includes(nowMs) ? sql.replaceAll(nowMs, `cast($${params.length + 1} as bigint)`) : null;
      texts.set(sql, text);
    }
    return text === null ? [sql, params] : [text, [...params, world.wallMs]];
  }
}

/** The statements of a connection by the clock of the world. `before` runs before each of them. */
export function timedQueries(
  queries: Queries,
  statements: TimedStatements,
  before: () => Promise<void> = () => Promise.resolve(),
): Queries {
  return {
    all: async (sql, params) => {
      await before();
      return queries.all(...statements.of(sql, params));
    },
    get: async (sql, params) => {
      await before();
      return queries.get(...statements.of(sql, params));
    },
    run: async (sql, params) => {
      await before();
      return queries.run(...statements.of(sql, params));
    },
    send: async (sql, params) => {
      await before();
      return queries.send(...statements.of(sql, params));
    },
  };
}
