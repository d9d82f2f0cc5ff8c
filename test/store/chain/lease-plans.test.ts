import { expect, test } from 'bun:test';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { SQLITE_ONLY } from '../../support/requirements.ts';
import { alteredQueries, alteredStore, onSuiteEngine } from '../../support/stores.ts';

/** The same store, with the plans of all that its transactions read. */
function explained(db: Database, plans: string[]): Database {
  const explain = async (queries: Queries, sql: string, params: readonly SqlValue[] = []) => {
    if (!sql.startsWith('select')) return;
    const rows = await queries.all<{ detail: string }>(`explain query plan ${sql}`, params);
    plans.push(...rows.map(({ detail }) => detail));
  };
  return alteredStore(db, {
    transaction: (work) =>
      db.transaction((queries) =>
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
      ),
  });
}

onSuiteEngine('the lease of a network', (store) => {
  // PostgreSQL plans by what it has counted, and rightly reads a table of a few rows.
  const onSqlite = test.skipIf(store.engine !== 'sqlite');

  onSqlite(`reads no fact that is final, however many there are ${SQLITE_ONLY}`, async () => {
    await store.db.transaction((queries) =>
      queries.run(`insert into chains (network_id, tip_number, tip_hash) values (1, 1, '0x1')`),
    );
    const plans: string[] = [];
    const lease = await new NetworkStore(explained(store.db, plans), 'one', () => Promise.resolve([])).lease(1);
    expect(lease).not.toBeNull();
    const ofFacts = plans.filter((plan) => /\bfacts\b/.test(plan) && !plan.includes('SCALAR SUBQUERY'));
    expect(ofFacts.length).toBeGreaterThan(4);
    const partial = /USING (COVERING )?INDEX (facts_(seen|lost|waiting|asked)|\w+ \(entity_id=\? AND id=\?\))/;
    expect(ofFacts.filter((plan) => !partial.test(plan))).toEqual([]);
  });
});
