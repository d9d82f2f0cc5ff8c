import { Database as Connection } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TickBudget } from '../../../../src/store/database/sqlite/connection-queries.ts';
import { SqliteWriter } from '../../../../src/store/database/sqlite/group-commit.ts';
import { rejection } from '../../../support/rejection.ts';

const DEADLINE_MS = 5_000;

test('a commit whose rollback fails too rejects its callers, and the next write succeeds', async () => {
  const connection = new Connection(':memory:');
  const prepare = connection.prepare.bind(connection);
  const broken = new Set(['commit', 'rollback']);
  connection.prepare = ((sql: string) => {
    const statement = prepare(sql);
    const run = statement.run.bind(statement);
    statement.run = () => {
      if (!broken.delete(sql)) return run();
      // As after a disk failure: there is no transaction any more, and both statements fail.
      if (sql === 'rollback') run();
      throw new Error(`no ${sql}`);
    };
    return statement;
  }) as typeof connection.prepare;
  const writer = new SqliteWriter(connection);
  const write = () => writer.transaction(async () => 'written', DEADLINE_MS, 0);
  expect((await rejection(write())).message).toBe('no commit');
  expect(await write()).toBe('written');
  connection.close();
});

/** Every statement takes so long that ten of them are all that fits into one tick of the event loop. */
function slowStore(): { writer: SqliteWriter; connection: Connection; close: () => void } {
  const connection = new Connection(':memory:');
  connection.exec('create table notes (id integer)');
  let nowMs = 0;
  const writer = new SqliteWriter(connection, new TickBudget(() => nowMs++));
  return { writer, connection, close: () => connection.close() };
}

test('a long transaction lets the event loop go on between its statements, and is still all or nothing', async () => {
  const { writer, connection, close } = slowStore();
  let ticks = 0;
  let isOver = false;
  const countTicks = () => {
    ticks++;
    if (!isOver) setImmediate(countTicks);
  };
  const inserted = writer.transaction(
    async (queries) => {
      setImmediate(countTicks);
      for (let id = 0; id < 100; id++) await queries.run('insert into notes values ($1)', [id]);
      isOver = true;
      return ticks;
    },
    DEADLINE_MS,
    0,
  );
  expect(await inserted).toBeGreaterThanOrEqual(9);
  const failed = writer.transaction(
    async (queries) => {
      for (let id = 0; id < 100; id++) await queries.run('insert into notes values ($1)', [id]);
      throw new Error('refused');
    },
    DEADLINE_MS,
    0,
  );
  const beside = writer.transaction((queries) => queries.run('insert into notes values (1000)'), DEADLINE_MS, 0);
  expect((await rejection(failed)).message).toBe('refused');
  expect(await beside).toBe(1);
  expect(connection.query('select count(*) as notes from notes').get()).toEqual({ notes: 101 });
  close();
});

test('a transaction of few statements stays within one tick', async () => {
  const { writer, close } = slowStore();
  let hasTicked = false;
  const ticked = await writer.transaction(
    async (queries) => {
      setImmediate(() => {
        hasTicked = true;
      });
      for (let id = 0; id < 9; id++) await queries.run('insert into notes values ($1)', [id]);
      return hasTicked;
    },
    DEADLINE_MS,
    0,
  );
  expect(ticked).toBe(false);
  close();
});

test('a long write-ahead log is reported, so that it is copied before a commit has to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-log-'));
  const connection = new Connection(join(folder, 'paybell.db'));
  connection.exec('pragma journal_mode = wal');
  connection.exec('pragma wal_autocheckpoint = 0');
  connection.exec('create table notes (text text)');
  const writer = new SqliteWriter(connection);
  let reports = 0;
  writer.onLongLog = () => reports++;
  const write = (pages: number) =>
    writer.transaction(
      (queries) => queries.run(`insert into notes values (hex(zeroblob(${2_048 * pages})))`),
      DEADLINE_MS,
      0,
    );
  for (let commits = 0; commits < 32; commits++) await write(1);
  expect(reports).toBe(0);
  for (let commits = 0; commits < 32; commits++) await write(64);
  expect(reports).toBeGreaterThan(0);
  connection.close();
  rmSync(folder, { recursive: true });
});
