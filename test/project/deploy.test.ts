import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadConfig, SETTING_NAMES } from '../../src/config.ts';
import { runPaybell, tempFolder } from '../support/paybell.ts';

/** What can be held without a container: the files name only what there is. */

const ROOT = resolve(import.meta.dir, '../..');
const read = (path: string) => Bun.file(join(ROOT, path)).text();

/** The health check as the image runs it, from its JSON. */
async function healthCheck(): Promise<string[]> {
  return JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(await read('Dockerfile'))?.[1] ?? '[]') as string[];
}

describe('the Dockerfile', () => {
  test('copies only files that there are and that .dockerignore lets through', async () => {
    const text = await read('Dockerfile');
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
    const letThrough = (await read('.dockerignore')).split('\n').filter((line) => line.startsWith('!'));
    expect(copied.length).toBeGreaterThan(4);
    for (const file of copied) expect({ file, exists: existsSync(join(ROOT, file)) }).toEqual({ file, exists: true });
    expect(copied.sort()).toEqual(letThrough.map((line) => line.slice(1)).sort());
  });

  test('ends as somebody other than root', async () => {
    const [, user = '0'] = /^USER (\S+)(?![\s\S]*^USER)/m.exec(await read('Dockerfile')) ?? [];
    expect(Number(user)).toBeGreaterThan(0);
  });

  test('has a health check that is a command of Paybell, and fails where nothing serves', async () => {
    const [program, ...args] = await healthCheck();
    expect(program).toBe('paybell');
    const folder = tempFolder();
    const { exitCode, stderr } = await runPaybell(args, folder.path, { PORT: '9' });
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('nothing answers') });
    folder.remove();
  });
});

test('compose.yaml gives Paybell only settings that there are, and all that PostgreSQL needs', async () => {
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
  expect(Number.parseInt(services.paybell.stop_grace_period, 10) * 1000).toBeGreaterThan(
    loadConfig({}).DELIVERY_TIMEOUT,
  );
});

/** `${NAME:?}` and `${NAME:-}` as compose fills them in. */
function fill(text: string, given: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Z_]+):[?-]\}/g, (_all, name: string) => given[name] ?? '');
}

describe('the unit of systemd', () => {
  test('gives attempts in flight more time to end than they can take', async () => {
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(await read('deploy/paybell.service')) ?? [];
    expect(Number(seconds) * 1000).toBeGreaterThan(loadConfig({}).DELIVERY_TIMEOUT);
  });

  test.skipIf(Bun.which('systemd-analyze') === null)('is without fault to systemd-analyze', async () => {
    const folder = tempFolder();
    const unit = join(folder.path, 'paybell.service');
    // It looks for the program, which is not installed here.
    writeFileSync(unit, (await read('deploy/paybell.service')).replace('/usr/local/bin/paybell', process.execPath));
    const child = Bun.spawn(['systemd-analyze', 'verify', unit], { stdout: 'pipe', stderr: 'pipe' });
    expect({ said: await child.stderr.text(), exitCode: await child.exited }).toEqual({ said: '', exitCode: 0 });
    folder.remove();
  });
});
