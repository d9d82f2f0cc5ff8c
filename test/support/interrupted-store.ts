import type { Database } from '../../src/store/database/database.ts';
import { alteredTransactions } from './stores.ts';

/** The same store with something that happens between the statements of its transactions. */

/** Counts the statements of each transaction. */
export function countingStore(db: Database): { db: Database; statementsOf: () => number[] } {
  const counts: number[] = [];
  const counting = watchedStore(db, () => {
    const index = counts.push(0) - 1;
    return async () => {
      counts[index] = (counts[index] ?? 0) + 1;
    };
  });
  return { db: counting, statementsOf: () => [...counts] };
}

/** Every transaction fails after that many statements, as one does whose process dies. */
export function cutOffStore(db: Database, statements: number): Database {
  return watchedStore(db, () => {
    let left = statements;
    return async () => {
      if (left-- === 0) throw new Error('cut off');
    };
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
  return watchedStore(db, () => before);
}

/** Calls a function before each statement. Every transaction gets its own. */
function watchedStore(db: Database, watch: () => (sql: string) => Promise<void>): Database {
  return alteredTransactions(db, (queries) => {
    const before = watch();
    return {
      all: (sql, params) => before(sql).then(() => queries.all(sql, params)),
      get: (sql, params) => before(sql).then(() => queries.get(sql, params)),
      run: (sql, params) => before(sql).then(() => queries.run(sql, params)),
    };
  });
}
