import { Database as Connection } from 'bun:sqlite';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openReader, openWriter } from '../../../src/store/database/sqlite/connect.ts';
import { ConnectionQueries, TickBudget } from '../../../src/store/database/sqlite/connection-queries.ts';
import { SqliteWriter } from '../../../src/store/database/sqlite/group-commit.ts';
import { SqliteDatabase } from '../../../src/store/database/sqlite/sqlite.ts';
import { tempBase } from '../../support/temp-base.ts';
import { asNobody } from '../world/owners.ts';
import { world } from '../world/world.ts';
import { ARCHIVE } from './archive.ts';

/** The real engine with its group commit, on a file in memory. The thread for long reads is one more connection. */

const DEADLINE_MS = 5_000;

/** No event loop has to go on, and a timer of it would belong to the instance that happened to run the statement. */
class NoBudget extends TickBudget {
  override get isSpent(): boolean {
    return false;
  }
}

let template: string | null = null;
let opened = 0;
const folder = mkdtempSync(join(tempBase(), 'paybell-simulation-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

export type OpenedStore = { readonly db: Database; readonly remove: () => Promise<void> };

/** A new store with the current schema. */
export async function openSqliteStore(): Promise<OpenedStore> {
  template ??= await makeTemplate();
  const file = join(folder, `${++opened}.db`);
  copyFileSync(template, file);
  const db = connect(file);
  return {
    db,
    remove: async () => {
      await world.until(db.close());
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    },
  };
}

async function makeTemplate(): Promise<string> {
  const file = join(folder, 'template.db');
  const db = connect(file);
  await world.until(asNobody(() => migrate(db)));
  await world.until(
    asNobody(() =>
      db.transaction(async (queries) => {
        for (const sql of ARCHIVE.sqlite) await queries.run(sql);
      }),
    ),
  );
  await world.until(db.close());
  // Copies are made of this file alone.
  using connection = new Connection(file);
  connection.exec('pragma wal_checkpoint(truncate)');
  return file;
}

function connect(file: string): SqliteDatabase {
  const writer = openWriter(file);
  writer.exec('pragma synchronous = off');
  const [reader, snapshots, long] = [openReader(file), openReader(file), openReader(file)];
  const budget = new NoBudget();
  const thread = { connection: new ConnectionQueries(long), close: () => long.close() };
  return new SqliteDatabase(
    new SqliteWriter(writer, budget),
    { writer, reader, snapshots },
    budget,
    thread,
    DEADLINE_MS,
  );
}
