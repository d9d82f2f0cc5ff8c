import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ColumnKind, type CopiedTable, LEFT_OUT, readTables } from '../../../src/store/copy/tables.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { createTarget } from '../../support/stores.ts';

const KINDS: Readonly<Record<string, ColumnKind>> = {
  text: 'text',
  bigint: 'integer',
  integer: 'integer',
  smallint: 'integer',
  uuid: 'uuid',
};

/** A migration that adds a table or a column fails here until a copy takes it along. */
describe('what a copy takes along', () => {
  let sqlite: Database;
  let postgres: Database;
  let tables: CopiedTable[];
  let remove: () => void;

  beforeAll(async () => {
    const source = await createTarget('sqlite');
    remove = source.remove;
    sqlite = await openDatabase(source.target);
    postgres = await openDatabase((await createTarget('postgres')).target);
    await migrate(sqlite);
    await migrate(postgres);
    tables = await readTables(sqlite);
  });

  afterAll(async () => {
    await sqlite.close();
    await postgres.close();
    remove();
  });

  test('is every table of both schemas, except those that are left out by name', async () => {
    const copied = [...tables.map(({ name }) => name), ...Object.keys(LEFT_OUT)].sort();
    const inSqlite = await sqlite.all<{ name: string }>(`select name from sqlite_master where type = 'table'`);
    expect(copied).toEqual(inSqlite.map(({ name }) => name).sort());
    // A partition belongs to its table.
    const inPostgres = await postgres.all<{ name: string }>(
      `select relname as name from pg_class
       where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema::regnamespace`,
    );
    expect(copied).toEqual(inPostgres.map(({ name }) => name).sort());
  });

  test('is every column of these tables, of the same kind on both engines', async () => {
    for (const { name, columns } of tables) {
      const found = await postgres.all<{ name: string; type: string }>(
        `select column_name as name, data_type as type from information_schema.columns
         where table_schema = current_schema and table_name = $1 order by ordinal_position`,
        [name],
      );
      const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
      expect({
        name,
        columns: columns.map((column) => ({ name: column.name, kind: column.kind })).sort(byName),
      }).toEqual({
        name,
        columns: found.map((column) => ({ name: column.name, kind: KINDS[column.type] as ColumnKind })).sort(byName),
      });
    }
  });

  test('has a key that both engines put in the same order', async () => {
    for (const { name, key } of tables) {
      const found = await postgres.all<{ name: string; collation: string | null }>(
        `select a.attname as name, c.collname as collation
         from pg_index i
         cross join unnest(i.indkey) with ordinality as k (attnum, place)
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
         left join pg_collation c on c.oid = a.attcollation
         where i.indrelid = to_regclass($1) and i.indisprimary order by k.place`,
        [name],
      );
      expect(key).not.toEqual([]);
      expect(found).toEqual(
        key.map((column) => ({ name: column.name, collation: column.kind === 'text' ? 'binary' : null })),
      );
    }
  });

  test('comes after what it refers to', async () => {
    for (const [index, { name }] of tables.entries()) {
      const referred = await sqlite.all<{ table: string }>(`select "table" from pragma_foreign_key_list('${name}')`);
      for (const { table } of referred) expect(tables.findIndex((each) => each.name === table)).toBeLessThan(index);
    }
  });

  /** One would have to go on after the highest value that was copied. */
  test('has no sequence and no value that PostgreSQL makes itself', async () => {
    expect(await postgres.all('select sequencename from pg_sequences where schemaname = current_schema')).toEqual([]);
    expect(
      await postgres.all(
        `select table_name, column_name from information_schema.columns
         where table_schema = current_schema and (is_identity = 'YES' or is_generated <> 'NEVER')`,
      ),
    ).toEqual([]);
  });
});
