import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { commandLineIn, settingsIn, startServe } from '../../support/command-line.ts';
import { firstCredentials, tempFolder } from '../../support/paybell.ts';
import { PROGRAM } from '../../support/program.ts';

/** A reader that is gone before the command writes, as `head -1` is before the second page of its input. */

const folder = tempFolder();
let served: Awaited<ReturnType<typeof startServe>>;
let environment: Record<string, string>;

beforeAll(async () => {
  served = await startServe(settingsIn(folder.path, { ALLOW_INSECURE_TARGETS: 'true' }));
  const { entityId, apiKey } = firstCredentials(served.stdout()) ?? { entityId: '', apiKey: '' };
  environment = { PAYBELL_URL: served.url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey };
  await commandLineIn(folder.path, environment)(['webhooks', 'create', 'http://127.0.0.1:9/']);
});

afterAll(async () => {
  await served.stop();
  folder.remove();
});

/** The exit code of the command, and what it writes to standard error, while standard output has no reader. */
async function withoutReader(args: readonly string[]): Promise<{ exitCode: number; stderr: string }> {
  const script = `{ sleep 0.2; "$0" "$@"; echo "exit $?" >&2; } | true`;
  const shell = Bun.spawn(['sh', '-c', script, ...PROGRAM, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? '', HOME: folder.path, ...environment },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const [text] = await Promise.all([shell.stderr.text(), shell.exited]);
  const [, stderr = '', exitCode = '-1'] = /^([\s\S]*)exit (\d+)\n$/.exec(text) ?? [text, text];
  return { exitCode: Number(exitCode), stderr };
}

describe('a pipe whose reader has gone', () => {
  test.each([
    [['webhooks', 'list', '--limit', '100']],
    [['webhooks', 'list', '--limit', '100', '--json']],
    [['keys', 'list']],
    [['doctor']],
    [['--help']],
  ])('ends %j quietly', async (args) => {
    expect(await withoutReader(args)).toEqual({ exitCode: 0, stderr: '' });
  });

  test('ends an export quietly', async () => {
    const exported = await withoutReader(['export', '--entity', environment.PAYBELL_ENTITY_ID ?? '']);
    expect(exported).toEqual({ exitCode: 0, stderr: '' });
  });
});
