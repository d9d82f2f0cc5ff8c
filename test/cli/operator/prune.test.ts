import { beforeEach, expect, test } from 'bun:test';
import { namesLeft, seedAged } from '../../support/aged-deliveries.ts';
import { type CommandLine, commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { forgetDeliveries } from '../../support/deliveries.ts';
import { dumpRows } from '../../support/dump.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const DAY_MS = 86_400_000;

onSuiteEngine('paybell prune', (store) => {
  let paybell: CommandLine;

  beforeEach(async () => {
    paybell = commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY, RETENTION: '10d' });
    const ageMs = (days: number) => Date.now() - days * DAY_MS;
    const entityId = await newEntity(store.db);
    await forgetDeliveries(store.db);
    await seedAged(store.db, entityId, [
      { name: 'eleven_days', status: 'delivered', createdAtMs: ageMs(11), attempts: 2 },
      { name: 'eleven_days_held', status: 'held', createdAtMs: ageMs(11) },
      { name: 'five_days', status: 'failed', createdAtMs: ageMs(5), attempts: 3 },
      { name: 'now', status: 'delivered', createdAtMs: ageMs(0) },
    ]);
  });

  const left = () => namesLeft(store.db);

  test('removes what is past RETENTION and reports it as a table', async () => {
    const { exitCode, stdout, stderr } = await paybell(['prune']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      'removed            rows',
      'deliveries         1',
      'attempts           2',
      'events             1',
    ]);
    expect(stdout).toMatch(/Store size: .+ before, .+ after\./);
    expect(await left()).toEqual(['eleven_days_held', 'five_days', 'now']);
  });

  test('--older-than overrules RETENTION, and --json reports to programs', async () => {
    const { exitCode, stdout } = await paybell(['prune', '--older-than', '4d', '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      engine: store.engine,
      dryRun: false,
      olderThanMs: 4 * DAY_MS,
      deliveries: 2,
      attempts: 5,
      events: 2,
      redeliveries: 0,
      secrets: 0,
      facts: 0,
      bytesBefore: expect.any(Number),
      bytesAfter: expect.any(Number),
    });
    expect(await left()).toEqual(['eleven_days_held', 'now']);
  });

  test('--dry-run counts the same and changes nothing', async () => {
    const before = await dumpRows(store);
    const { stdout } = await paybell(['prune', '--older-than', '4d', '--dry-run', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ dryRun: true, deliveries: 2, attempts: 5, events: 2 });
    expect((await paybell(['prune', '--dry-run'])).stdout).toStartWith(
      'would be removed   rows\ndeliveries         1\n',
    );
    expect(await dumpRows(store)).toBe(before);
  });

  test.each(['0d', '-1d', '7', 'week', ''])('--older-than %p is wrong usage', async (age) => {
    const { exitCode, stderr } = await paybell(['prune', `--older-than=${age}`]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Give a duration above zero such as 12h or 30d.');
    expect(await left()).toHaveLength(4);
  });
});
