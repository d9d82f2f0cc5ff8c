import { Database as Connection } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Database, StoreUnavailableError } from '../../../../src/store/database/database.ts';
import { openSqlite } from '../../../../src/store/database/sqlite/open.ts';
import { rejection } from '../../../support/rejection.ts';

describe('a SQLite store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-sqlite-'));
  const file = join(folder, 'data', 'paybell.db');
  let db: Database;

  beforeAll(async () => {
    db = await openSqlite(file);
    await db.transaction(async (queries) => {
      await queries.run('create table notes (id text)');
    });
  });

  afterAll(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });

  test('gives its readers a smaller page cache than its writer', async () => {
    const size = 'select cache_size from pragma_cache_size';
    const writers = await db.transaction((queries) => queries.get(size));
    const readers = [
      await db.get(size),
      await db.snapshot((queries) => queries.get(size)),
      await db.longReads.get(size),
    ];
    expect(writers).toEqual({ cache_size: -8_000 });
    expect(readers).toEqual(Array(3).fill({ cache_size: -2_000 }));
  });

  test('creates its folder for its owner only', () => {
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  test('creates its files for their owner only, also in a folder that others can read', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'paybell-shared-'));
    chmodSync(shared, 0o755);
    const before = process.umask(0o022);
    try {
      const path = join(shared, 'paybell.db');
      const files = [path, `${path}-wal`, `${path}-shm`];
      const modes = () => files.map((each) => statSync(each).mode & 0o777);
      const first = await openSqlite(path);
      await first.transaction(async (queries) => void (await queries.run('create table notes (id text)')));
      expect(modes()).toEqual([0o600, 0o600, 0o600]);
      // As a version before this one left them, after a crash.
      for (const each of files) chmodSync(each, 0o644);
      const second = await openSqlite(path);
      expect(modes()).toEqual([0o600, 0o600, 0o600]);
      await Promise.all([first.close(), second.close()]);
    } finally {
      process.umask(before);
      rmSync(shared, { recursive: true });
    }
  });

  test('keeps what it acknowledged through a power failure: WAL with synchronous=FULL', async () => {
    const pragmas = await db.transaction(async (queries) => [
      await queries.get('pragma journal_mode'),
      await queries.get('pragma synchronous'),
      await queries.get('pragma foreign_keys'),
    ]);
    expect(pragmas).toEqual([{ journal_mode: 'wal' }, { synchronous: 2 }, { foreign_keys: 1 }]);
  });

  test('can shrink: incremental auto-vacuum is on from the creation of the file', async () => {
    expect(await db.get('pragma auto_vacuum')).toEqual({ auto_vacuum: 2 });
  });

  test('does not write through a single read', async () => {
    await rejection(db.get(`insert into notes (id) values ('read') returning id`));
    expect(await db.all('select id from notes')).toEqual([]);
  });

  test('waits while another process holds the write lock, and continues when it is released', async () => {
    const other = new Connection(file);
    other.exec('begin immediate');
    let done = false;
    const writing = db
      .transaction((queries) => queries.run(`insert into notes (id) values ('waited')`))
      .then(() => {
        done = true;
      });
    await Bun.sleep(60);
    expect(done).toBe(false);
    other.exec('commit');
    await writing;
    other.close();
    expect(await db.all('select id from notes')).toEqual([{ id: 'waited' }]);
  });

  test('fails at the deadline when another process never releases the lock, and reads continue meanwhile', async () => {
    const other = new Connection(file);
    other.exec('begin immediate');
    const writing = db.transaction((queries) => queries.run(`insert into notes (id) values ('late')`), {
      deadlineMs: 80,
    });
    expect(await db.get('select count(*) as notes from notes')).toEqual({ notes: 1 });
    expect(await rejection(writing)).toBeInstanceOf(StoreUnavailableError);
    other.exec('commit');
    other.close();
  });
});
