import type { Queries } from '../database/database.ts';

/** The tables that a copy copies, as the schema of the source has them. A column that a migration adds is therefore copied too. */

export type CopiedColumn = { readonly name: string; readonly kind: ColumnKind };

/** Both engines compare the columns of a key by bytes or by number, so a key has the same position on both. */
export type CopiedTable = {
  readonly name: string;
  readonly columns: readonly CopiedColumn[];
  readonly key: readonly CopiedColumn[];
};

export type ColumnKind = 'text' | 'integer' | 'uuid';

/** The kind of a column by its type in the schema of SQLite. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  text: 'text',
  bigint: 'integer',
  int: 'integer',
  smallint: 'integer',
  blob: 'uuid',
};

/** The tables that are not copied, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  schema_migrations: 'the target has been migrated itself',
  instances: 'the processes on the source have ended',
};

/** The table that is copied first, because other tables refer to it. */
const FIRST = 'entities';

export async function readTables(source: Pick<Queries, 'all'>): Promise<CopiedTable[]> {
  const found = await source.all<{ table: string; name: string; type: string; place: number }>(
    `select m.name as "table", c.name, lower(c.type) as type, c.pk as place
     from sqlite_master m join pragma_table_info(m.name) c
     where m.type = 'table' and m.name not like 'sqlite|_%' escape '|'
     order by m.name <> $1, m.name, c.cid`,
    [FIRST],
  );
  const byTable = Map.groupBy(found, ({ table }) => table);
  return [...byTable]
    .filter(([name]) => !(name in LEFT_OUT))
    .map(([name, rows]) => {
      const columns = rows.map((row) => ({ name: row.name, kind: kindOf(name, row), place: row.place }));
      const key = columns.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place);
      return { name, columns, key };
    });
}

function kindOf(table: string, { name, type }: { name: string; type: string }): ColumnKind {
  const kind = KINDS[type];
  if (kind === undefined) throw new TypeError(`${table}.${name} has the type ${type}, which no copy knows`);
  return kind;
}
