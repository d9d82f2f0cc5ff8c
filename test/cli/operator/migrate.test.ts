import { describe, expect, test } from 'bun:test';
import { openDatabase } from '../../../src/store/database/open.ts';
import { DAYS_AHEAD } from '../../../src/store/database/partitions/ahead.ts';
import { commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { createPostgresDatabase, TEST_DEADLINE_MS } from '../../support/postgres.ts';
import { createTarget } from '../../support/stores.ts';

describe('paybell migrate --partition', () => {
  test('partitions a store by day once, doctor says how many days are ahead, and what to do where they are missing', async () => {
    const url = await createPostgresDatabase({ isEmpty: true });
    const paybell = commandLine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
    expect(await paybell(['migrate', '--partition'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/\nPartitioned by day: events, deliveries, attempts\nPartitions made: \d+ days\n$/),
    });
    expect(JSON.parse((await paybell(['migrate', '--partition', '--json'])).stdout)).toEqual({
      applied: [],
      partitioned: { isNew: false, daysMade: 0 },
    });
    expect(await partitionsIn(paybell)).toMatchObject({ state: 'ok', found: `made for the next ${DAYS_AHEAD} days` });
    const db = await openDatabase({ engine: 'postgres', url, deadlineMs: TEST_DEADLINE_MS });
    const days = await db.all<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relname ~ '^(events|deliveries|attempts)_[0-9]{8}$'`,
    );
    for (const { name } of days) await db.transaction((queries) => queries.run(`drop table ${name}`));
    await db.close();
    expect(await partitionsIn(paybell)).toMatchObject({
      state: 'warning',
      fix: expect.stringContaining('paybell migrate --partition'),
    });
  });

  test('is refused on SQLite, with what it needs', async () => {
    const { url, remove } = await createTarget('sqlite');
    const outcome = await commandLine({ DATABASE_URL: url })(['migrate', '--partition']);
    expect(outcome).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('PostgreSQL') });
    remove();
  });
});

async function partitionsIn(paybell: ReturnType<typeof commandLine>): Promise<unknown> {
  const { stdout } = await paybell(['doctor', '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { check: string }[] };
  return checks.find(({ check }) => check === 'partitions');
}
