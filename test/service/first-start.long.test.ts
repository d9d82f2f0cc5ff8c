import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pasteInto, printed } from '../support/first-start.ts';
import type { Settings } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { PROGRAM } from '../support/program.ts';
import { servicesOfTest } from '../support/services-of-test.ts';
import { until } from '../support/until.ts';

/** What the first start prints, on a terminal of 80 columns and into a file. */

const SECRET_KEY = Buffer.alloc(32, 3).toString('base64');
const KEY = /pbk_[0-9A-Za-z]{36}/;

const { cleanUp, newFolder, serve } = servicesOfTest();

const paste = (lines: readonly string[]) => pasteInto(newFolder(), lines);

/** Starts the service on a terminal of 80 columns, and returns what it prints there. */
async function serveOnTerminal(folder: string, settings: Settings = {}) {
  let output = '';
  const child = Bun.spawn([...PROGRAM, 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, PORT: '0', TERM: 'dumb', ...settings },
    terminal: {
      cols: 80,
      rows: 24,
      data: (_terminal, bytes) => {
        output += new TextDecoder().decode(bytes);
      },
    },
  });
  cleanUp.push(() => child.kill('SIGKILL'));
  await until('it listens', () => output.includes('API reference') || child.exitCode !== null);
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
  };
  return { output: () => output, stop };
}

/** The rows that the text takes on a terminal of 80 columns. */
const rowsOf = (text: string) =>
  text
    .trimEnd()
    .split(/\r?\n/)
    .reduce((rows, line) => rows + Math.max(1, Math.ceil(Bun.stringWidth(line) / 80)), 0);

describe('the first start on a terminal', () => {
  test('takes at most 12 rows, shows the key once and saves it nowhere', async () => {
    const folder = newFolder();
    const served = await serveOnTerminal(folder);
    await served.stop();
    const [screen = ''] = /^[\s\S]*API reference.*/.exec(served.output()) ?? [];
    expect(screen.match(new RegExp(KEY, 'g'))).toHaveLength(1);
    expect(screen).toContain('restart: ALLOW_INSECURE_TARGETS=true paybell serve');
    expect(rowsOf(screen)).toBeLessThanOrEqual(12);
    expect(readdirSync(join(folder, 'data')).filter((name) => name.includes('first-key'))).toEqual([]);
  });

  test('prints commands that work when pasted, including a receiver on this machine', async () => {
    const served = await serveOnTerminal(newFolder(), { ALLOW_INSECURE_TARGETS: 'true' });
    expect(rowsOf(served.output())).toBeLessThanOrEqual(12);
    const { commands } = printed(served.output());
    const [listen = '', create = '', send = ''] = commands.filter((line) => line.includes('paybell '));
    const free = Bun.serve({ port: 0, fetch: () => new Response() });
    const { port } = free;
    await free.stop(true);
    const onFreePort = (line: string) => line.replace('3000', String(port));
    const exports = commands.filter((line) => line.includes('export '));
    const receiver = paste([...exports, `${onFreePort(listen)} --count 1`]);
    await paste([...exports, onFreePort(create), send]);
    expect(await receiver).toContain('signature verified');
    await served.stop();
  });

  test('in practice mode registers a webhook for its network, and leads to the dashboard', async () => {
    const served = await serveOnTerminal(newFolder(), { ALLOW_INSECURE_TARGETS: 'true', CHAIN_RPC: 'practice' });
    await served.stop();
    const [screen = ''] = /^[\s\S]*API reference.*/.exec(served.output()) ?? [];
    expect(screen).toContain('webhooks create http://127.0.0.1:3000 --networks 0');
    expect(screen).toMatch(/the page Payments of the dashboard:\r?\n {2}Dashboard http/);
    expect(rowsOf(screen)).toBeLessThanOrEqual(12);
  });

  test('is followed by starts that print two lines', async () => {
    const folder = newFolder();
    await (await serveOnTerminal(folder)).stop();
    const served = await serveOnTerminal(folder, { RETENTION: '90d' });
    expect(rowsOf(served.output())).toBe(2);
    await served.stop();
  });
});

describe('the file of the first key', () => {
  test('never replaces the key of another database, in a folder with any name', async () => {
    const folder = join(newFolder(), "it's new");
    mkdirSync(folder);
    writeFileSync(join(folder, 'p.db.first-key'), 'pbk_old\n');
    const served = await serve(folder, { DATABASE_URL: 'sqlite:p.db' });
    expect(readFileSync(join(folder, 'p.db.first-key'), 'utf8')).toBe('pbk_old\n');
    expect(statSync(join(folder, 'p.db.first-key-2')).mode & 0o777).toBe(0o600);
    expect(served.stdout()).toContain('p.db.first-key has another key.');
    const { commands, apiKey } = printed(served.stdout());
    expect(apiKey).toMatch(KEY);
    expect(await paste(commands)).toContain('https://example.com/hook');
  });

  test('that cannot be written leaves the key hidden, and the output says how to create another', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'data'), 'a file where the folder should be');
    const served = await serve(folder, { DATABASE_URL: await createPostgresDatabase(), SECRET_KEY });
    expect(served.stdout()).not.toMatch(KEY);
    expect(served.stdout()).toMatch(/could not be saved in \S+data\/paybell\.first-key \(\w+\)/);
    expect(served.stdout()).toMatch(/keys create --entity ent_\w+/);
  });
});
