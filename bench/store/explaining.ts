import type { Database, Queries, SqlValue } from '../../src/store/database/database.ts';
import { alteredQueries, alteredStore } from '../../test/support/stores.ts';

const EXPLAIN = {
  sqlite: 'explain query plan',
  // With costs, which are cut from the lines: PostgreSQL mentions JIT only beside them.
  postgres: 'explain (analyze, timing off, summary off, buffers off)',
};
const COSTS = / {2}\(cost=[^)]*\)/;

/** The database, with the plan of every statement of a snapshot printed before the statement runs. Throws if PostgreSQL compiles one. */
export function explaining(db: Database, print: (line: string) => void): Database {
  const explain = async (queries: Queries, sql: string, params: readonly SqlValue[] = []) => {
    const rows = await queries.all<Record<string, string>>(`${EXPLAIN[db.engine]} ${sql}`, params);
    const lines = rows.map((row) => (row.detail ?? row['QUERY PLAN'] ?? '').replace(COSTS, ''));
    if (lines.includes('JIT:')) throw new Error(`PostgreSQL compiled a statement:\n${sql}\n${lines.join('\n')}`);
    for (const line of lines) print(line);
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
