import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadConfig, SETTING_NAMES } from '../../src/config.ts';
import { longestStopMs } from '../../src/service.ts';
import { runPaybell, tempFolder } from '../support/paybell.ts';

/** Checks that need no container: the files refer only to files, settings and commands that exist. */

const ROOT = resolve(import.meta.dir, '../..');
const read = (path: string) => Bun.file(join(ROOT, path)).text();

/** The command of the image's health check. */
async function healthCheck(): Promise<string[]> {
  return JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(await read('Dockerfile'))?.[1] ?? '[]') as string[];
}

describe('the Dockerfile', () => {
  test('copies only files that exist and that .dockerignore does not exclude', async () => {
    const text = await read('Dockerfile');
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
    const included = (await read('.dockerignore')).split('\n').filter((line) => line.startsWith('!'));
    expect(copied.length).toBeGreaterThan(4);
    for (const file of copied) expect({ file, exists: existsSync(join(ROOT, file)) }).toEqual({ file, exists: true });
    expect(copied.sort()).toEqual(included.map((line) => line.slice(1)).sort());
  });

  test('runs as a user other than root', async () => {
    const [, user = '0'] = /^USER (\S+)(?![\s\S]*^USER)/m.exec(await read('Dockerfile')) ?? [];
    expect(Number(user)).toBeGreaterThan(0);
  });

  test('has a health check that is a command of Paybell and fails when nothing listens', async () => {
    const [program, ...args] = await healthCheck();
    expect(program).toBe('paybell');
    const folder = tempFolder();
    const { exitCode, stderr } = await runPaybell(args, folder.path, { PORT: '9' });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('no response') });
    folder.remove();
  });
});

test('compose.yaml sets only settings that exist, and all that PostgreSQL needs', async () => {
  type Service = { environment: Record<string, string>; stop_grace_period: string };
  const { services } = Bun.YAML.parse(await read('compose.yaml')) as {
    services: Record<'paybell' | 'postgres', Service>;
  };
  const { environment } = services.paybell;
  for (const name of Object.keys(environment)) expect(SETTING_NAMES as string[]).toContain(name);
  const given = { POSTGRES_PASSWORD: 'a1b2', SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };
  const filled = Object.entries(environment).map(([name, value]) => [name, fill(value, given)]);
  expect(loadConfig(Object.fromEntries(filled)).DATABASE_URL).toEqual({
    engine: 'postgres',
    url: 'postgres://paybell:a1b2@postgres:5432/paybell',
  });
  expect(Number.parseInt(services.paybell.stop_grace_period, 10) * 1000).toBeGreaterThan(longestStopMs(loadConfig({})));
});

/** Substitutes `${NAME:?}` and `${NAME:-}` as Docker Compose does. */
function fill(text: string, given: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Z_]+):[?-]\}/g, (_all, name: string) => given[name] ?? '');
}

describe('the systemd unit', () => {
  test('waits longer than a stop can take, which the documents state', async () => {
    const besideTimeoutS = (longestStopMs({ DELIVERY_TIMEOUT: 15_000 }) - 15_000) / 1000;
    expect(await read('docs/deploy.md')).toContain(`above \`DELIVERY_TIMEOUT\` and ${besideTimeoutS} seconds`);
    for (const file of ['deploy/paybell.service', 'compose.yaml']) {
      expect(await read(file)).toContain(`DELIVERY_TIMEOUT and ${besideTimeoutS} s.`);
    }
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(await read('deploy/paybell.service')) ?? [];
    expect(Number(seconds) * 1000).toBeGreaterThan(longestStopMs(loadConfig({})));
  });

  test.skipIf(Bun.which('systemd-analyze') === null)('passes systemd-analyze verify', async () => {
    const folder = tempFolder();
    const unit = join(folder.path, 'paybell.service');
    // systemd-analyze checks that the program exists, and Paybell is not installed here.
    writeFileSync(unit, (await read('deploy/paybell.service')).replace('/usr/local/bin/paybell', process.execPath));
    const child = Bun.spawn(['systemd-analyze', 'verify', unit], { stdout: 'pipe', stderr: 'pipe' });
    expect({ stderr: await child.stderr.text(), exitCode: await child.exited }).toEqual({ stderr: '', exitCode: 0 });
    folder.remove();
  });
});
