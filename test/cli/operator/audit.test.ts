import { beforeAll, expect, test } from 'bun:test';
import { recordChange } from '../../../src/store/tenants/audit.ts';
import { type CommandLine, commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

/** 2026-01-31T12:00:00Z, after everything that made the entity. */
const NOON_S = 1_769_860_800;

onSuiteEngine('paybell audit', (store) => {
  let entityId: string;
  let paybell: CommandLine;
  const audit = (...more: string[]) => paybell(['audit', '--entity', entityId, ...more]);
  const targetsOf = async (...more: string[]): Promise<string[]> => {
    const { audit: entries } = JSON.parse((await audit('--json', ...more)).stdout);
    return entries.map(({ target }: { target: string }) => target);
  };

  beforeAll(async () => {
    paybell = commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY });
    entityId = await newEntity(store.db);
    await store.db.transaction(async (queries) => {
      const moved = { before: { postUrl: 'https://example.com/old' }, after: { postUrl: 'https://example.com/new' } };
      const at = (minutes: number, actor: string) => ({ actor, nowS: NOON_S + minutes * 60 });
      await recordChange(queries, entityId, at(0, 'cli'), { action: 'webhook.updated', target: 'wh_1', ...moved });
      await recordChange(queries, entityId, at(1, 'key_1'), { action: 'webhook.deleted', target: 'wh_1' });
      await recordChange(queries, entityId, at(2, 'key_1'), { action: 'webhook.deleted', target: 'wh_2' });
    });
  });

  test('prints a table with readable dates, newest first', async () => {
    const { exitCode, stdout } = await audit('--since', '2026-01-31');
    expect(exitCode).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['date', 'actor', 'action', 'target', 'before', 'after'],
      ['2026-01-31T12:02:00Z', 'key_1', 'webhook.deleted', 'wh_2', '–', '–'],
      ['2026-01-31T12:01:00Z', 'key_1', 'webhook.deleted', 'wh_1', '–', '–'],
      [
        '2026-01-31T12:00:00Z',
        'cli',
        'webhook.updated',
        'wh_1',
        '{"postUrl":"https://example.com/old"}',
        '{"postUrl":"https://example.com/new"}',
      ],
      [''],
    ]);
  });

  test('narrows by actor, action, target and time', async () => {
    expect(await targetsOf('--actor', 'key_1')).toEqual(['wh_2', 'wh_1']);
    expect(await targetsOf('--action', 'webhook.updated')).toEqual(['wh_1']);
    expect(await targetsOf('--target', 'wh_2')).toEqual(['wh_2']);
    expect(await targetsOf('--since', '2026-01-31T12:01Z')).toEqual(['wh_2', 'wh_1']);
    expect(await targetsOf('--since', String(NOON_S), '--until', '2026-01-31T13:01:00+01:00')).toEqual(['wh_1']);
  });

  test('shows a page at a time and says how many there are', async () => {
    const { stdout, stderr } = await audit('--since', '2026-01-31', '--limit', '2', '--page', '2');
    expect(stdout).toContain('wh_1');
    expect(stdout).not.toContain('wh_2');
    expect(stderr).toContain('Page 2 of 2, 3 changes in total.');
    expect((await audit('--page', '99')).stdout).toContain('Page 99 is past the last page.');
    expect((await audit('--target', 'none')).stdout).toBe('No changes match.\n');
  });

  test.each([
    ['--limit', '101'],
    ['--page', '0'],
    ['--action', 'webhook.eaten'],
    ['--since', 'yesterday'],
    ['--until', '2026-13-01'],
    ['--actor', ''],
  ])('%s %p is wrong usage and names the option', async (option, value) => {
    const { exitCode, stdout, stderr } = await audit(option, value);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(option);
  });

  test('an unknown entity fails', async () => {
    expect((await paybell(['audit', '--entity', 'ent_none'])).exitCode).toBe(1);
  });
});
