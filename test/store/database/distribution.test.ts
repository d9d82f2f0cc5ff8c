import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { DISTRIBUTIONS, DistributionError, distribute } from '../../../src/store/database/distribution.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { rejection } from '../../support/rejection.ts';
import { CITUS, needs, WITHOUT_CITUS_ONLY } from '../../support/requirements.ts';
import { createTarget } from '../../support/stores.ts';

/** A migration that adds a table fails here until it is said how that is distributed. */
describe('the distribution of the tables', () => {
  let db: Database;

  beforeAll(async () => {
    db = await openDatabase((await createTarget('postgres')).target);
    await migrate(db);
  });

  afterAll(() => db.close());

  test('names every table of the schema, and no other', async () => {
    // Partitions belong to their tables, and the views of Citus to the extension.
    const tables = await db.all<{ name: string }>(
      `select relname as name from pg_class c
       where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema::regnamespace
         and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')`,
    );
    expect(Object.keys(DISTRIBUTIONS).sort()).toEqual(tables.map(({ name }) => name).sort());
  });

  test('is by the key of the entity, with which every unique key of a distributed table begins', async () => {
    for (const [table, distribution] of Object.entries(DISTRIBUTIONS)) {
      if (distribution !== 'by entity') continue;
      const keys = await db.all<{ column: string; type: string }>(
        `select a.attname as "column", cast(a.atttypid::regtype as text) as type
         from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
         where i.indrelid = to_regclass($1) and i.indisunique`,
        [table],
      );
      expect({ table, keys }).toEqual({ table, keys: keys.map(() => ({ column: 'entity_id', type: 'uuid' })) });
      expect(keys).not.toEqual([]);
    }
  });

  test.skipIf(CITUS.isMet)(`is refused on a server without Citus, with what to do ${WITHOUT_CITUS_ONLY}`, async () => {
    const error = await rejection(distribute(db));
    expect(error).toBeInstanceOf(DistributionError);
    expect(String(error)).toContain('create extension citus');
  });

  test.skipIf(!CITUS.isMet)(`is done once, and again without a change ${needs(CITUS)}`, async () => {
    expect(db.dialect.isDistributed).toBe(true);
    const tables = await distribute(db);
    expect(tables.filter(({ isNew }) => isNew)).toEqual([]);
  });
});
