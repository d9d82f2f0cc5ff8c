import type { CopiedColumn, CopiedTable } from '../../src/store/copy/tables.ts';
import type { Database, SqlValue } from '../../src/store/database/database.ts';
import { seededRandom } from './random.ts';

/** Texts that some way of writing a row would change, or confuse with others. */
const AWKWARD = [
  '',
  '-',
  'null',
  `it's "quoted"`,
  'back\\slash',
  'line\nend\ttab\r',
  '1:a,2:bc',
  'ж 漢 😀 é é',
  '\u2028\x7f',
];

/** Rows without sense in every table, with nulls wherever they may be. A SQLite store checks no more than this. */
export async function fillTables(db: Database, tables: readonly CopiedTable[], rowsPerTable: number): Promise<void> {
  const random = seededRandom(20);
  const references = await readReferences(db);
  let unique = 0;
  const value = ({ name, kind }: CopiedColumn, table: string, row: number): SqlValue => {
    if (references.optional.has(`${table}.${name}`) && random.below(3) === 0) return null;
    // The first rows of `entities` are the only ones that others refer to.
    if (references.toEntities.has(`${table}.${name}`)) return `ent ${row}`;
    if (table === 'entities' && name === 'id') return `ent ${row}`;
    if (kind === 'uuid') return Uint8Array.from({ length: 16 }, () => random.below(256));
    if (kind === 'integer') return ++unique % 30_000;
    return `${AWKWARD[random.below(AWKWARD.length)]}${++unique}`;
  };
  await db.transaction(async (queries) => {
    for (const { name, columns } of tables) {
      const names = columns.map((column) => `"${column.name}"`).join(', ');
      const places = columns.map((_, index) => `$${index + 1}`).join(', ');
      for (let row = 0; row < rowsPerTable; row++) {
        const values = columns.map((column) => value(column, name, row));
        await queries.run(`insert into "${name}" (${names}) values (${places})`, values);
      }
    }
  });
}

async function readReferences(db: Database) {
  const columns = await db.all<{ column: string; optional: number }>(
    `select m.name || '.' || c.name as "column", c."notnull" = 0 and c.pk = 0 as optional
     from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`,
  );
  const keys = await db.all<{ column: string }>(
    `select m.name || '.' || f."from" as "column"
     from sqlite_master m join pragma_foreign_key_list(m.name) f where m.type = 'table'`,
  );
  return {
    optional: new Set(columns.filter(({ optional }) => optional === 1).map(({ column }) => column)),
    toEntities: new Set(keys.map(({ column }) => column)),
  };
}
