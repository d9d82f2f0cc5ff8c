import type { Database, Queries, SqlValue } from '../../src/store/database/database.ts';
import { alteredQueries, alteredStore } from '../../test/support/stores.ts';

const EXPLAIN = {
  sqlite: 'explain query plan',
  postgres: 'explain (costs off, analyze, timing off, summary off, buffers off)',
};

/** The database, with the plan of every statement of a snapshot printed before the statement runs. */
export function explaining(db: Database, print: (line: string) => void): Database {
  const explain = async (queries: Queries, sql: string, params: readonly SqlValue[] = []) => {
    const rows = await queries.all<Record<string, string>>(`${EXPLAIN[db.engine]} ${sql}`, params);
    for (const row of rows) print(row.detail ?? row['QUERY PLAN'] ?? '');
  };
  const snapshot = <Value>(work: (queries: Queries) => Promise<Value>) =>
    db.snapshot((queries) =>
      work(
        alteredQueries(queries, {
          async all(sql, params) {
            await explain(queries, sql, params);
            return queries.all(sql, params);
          },
          async get(sql, params) {
            await explain(queries, sql, params);
            return queries.get(sql, params);
          },
        }),
      ),
    );
  return alteredStore(db, { snapshot, longReads: { ...db.longReads, snapshot } });
}
