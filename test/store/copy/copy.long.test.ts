import { Database as Connection } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { loadConfig } from '../../../src/config.ts';
import { copyStore } from '../../../src/store/copy/copy.ts';
import { CopySource } from '../../../src/store/copy/source.ts';
import { readTables } from '../../../src/store/copy/tables.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { cleanUpAfterEach } from '../../support/clean-up.ts';
import { TEST_SECRET_KEY } from '../../support/command-line.ts';
import { fillTables } from '../../support/random-rows.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, createTarget } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const ROWS = 12;
/** So that every table takes several batches. */
const SMALL = { key: null, limits: { rows: 5, bytes: 2_000 } };

describe('a copy of a SQLite store into PostgreSQL', () => {
  const cleanUp = cleanUpAfterEach();

  /** A SQLite store with that many rows in every table but those of the signing keys, whose secrets would have to open. */
  async function newStore(rows: number): Promise<string> {
    const { target, url, remove } = await createTarget('sqlite');
    cleanUp.push(remove);
    const db = await openDatabase(target);
    await migrate(db);
    const tables = (await readTables(db)).filter(({ name }) => name !== 'signing_keys');
    await fillTables(db, tables, rows);
    await db.close();
    return url;
  }

  const newSource = async (rows = ROWS): Promise<CopySource> => openSource(await newStore(rows));

  async function openSource(url: string): Promise<CopySource> {
    const source = await CopySource.open(url.replace('sqlite:', ''));
    cleanUp.push(() => source.close());
    return source;
  }

  async function newTarget(): Promise<{ db: Database; url: string }> {
    const { target, url } = await createTarget('postgres');
    const db = await openDatabase(target);
    cleanUp.push(() => db.close());
    return { db, url };
  }

  /** The store whose transactions fail after that many, as those of a process that was killed. */
  function cutOff(db: Database, transactions: number): Database {
    let left = transactions;
    return alteredStore(db, {
      transaction: (work, options) =>
        left-- > 0 ? db.transaction(work, options) : Promise.reject(new Error('the process was killed')),
    });
  }

  const open = (url: string) =>
    openStore(loadConfig({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY })).then(({ db }) => db.close());

  test('has every value of every column of every table', async () => {
    const [source, { db, url }] = [await newSource(), await newTarget()];
    const copied = await copyStore(source, db, SMALL);
    expect(copied).toMatchObject({ resumed: false, rows: ROWS * (source.tables.length - 1) });
    for (const { name, columns } of source.tables) {
      const names = columns.map((column) => `"${column.name}"`);
      const written = async (rows: Promise<Record<string, unknown>[]>, hexOf: (value: unknown) => unknown) =>
        (await rows)
          .map((row) =>
            JSON.stringify(
              columns.map((column) => {
                const value = row[column.name];
                if (value === null) return null;
                return column.kind === 'uuid' ? hexOf(value) : column.kind === 'integer' ? Number(value) : value;
              }),
            ),
          )
          .sort();
      const select = `select ${names.join(', ')} from "${name}"`;
      const before = await written(source.queries.all(select), (value) => (value as Uint8Array).toHex());
      expect(before).toHaveLength(name === 'signing_keys' ? 0 : ROWS);
      expect(await written(db.all(select), (value) => String(value).replaceAll('-', ''))).toEqual(before);
    }
    await open(url);
  });

  test('goes on where it was cut off, after any batch, and no server starts meanwhile', async () => {
    const [source, { db, url }] = [await newSource(9), await newTarget()];
    let cuts = 0;
    for (;;) {
      // Two of them belong to the beginning: the migrations and the mark.
      const error = await copyStore(source, cutOff(db, 2 + cuts * 20), SMALL).then(
        () => null,
        (thrown: Error) => thrown,
      );
      if (error === null) break;
      expect(error.message).toBe('the process was killed');
      if (cuts++ > 0) expect(await rejection(open(url))).toMatchObject({ name: 'UnfinishedCopyError' });
      expect(cuts).toBeLessThan(100);
    }
    expect(cuts).toBeGreaterThan(3);
    await open(url);
    for (const { name } of source.tables) {
      const row = await db.get<{ rows: string }>(`select count(*) as rows from "${name}"`);
      expect(Number(row?.rows)).toBe(name === 'signing_keys' ? 0 : 9);
    }
  });

  test('that differs in one value names the table, and stays unfinished', async () => {
    const [source, { db, url }] = [await newSource(9), await newTarget()];
    const spoilt = alteredStore(db, {
      transaction: (work, options) =>
        db.transaction(async (queries) => {
          const value = await work(queries);
          const found = await queries.get(db.dialect.findTable, ['subjects']);
          if (found !== undefined) await queries.run('update subjects set is_waited = is_waited + 1');
          return value;
        }, options),
    });
    const error = await rejection(copyStore(source, spoilt, SMALL));
    expect(error).toMatchObject({ name: 'CopyError', message: expect.stringContaining('the table subjects differs') });
    expect(await rejection(open(url))).toMatchObject({ name: 'UnfinishedCopyError' });
  });

  test('that has a row too many, or one too few, names the table', async () => {
    for (const change of [
      `insert into chain_anchors (network_id, number, hash) values (900000, 1, 'x')`,
      'delete from chain_anchors where number = (select max(number) from chain_anchors)',
    ]) {
      const [source, { db }] = [await newSource(9), await newTarget()];
      let isVerifying = false;
      const spoilt = alteredStore(db, {
        transaction: (work, options) =>
          db.transaction(async (queries) => {
            if (isVerifying) await queries.run(change).catch(() => undefined);
            isVerifying = false;
            return work(queries);
          }, options),
      });
      const total = source.countRows().reduce((sum, rows) => sum + rows, 0);
      const onProgress = (step: string, _: string, rows: number) => {
        if (step === 'copied') isVerifying = rows === total;
      };
      const error = await rejection(copyStore(source, spoilt, { ...SMALL, onProgress }));
      expect(error.message).toContain('the table chain_anchors differs');
    }
  });

  test('is refused into a store that has an entity, which keeps its schema', async () => {
    const [source, { db }] = [await newSource(1), await newTarget()];
    await migrate(db);
    await newEntity(db);
    expect(await rejection(copyStore(source, db, SMALL))).toMatchObject({
      name: 'CopyError',
      message: expect.stringContaining('the target is not empty: its table entities has rows'),
    });
  });

  test('is refused into a store with rows but without an entity', async () => {
    const [source, { db }] = [await newSource(1), await newTarget()];
    await migrate(db);
    await db.transaction((queries) => queries.run(`insert into chain_tokens (network_id, address) values (1, '0x')`));
    expect((await rejection(copyStore(source, db, SMALL))).message).toContain('its table chain_tokens has rows');
  });

  test('is refused while a server runs on the target', async () => {
    const [source, { db }] = [await newSource(1), await newTarget()];
    await migrate(db);
    await db.transaction((queries) =>
      queries.run(
        `insert into instances (id, role, host, started_at_ms, seen_at_ms)
         values ('one', 'delivery', 'worker-1', ${db.dialect.nowMs}, ${db.dialect.nowMs})`,
      ),
    );
    expect((await rejection(copyStore(source, db, SMALL))).message).toContain('a server on worker-1 uses the target');
  });

  test('is not resumed from another store', async () => {
    const [source, { db }] = [await newSource(9), await newTarget()];
    await rejection(copyStore(source, cutOff(db, 4), SMALL));
    const error = await rejection(copyStore(await newSource(8), db, SMALL));
    expect(error).toMatchObject({ name: 'CopyError', message: expect.stringContaining('of another store') });
    expect(await copyStore(source, db, SMALL)).toMatchObject({ resumed: true });
  });

  test('that runs twice at once writes no row twice', async () => {
    const [source, { db, url }] = [await newSource(9), await newTarget()];
    await rejection(copyStore(source, cutOff(db, 4), SMALL));
    const results = await Promise.allSettled([copyStore(source, db, SMALL), copyStore(source, db, SMALL)]);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    if (results.every(({ status }) => status === 'rejected')) await copyStore(source, db, SMALL);
    await open(url);
  });

  test('keeps every server and every change away from its source', async () => {
    const { file } = await newSource(1);
    expect(await rejection(openSource(`sqlite:${file}`))).toMatchObject({ name: 'StoreInUseError' });
    using other = new Connection(file);
    expect(() => other.exec(`update entities set name = 'x'`)).toThrow('database is locked');
  });

  test('leaves its source unlocked once it is closed, even if its statements are still in memory', async () => {
    const source = await CopySource.open((await newStore(1)).replace('sqlite:', ''));
    const { queries } = source;
    expect(await queries.all('select 1 as one')).toEqual([{ one: 1 }]);
    source.close();
    using other = new Connection(source.file);
    other.exec(`update entities set name = 'x'`);
    // The statement is in use until here, and cannot be collected before.
    expect(await queries.all('select 1 as one')).toHaveLength(1);
  });

  const copyAfter = async (sql: string) => {
    const { target, url, remove } = await createTarget('sqlite');
    cleanUp.push(remove);
    const db = await openDatabase(target);
    await migrate(db);
    await db.transaction((queries) => queries.run(sql));
    await db.close();
    return rejection(openSource(url));
  };

  test('of a store from an older release says to migrate it first', async () => {
    const rejected = await copyAfter('delete from schema_migrations');
    expect(rejected.message).toMatch(/has schema version 0, and .+ run paybell migrate/);
  });

  test('of a store from a development version is rejected', async () => {
    const rejected = await copyAfter(`update schema_migrations set name = 'entities, api keys and webhooks'`);
    expect(rejected).toMatchObject({ name: 'DevelopmentStoreError' });
  });
});
