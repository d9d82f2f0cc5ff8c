import { Database as Connection } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import type { TestStore } from './stores.ts';

const TABLES = {
  sqlite: `select name from sqlite_master where type = 'table' order by name`,
  postgres: 'select tablename as name from pg_tables where schemaname = current_schema order by tablename',
} as const;

/** Every row of every table, as text. */
export async function dumpRows({ engine, db }: TestStore): Promise<string> {
  const dumped: unknown[] = [];
  for (const { name } of await db.all<{ name: string }>(TABLES[engine])) {
    const rows = (await db.all(`select * from "${name}"`)).map((row) => JSON.stringify(row));
    dumped.push(name, rows.sort());
  }
  return JSON.stringify(dumped);
}

/** All that someone with the files could see: the rows, and on SQLite also the bytes of the file. */
export async function dumpStorage(store: TestStore): Promise<string> {
  const rows = await dumpRows(store);
  return store.engine === 'sqlite' ? rows + readFile(store.url.replace('sqlite:', '')) : rows;
}

function readFile(file: string): string {
  const connection = new Connection(file);
  // Without this, the file lacks what is only in the write-ahead log.
  connection.exec('pragma wal_checkpoint(truncate)');
  connection.close();
  return readFileSync(file, 'latin1');
}
