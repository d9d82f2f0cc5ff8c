import type { Database, Queries } from '../../src/store/database/database.ts';
import { alteredQueries, alteredStore } from './stores.ts';

/** The same store with something that happens between the statements of its transactions. */

/** Counts the statements of each transaction. */
export function countingStore(db: Database): { db: Database; statementsOf: () => number[] } {
  const counts: number[] = [];
  const counting = alteredStore(db, {
    transaction: (work, options) => {
      const index = counts.push(0) - 1;
      const count = async () => {
        counts[index] = (counts[index] ?? 0) + 1;
      };
      return db.transaction((queries) => work(watched(queries, count)), options);
    },
  });
  return { db: counting, statementsOf: () => [...counts] };
}

/** Every transaction fails after that many statements, as one does whose process dies. */
export function cutOffStore(db: Database, statements: number): Database {
  return alteredStore(db, {
    transaction: (work, options) => {
      let left = statements;
      const cutOff = async () => {
        if (left-- === 0) throw new Error('cut off');
      };
      return db.transaction((queries) => work(watched(queries, cutOff)), options);
    },
  });
}

/** Something happens before the first statement of a transaction that matches. */
export function beforeStatement(
  db: Database,
  matches: (sql: string) => boolean,
  happens: () => Promise<void>,
): Database {
  let isOver = false;
  const before = async (sql: string) => {
    if (isOver || !matches(sql)) return;
    isOver = true;
    await happens();
  };
  return alteredStore(db, {
    transaction: (work, options) => db.transaction((queries) => work(watched(queries, before)), options),
  });
}

function watched(queries: Queries, before: (sql: string) => Promise<void>): Queries {
  return alteredQueries(queries, {
    all: (sql, params) => before(sql).then(() => queries.all(sql, params)),
    get: (sql, params) => before(sql).then(() => queries.get(sql, params)),
    run: (sql, params) => before(sql).then(() => queries.run(sql, params)),
  });
}
