import { expect, test } from 'bun:test';
import * as chainTables from '../../src/store/chain/tables.ts';
import { Table } from '../../src/store/database/table.ts';
import * as deliveryTables from '../../src/store/deliveries/tables.ts';
import * as tables from '../../src/store/tables.ts';
import * as tenantTables from '../../src/store/tenants/tables.ts';
import { onEveryEngine } from '../support/stores.ts';

const modules = { ...tables, ...chainTables, ...deliveryTables, ...tenantTables };
const declared = Object.values(modules).filter((value) => value instanceof Table);

const COLUMNS = {
  sqlite: `select m.name as "table", c.name, c."notnull" as required from sqlite_master m join pragma_table_info(m.name) c
    where m.type = 'table' and m.name not like 'sqlite|_%' escape '|'`,
  postgres: `select table_name as "table", column_name as name, case is_nullable when 'NO' then 1 else 0 end as required
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = current_schema and table_type = 'BASE TABLE'`,
};

onEveryEngine('the declared tables', (store) => {
  test('are all tables of the schema, with all of their columns', async () => {
    const found = await store.db.all<{ table: string; name: string }>(COLUMNS[store.engine]);
    const inSchema = found.flatMap(({ table, name }) => (table === 'schema_migrations' ? [] : `${table}.${name}`));
    const inCode = declared.flatMap(({ name, shape }) =>
      Object.values(shape).flatMap(({ sql, isStored }) => (isStored ? `${name}.${sql}` : [])),
    );
    expect(inCode.sort()).toEqual(inSchema.sort());
  });
});
