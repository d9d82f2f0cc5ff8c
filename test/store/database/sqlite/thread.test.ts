import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StoreUnavailableError } from '../../../../src/store/database/database.ts';
import { openSqlite } from '../../../../src/store/database/sqlite/open.ts';
import { StoreThread } from '../../../../src/store/database/sqlite/thread.ts';
import { rejection } from '../../../support/rejection.ts';

const folder = mkdtempSync(join(tmpdir(), 'paybell-thread-'));
const file = join(folder, 'paybell.db');
afterAll(() => rmSync(folder, { recursive: true }));

const PROGRAM = resolve(import.meta.dir, '../../../../src/store/database/sqlite/thread-program.ts');

/** A store thread, the threads that it has started, and the errors that would have ended the process. */
function threadUnderTest(deadlineMs?: number): { thread: StoreThread; started: Worker[]; lost: Error[] } {
  const started: Worker[] = [];
  const lost: Error[] = [];
  const start = () => {
    const worker = new Worker(PROGRAM);
    started.push(worker);
    return worker;
  };
  const options = { start, onLost: (error: Error) => void lost.push(error) };
  return {
    thread: new StoreThread(file, deadlineMs === undefined ? options : { ...options, deadlineMs }),
    started,
    lost,
  };
}

/** Takes SQLite longer than the deadline below, on any machine. */
const LONG = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1000000)
  select count(*) as total from numbers`;

describe('the thread of a SQLite store', () => {
  test('is started by the first statement and not by opening the store', async () => {
    const { thread, started } = threadUnderTest();
    expect(started).toHaveLength(0);
    expect(await thread.connection.get('select 1 as up')).toEqual({ up: 1 });
    expect(await thread.connection.all('select $1 as id, $2 as bytes', ['a', new Uint8Array([1, 2])])).toEqual([
      { id: 'a', bytes: new Uint8Array([1, 2]) },
    ]);
    expect(started).toHaveLength(1);
    thread.close();
  });

  test('outlives a file that cannot be opened, and opens it with a later statement', async () => {
    const missing = join(folder, 'later', 'paybell.db');
    const thread = new StoreThread(missing, { start: () => new Worker(PROGRAM) });
    for (let times = 0; times < 3; times++) {
      expect(await rejection(thread.connection.get('select 1 as up'))).toBeInstanceOf(StoreUnavailableError);
    }
    mkdirSync(join(folder, 'later'));
    expect(await thread.connection.get('select 1 as up')).toEqual({ up: 1 });
    thread.close();
  });

  test('tells an error in a statement from an outage', async () => {
    const { thread } = threadUnderTest();
    const wrong = await rejection(thread.connection.get('select absent'));
    expect(wrong).not.toBeInstanceOf(StoreUnavailableError);
    expect(wrong).toMatchObject({ message: 'no such column: absent', code: 'SQLITE_ERROR' });
    expect(await rejection(thread.connection.run('create table notes (id text)'))).toBeInstanceOf(
      StoreUnavailableError,
    );
    thread.close();
  });

  test('that ends fails what waits for it, is replaced once, and the second time the process ends', async () => {
    const { thread, started, lost } = threadUnderTest();
    for (const deaths of [1, 2]) {
      const before = thread.connection;
      expect(await before.get('select 1 as up')).toEqual({ up: 1 });
      const waiting = [rejection(before.all('select 1')), rejection(before.get('select 2'))];
      started.at(-1)?.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }));
      for (const error of await Promise.all(waiting)) {
        expect(error).toBeInstanceOf(StoreUnavailableError);
        expect(error.message).toBe('the thread of the store failed: out of memory');
      }
      // A snapshot that began on it must not go on, without its transaction, on the next one.
      expect(await rejection(before.get('select 1'))).toBeInstanceOf(StoreUnavailableError);
      expect(lost).toHaveLength(deaths - 1);
    }
    expect(started).toHaveLength(2);
    expect(() => thread.connection).toThrow(StoreUnavailableError);
  });

  test('that ends twice ends the process, with the reason on standard error', async () => {
    const script = `
      import { StoreThread } from ${JSON.stringify(resolve(PROGRAM, '../thread.ts'))};
      const start = () => new Worker('data:text/javascript,onmessage = () => { throw new Error("out of memory") }');
      const thread = new StoreThread('paybell.db', { start });
      for (let reads = 0; reads < 2; reads++) await thread.connection.get('select 1').catch((error) => console.log(error.name));
      setInterval(() => undefined, 1_000);`;
    const child = Bun.spawn([process.execPath, '-e', script], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
    const [exitCode, stdout, stderr] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
    expect(exitCode).toBe(1);
    expect(stdout.trim().split('\n')).toEqual(['StoreUnavailableError', 'StoreUnavailableError']);
    expect(stderr).toContain('the thread of the store failed');
  });

  test('that is terminated counts as ended', async () => {
    const { thread, started } = threadUnderTest();
    const { connection } = thread;
    await connection.get('select 1');
    started[0]?.terminate();
    while (
      (await connection.get('select 1').catch((error: Error) => error)) instanceof StoreUnavailableError ===
      false
    );
    expect(await thread.connection.get('select 1 as up')).toEqual({ up: 1 });
    expect(started).toHaveLength(2);
    thread.close();
  });

  test('fails a read at its deadline, and goes on with what was sent after it', async () => {
    const { thread } = threadUnderTest(10);
    expect((await rejection(thread.connection.get(LONG))).message).toBe('a read took longer than 10 ms');
    for (;;) {
      const row = await thread.connection.get('select 1 as up').catch(() => null);
      if (row !== null) break;
    }
    thread.close();
  });

  test('closes with the store, and what comes later fails', async () => {
    const db = await openSqlite(file);
    expect(await db.longReads.get('select 1 as up')).toEqual({ up: 1 });
    await db.close();
    expect(await rejection(db.longReads.get('select 1'))).toBeInstanceOf(StoreUnavailableError);
  });
});

describe('long reads of a SQLite store', () => {
  test('see what was committed before, and a snapshot sees one moment', async () => {
    const db = await openSqlite(join(folder, 'snapshots.db'));
    await db.transaction((queries) => queries.run('create table notes (id text)'));
    const insert = (id: string) => db.transaction((queries) => queries.run('insert into notes values ($1)', [id]));
    await insert('before');
    expect(await db.longReads.all('select id from notes')).toEqual([{ id: 'before' }]);
    const seen = await db.longReads.snapshot(async (queries) => {
      const first = await queries.all('select id from notes');
      await insert('during');
      return [first, await queries.all('select id from notes')];
    });
    expect(seen).toEqual([[{ id: 'before' }], [{ id: 'before' }]]);
    expect(await db.longReads.all('select id from notes')).toEqual([{ id: 'before' }, { id: 'during' }]);
    const failed = db.longReads.snapshot(async (queries) => queries.get('select absent'));
    expect((await rejection(failed)).message).toBe('no such column: absent');
    expect(await db.longReads.get('select count(*) as notes from notes')).toEqual({ notes: 2 });
    await db.close();
  });
});
