import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from '../../build/executable.ts';
import { firstCredentials, runProgram, type Served, serveProgram, tempFolder } from '../support/paybell.ts';

/** `dist/paybell` on a machine without Node and Bun: its PATH is a folder with nothing in it. */

const { path: folder, remove } = tempFolder();
const elsewhere = join(folder, 'elsewhere');
const executable = join(folder, process.platform === 'win32' ? 'paybell.exe' : 'paybell');
const settings = { PATH: join(folder, 'nothing') };
let served: Served;

beforeAll(async () => {
  mkdirSync(settings.PATH);
  mkdirSync(elsewhere);
  // Of another project, as far as Paybell is concerned.
  writeFileSync(join(elsewhere, 'bunfig.toml'), 'preload = ["./of-another-project.ts"]\n');
  writeFileSync(join(elsewhere, 'of-another-project.ts'), `console.log('of another project');\n`);
  writeFileSync(join(elsewhere, '.env'), 'PROCESSOR=by-env-file\n');
  await buildExecutable(executable);
  served = await serveProgram([executable], elsewhere, settings);
});

afterAll(async () => {
  await served?.stop();
  remove();
});

const get = (path: string) => fetch(`${served.url}${path}`);

describe('the executable, with neither Node nor Bun on its PATH', () => {
  test('serves the list of webhooks, under the processor that an env file names', async () => {
    const { entityId, apiKey } = firstCredentials(served.stdout()) ?? { entityId: '', apiKey: '' };
    const headers = { 'api-key': apiKey, 'entity-id': entityId };
    const answer = await fetch(`${served.url}/api/v1/by-env-file/webhooks/classic`, { headers });
    expect(await answer.json()).toEqual({ totalResults: 0, webhooks: [] });
  });

  test('reads a list on a thread, whose program is in the executable too', async () => {
    const { entityId, apiKey } = firstCredentials(served.stdout()) ?? { entityId: '', apiKey: '' };
    const headers = { 'api-key': apiKey, 'entity-id': entityId };
    const answer = await fetch(`${served.url}/api/v1/by-env-file/deliveries`, { headers });
    expect(await answer.json()).toEqual({ totalResults: 0, deliveries: [] });
  });

  test('finds nothing wrong with itself', async () => {
    const { exitCode, stdout, stderr } = await runProgram([executable], ['doctor', '--json'], elsewhere, settings);
    expect(stderr).toBe('');
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { check: string; state: string }[] };
    expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
    expect(checks.find(({ check }) => check === 'loopback delivery')?.state).toBe('ok');
  });

  test('has the reference page, the API document and everything that they load', async () => {
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/start.js',
      '/docs/reference.css',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
    ]) {
      const answer = await get(path);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      expect((await answer.bytes()).length).toBeGreaterThan(100);
    }
  });

  test('has the dashboard with its scripts and styles', async () => {
    const html = await (await get('/')).text();
    const files = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|svg))"/g)].map(([, path = '']) => path);
    expect(files.map((path) => path.replace(/.*\./, '')).sort()).toEqual(['css', 'js', 'svg']);
    for (const path of files) {
      const answer = await get(path);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      expect((await answer.text()).length).toBeGreaterThan(100);
    }
  });

  test('runs no code of the folder that it is started in', () => {
    expect(served.stdout()).not.toContain('of another project');
  });
});

test('a target that does not exist is rejected before anything is built', async () => {
  const main = join(import.meta.dir, '../../build/main.ts');
  const build = Bun.spawn([process.execPath, main, 'bun-nowhere'], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, exitCode] = await Promise.all([build.stdout.text(), build.stderr.text(), build.exited]);
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'error: bun-nowhere is not a target; give one such as bun-linux-arm64\n',
  });
});
