import { Database as Connection } from 'bun:sqlite';
import { expect, test } from 'bun:test';
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
