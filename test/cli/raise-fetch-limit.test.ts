import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildExecutable } from '../../build/executable.ts';
import { fitFetchLimit } from '../../src/cli/raise-fetch-limit.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { type Settings, tempFolder } from '../support/paybell.ts';

const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
const MAIN = resolve(import.meta.dir, '../../src/main.ts');
const FROM_SOURCE = [process.execPath, MAIN];
const COMPILED = process.platform === 'win32' ? 'paybell.exe' : 'paybell';

const { path: folder, remove } = tempFolder();
const cleanUp: (() => unknown)[] = [];

beforeAll(async () => {
  await buildExecutable(join(folder, COMPILED));
});

afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

afterAll(remove);

function spawn(command: readonly string[], settings: Settings) {
  const env = { PATH: process.env.PATH ?? '', HOME: folder, PORT: '0', ...settings };
  const child = Bun.spawn([...command], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  cleanUp.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

/** `serve` by the given command, once it listens. */
async function serve(command: readonly string[], settings: Settings = {}) {
  const child = spawn([...command, 'serve'], settings);
  const decoder = new TextDecoder();
  let stdout = '';
  for await (const chunk of child.stdout.values({ preventCancel: true })) {
    stdout += decoder.decode(chunk, { stream: true });
    const url = /is listening on (http:\S+)[\s\S]*API reference/.exec(stdout)?.[1];
    if (url !== undefined) return { child, url, stdout };
  }
  throw new Error(`serve ended with ${await child.exited} before it listened`);
}

/** What the process that was started has as its limit now, in the environment of its present image. */
function limitOf(pid: number): string | undefined {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return variables.find((variable) => variable.startsWith(`${VARIABLE}=`))?.slice(VARIABLE.length + 1);
}

const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

const onLinux = describe.skipIf(process.platform !== 'linux');

for (const [name, command] of [
  ['serve from source', FROM_SOURCE],
  ['serve as a compiled file', [join(folder, COMPILED)]],
] as const) {
  describe(name, () => {
    test('ends with 0 on SIGTERM to the process that was started', async () => {
      const { child, url } = await serve(command);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      child.kill('SIGTERM');
      expect(await child.exited).toBe(0);
    });

    test('leaves the port to others on SIGKILL to the process that was started', async () => {
      const { child, url } = await serve(command);
      child.kill('SIGKILL');
      await child.exited;
      const next = Bun.serve({ port: new URL(url).port, hostname: '127.0.0.1', fetch: () => new Response() });
      await next.stop(true);
    });

    test('passes on the exit code of wrong usage', async () => {
      const child = Bun.spawn([...command, 'serve', '--nonsense'], { env: {}, stdout: 'ignore', stderr: 'ignore' });
      expect(await child.exited).toBe(2);
    });
  });

  onLinux(`${name} on Linux`, () => {
    test('raises the limit in the process that was started and has no other beside it', async () => {
      const { child, stdout } = await serve(command);
      expect(limitOf(child.pid)).toBe('65336');
      expect(childrenOf(child.pid)).toBe('');
      expect(stdout).not.toContain('is lowered');
    });

    test('respects a limit that was given, and fits the deliveries to it', async () => {
      const { child, stdout } = await serve(command, { [VARIABLE]: '300' });
      expect(limitOf(child.pid)).toBe('300');
      expect(stdout).toContain(`"level":40`);
      expect(stdout).toContain(`DELIVERY_CONCURRENCY is lowered to 300, as ${VARIABLE} is not set to more`);
      expect(stdout).toContain('"DELIVERY_CONCURRENCY":300');
    });
  });
}

onLinux('serve from source on Linux', () => {
  test.each<[string, Settings]>([
    ['few deliveries at a time', { DELIVERY_CONCURRENCY: '200' }],
    ['no deliveries at all', { ROLE: 'api' }],
  ])('with %s starts only once', async (_name, settings) => {
    const { child } = await serve(FROM_SOURCE, settings);
    expect(limitOf(child.pid)).toBeUndefined();
  });

  test('keeps the options of the runtime and the folder that they name', async () => {
    mkdirSync(join(folder, 'elsewhere'), { recursive: true });
    const { child } = await serve([process.execPath, '--smol', '--cwd=elsewhere', MAIN]);
    expect(limitOf(child.pid)).toBe('65336');
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0')).toContain('--smol');
    expect(await Bun.file(join(folder, 'elsewhere/data/paybell.db')).exists()).toBe(true);
  });

  test('under a watcher stays as it is, so that an env file is read anew at each change', async () => {
    const { child, stdout } = await serve([process.execPath, '--watch', MAIN]);
    expect(limitOf(child.pid)).toBeUndefined();
    expect(stdout).toContain('DELIVERY_CONCURRENCY is lowered to 256');
    expect(stdout).not.toContain(`"level":40`);
  });
});

test.each([
  ['in the process itself', []],
  ['in a child where a process cannot be replaced', ['win32']],
])('400 requests hang at the same time %s, and the exit code comes through', async (_name, args) => {
  const child = spawn([process.execPath, join(import.meta.dir, 'hanging-fetches.ts'), 'serve', ...args], {});
  expect(await child.stdout.text()).toBe('400 at a time\n');
  expect(await child.exited).toBe(7);
});

test.each([
  ['is not set', '', 256],
  ['is enough', '512', 512],
  ['is more than enough', '65336', 512],
  ['is less', '511', 511],
  ['is zero', '0', 256],
  ['is no number', '3e2', 256],
  ['is more than Bun takes', '99999', 256],
])('of 512 deliveries at a time, when the limit %s (%p), %i are left', (_name, limit, left) => {
  const config = loadConfig({ DELIVERY_CONCURRENCY: '512' });
  expect(fitFetchLimit(config, createLogger('silent'), { [VARIABLE]: limit }).DELIVERY_CONCURRENCY).toBe(left);
});
