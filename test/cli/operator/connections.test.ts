import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { createPostgresDatabase, listenSetting, listenUrlOf } from '../../support/postgres.ts';
import { until } from '../../support/until.ts';

test('a command on the store opens four connections to PostgreSQL, and not as many as a server', async () => {
  const url = await createPostgresDatabase({ isMigrated: true });
  const paybell = commandLine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY, ...listenSetting(url) });
  await using client = new SQL(listenUrlOf(url) ?? url, { max: 1 });
  const count = async (sql: string) => Number((await client.unsafe(sql))[0].count);
  const opened = () => count('select sessions as count from pg_stat_database where datname = current_database()');
  const openNow = () => count('select count(*) from pg_stat_activity where datname = current_database()');
  const before = await opened();
  expect(await paybell(['entities', 'list'])).toMatchObject({ exitCode: 0 });
  // A connection is in the statistics when it has ended.
  await until('its connections are closed', async () => (await openNow()) === 1);
  expect((await opened()) - before).toBeLessThanOrEqual(4);
});
