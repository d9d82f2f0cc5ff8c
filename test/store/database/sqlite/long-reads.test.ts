import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database, Queries } from '../../../../src/store/database/database.ts';
import { MIGRATIONS, migrate } from '../../../../src/store/database/migrate.ts';
import { PacedBatches } from '../../../../src/store/database/paced-batches.ts';
import { backUpSqlite } from '../../../../src/store/database/sqlite/backup.ts';
import { openSqlite } from '../../../../src/store/database/sqlite/open.ts';
import { emptyPages, shrinkFile } from '../../../../src/store/database/sqlite/vacuum.ts';
import { rejection } from '../../../support/rejection.ts';
import { until } from '../../../support/until.ts';

/** The thread of long reads beside what works on the whole file. */

const COUNT = 'select count(*) as total from entities';
const totalIn = async (queries: Pick<Queries, 'get'>) => (await queries.get<{ total: number }>(COUNT))?.total;

describe('a snapshot of long reads on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-long-reads-'));
  let files = 0;
  const newFile = () => join(folder, `${++files}.db`);
  let file: string;
  let db: Database;

  beforeAll(async () => {
    file = newFile();
    db = await openSqlite(file);
    await migrate(db);
  });

  afterAll(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });

  const addEntities = (count: number) =>
    db.transaction(async (queries) => {
      for (let added = 0; added < count; added++) {
        await queries.run('insert into entities (id, name, created_at) values ($1, $2, $3)', [
          `ent_${crypto.randomUUID()}`,
          'long reads',
          1,
        ]);
      }
    });

  /** Holds a snapshot open during the work, and returns what it counts before and after. */
  const during = (work: () => Promise<unknown>) =>
    db.longReads.snapshot(async (queries) => {
      const before = await totalIn(queries);
      await work();
      return [before, await totalIn(queries)];
    });

  test('has the deadline of the store', async () => {
    const impatient = await openSqlite(newFile(), 50);
    const slow =
      'with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000000) select count(*) from n';
    expect(String(await rejection(impatient.longReads.all(slow)))).toContain('longer than 50 ms');
    await impatient.close();
  });

  test('stays as it is while a backup is made, which has what was committed until then', async () => {
    await addEntities(50);
    const copy = newFile();
    const counts = await during(async () => {
      await addEntities(5);
      await backUpSqlite({ file, secretKey: undefined }, copy, false);
    });
    expect(counts).toEqual([50, 50]);
    expect(await totalIn(db.longReads)).toBe(55);
    const restored = await openSqlite(copy);
    expect([await totalIn(restored), await totalIn(restored.longReads)]).toEqual([55, 55]);
    await restored.close();
  });

  test('keeps no vacuum from shrinking the file, and sees what it saw', async () => {
    await addEntities(2_000);
    const all = await totalIn(db);
    await db.transaction((queries) => queries.run(`delete from entities where id <> (select min(id) from entities)`));
    expect(await emptyPages(db)).toBeGreaterThan(0);
    let shrunk = Promise.resolve();
    const counts = await during(async () => {
      await addEntities(1);
      // At its end the write-ahead log is copied, which waits for its turn on the thread.
      shrunk = shrinkFile(db, new PacedBatches('sqlite', 0));
      await until('no page is empty', async () => (await emptyPages(db)) === 0);
    });
    await shrunk;
    expect([all, counts]).toEqual([2_055, [1, 1]]);
    expect([await emptyPages(db), await totalIn(db.longReads)]).toEqual([0, 2]);
  });

  test('is of the new schema after a migration at the start, although the thread has read the old one', async () => {
    const old = await openSqlite(newFile());
    await migrate(old);
    const tables = `select count(*) as total from sqlite_master where name = 'later'`;
    const newTables = async () => (await old.longReads.get<{ total: number }>(tables))?.total;
    expect(await newTables()).toBe(0);
    const next = { version: 2, name: 'next', statements: ['create table later (id text)'] };
    await migrate(old, [...MIGRATIONS, next]);
    expect(await newTables()).toBe(1);
    expect(await old.longReads.all('select * from later')).toEqual([]);
    await old.close();
  });
});
