import { describe, expect, test } from 'bun:test';
import { readdirSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { commandLineIn } from '../support/command-line.ts';
import { firstCredentials } from '../support/paybell.ts';
import { servicesOfTest } from '../support/services-of-test.ts';

/** At its start, a server on SQLite takes over what is in flight: a second one would send it twice. */

const { newFolder, serve } = servicesOfTest();

const second = (folder: string, settings: Record<string, string> = {}) =>
  commandLineIn(folder, { PORT: '0', LOG_LEVEL: 'silent', ...settings })(['serve']);

describe('two servers on one SQLite file', () => {
  test('the second refuses and names the process that holds it; the first serves on', async () => {
    const folder = newFolder();
    const first = await serve(folder);
    const { exitCode, stdout, stderr } = await second(folder);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(
      `error: another server uses the store ${folder}/data/paybell.db: process ${first.child.pid} on ${hostname()}, since 20`,
    );
    expect(stderr).toContain('DATABASE_URL=sqlite:./data/other.db PORT=8081');
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  });

  test('the second refuses over a symbolic link too', async () => {
    const folder = newFolder();
    await serve(folder);
    symlinkSync(join(folder, 'data/paybell.db'), join(folder, 'link.db'));
    const { exitCode, stderr } = await second(folder, { DATABASE_URL: `sqlite:${folder}/link.db` });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('another server uses') });
  });

  test('commands work beside a running server', async () => {
    const folder = newFolder();
    const first = await serve(folder);
    const entityId = firstCredentials(first.stdout())?.entityId ?? '';
    const backup = ['backup', join(folder, 'copy.db')];
    for (const args of [['keys', 'create', '--entity', entityId], ['migrate'], backup, ['doctor']]) {
      expect({ args, ...(await commandLineIn(folder)(args)) }).toMatchObject({ args, exitCode: 0, stderr: '' });
    }
  });

  test('a server that was killed holds nothing', async () => {
    const folder = newFolder();
    for (let round = 0; round < 3; round++) await (await serve(folder)).stop('SIGKILL');
    const last = await serve(folder);
    expect((await second(folder)).stderr).toContain(`process ${last.child.pid} `);
  });

  test('a server that stopped leaves an empty lock file and no name', async () => {
    const folder = newFolder();
    expect((await (await serve(folder)).stop()).exitCode).toBe(0);
    const files = readdirSync(join(folder, 'data'));
    expect(files).toContain('paybell.db.lock');
    expect(files).not.toContain('paybell.db.pid');
    expect(Bun.file(join(folder, 'data/paybell.db.lock')).size).toBe(0);
  });
});
