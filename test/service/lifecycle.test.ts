import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { WEBHOOKS } from '../support/api.ts';
import { commandLineIn, settingsIn, startServe } from '../support/command-line.ts';
import { logLines, pasteInto, printed } from '../support/first-start.ts';
import type { Settings } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { connectRaw } from '../support/raw-http.ts';
import { servicesOfTest } from '../support/services-of-test.ts';
import type { Engine } from '../support/stores.ts';
import { SUITE_ENGINES } from '../support/suite.ts';

const SECRET_KEY = Buffer.alloc(32, 3).toString('base64');
const KEY = /pbk_[0-9A-Za-z]{36}/;

const { cleanUp, newFolder, serve } = servicesOfTest();

/** In this process, for tests of what a service says and stores. */
async function serveHere(settings: Settings) {
  const served = await startServe(settings);
  cleanUp.push(() => served.stop());
  return served;
}

async function settingsFor(engine: Engine): Promise<Settings> {
  return engine === 'sqlite' ? {} : { DATABASE_URL: await createPostgresDatabase(), SECRET_KEY };
}

for (const engine of SUITE_ENGINES) {
  describe(`serve on ${engine}`, () => {
    test('on an empty store prints how to load the first key, and commands that work when pasted', async () => {
      const served = await serve(newFolder(), await settingsFor(engine));
      const { commands, headers, entityId } = printed(served.stdout());
      expect(commands).toHaveLength(3);
      const output = await pasteInto(newFolder(), [...commands, 'paybell whoami']);
      expect(output.match(/https:\/\/example\.com\/hook/g)).toHaveLength(14);
      expect(output).toContain(entityId);
      expect((await fetch(served.url + WEBHOOKS, { headers })).status).toBe(200);
    });

    test('puts the first key into a file for its owner alone, and prints a line that reads it', async () => {
      const folder = newFolder();
      const file = join(folder, engine === 'sqlite' ? 'data/paybell.db.first-key' : 'data/paybell.first-key');
      const served = await serve(folder, await settingsFor(engine));
      expect(served.stdout()).not.toMatch(KEY);
      expect(served.stdout()).toContain(`PAYBELL_API_KEY="$(cat ${realpathSync(file)})"`);
      expect(readFileSync(file, 'utf8')).toMatch(/^pbk_[0-9A-Za-z]{36}\n$/);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });

    test('started again keeps what was stored and prints no key again', async () => {
      const folder = newFolder();
      const settings = await settingsFor(engine);
      const first = await serve(folder, settings);
      const { headers } = printed(first.stdout());
      const body = JSON.stringify({ postUrl: 'https://example.com/kept', networkIds: [1], events: ['LatePayment'] });
      const json = { ...headers, 'content-type': 'application/json' };
      expect((await fetch(first.url + WEBHOOKS, { method: 'POST', headers: json, body })).status).toBe(201);
      expect((await first.stop()).exitCode).toBe(0);
      const second = await serve(folder, settings);
      expect(second.stdout()).not.toMatch(KEY);
      expect(await (await fetch(second.url + WEBHOOKS, { headers })).json()).toMatchObject({
        totalResults: 1,
        webhooks: [{ postUrl: 'https://example.com/kept' }],
      });
    });
  });
}

describe('two at once on an empty store', () => {
  test('both serve on PostgreSQL, and one makes the first entity', async () => {
    const folder = newFolder();
    const settings = await settingsFor('postgres');
    const both = await Promise.all([serve(folder, settings), serve(folder, settings)]);
    const keys = both.flatMap((served) => printed(served.stdout()).apiKey || []);
    expect(keys).toHaveLength(1);
  });

  test('one serves on SQLite, and the other refuses', async () => {
    const folder = newFolder();
    const both = await Promise.allSettled([serve(folder), serve(folder)]);
    const refusals = both.flatMap((start) => (start.status === 'rejected' ? [String(start.reason)] : []));
    expect(refusals).toEqual([expect.stringContaining('another server uses the store')]);
  });
});

describe('serve', () => {
  test('ends with 0 though idle connections are open', async () => {
    const served = await serve(newFolder());
    const idle = await connectRaw(served.url);
    idle.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await idle.received('"ok"');
    expect((await served.stop()).exitCode).toBe(0);
  });

  test('with wrong settings ends with 2 and names every one of them on standard error', async () => {
    const settings = { PORT: 'x', ROLE: 'boss', LOG_LEVEL: 'loud', DATABASE_URL: 'postgres://u:hunter2@h/d' };
    const { exitCode, stdout, stderr } = await commandLineIn(newFolder(), settings)(['serve']);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    for (const name of ['4 settings', 'PORT', 'ROLE', 'LOG_LEVEL', 'SECRET_KEY']) expect(stderr).toContain(name);
    expect(stderr).not.toContain('hunter2');
    expect(stderr).not.toContain('    at ');
  });

  test('on a port in use ends with 1 and says so', async () => {
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    cleanUp.push(() => other.stop(true));
    const folder = newFolder();
    const { exitCode, stderr } = await commandLineIn(folder, { PORT: String(other.port) })(['serve']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`port ${other.port} on 127.0.0.1 is in use`);
    expect(stderr).not.toContain('    at ');
    // No key was shown yet, so the next start has to show one.
    const served = await serveHere(settingsIn(folder));
    expect(served.stdout()).toMatch(
      /export PAYBELL_ENTITY_ID=ent_\w+ PAYBELL_API_KEY="\$\(cat \S+\)" PAYBELL_URL=http:\S+\n/,
    );
  });

  test('on a host that has no address ends with 1 and says so', async () => {
    // Longer than a label may be, so that every resolver refuses it without asking a name server.
    const HOST = 'x'.repeat(64);
    const { exitCode, stderr } = await commandLineIn(newFolder(), { HOST, PORT: '0' })(['serve']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`HOST ${HOST} cannot be resolved`);
    expect(stderr).not.toContain('    at ');
  });

  test.each([
    ['a server that is not there', 'postgres://u:hunter2@127.0.0.1:1/paybell'],
    ['a file in a place that cannot be written', 'sqlite:/proc/paybell/paybell.db'],
  ])('on %s ends with 1, a sentence and no stack', async (_name, DATABASE_URL) => {
    const { exitCode, stderr } = await commandLineIn(newFolder(), { DATABASE_URL, SECRET_KEY, PORT: '0' })(['serve']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('DATABASE_URL');
    expect(stderr).not.toContain('hunter2');
    expect(stderr).not.toContain('    at ');
  });

  test('on a PostgreSQL database that does not exist ends with 1, a sentence and no stack', async () => {
    const url = new URL(await createPostgresDatabase());
    url.pathname = '/nowhere';
    const { exitCode, stderr } = await commandLineIn(newFolder(), {
      DATABASE_URL: url.href,
      SECRET_KEY,
      PORT: '0',
    })(['serve']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('nowhere');
    expect(stderr).not.toContain('    at ');
  });

  test('with AUTO_MIGRATE=false on an empty store ends with 1 and names what is missing', async () => {
    const { exitCode, stderr } = await commandLineIn(newFolder(), { AUTO_MIGRATE: 'false', PORT: '0' })(['serve']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('paybell migrate');
    expect(stderr).not.toContain('    at ');
  });

  test('logs its settings masked, and no key in any line, whatever is asked of it', async () => {
    const ADMIN_KEY = 'operator-'.repeat(5);
    const served = await serveHere(settingsIn(newFolder(), { LOG_LEVEL: 'debug', ADMIN_KEY }));
    const { headers, apiKey } = printed(served.stdout());
    for (const query of ['', '?limit=0', `?webhookId=${apiKey}`, `?${apiKey}=1`]) {
      await fetch(served.url + WEBHOOKS + query, { headers });
    }
    await fetch(`${served.url}/${apiKey}`, { headers: { ...headers, 'api-key': ADMIN_KEY } });
    const { stdout, stderr } = await served.stop();
    const lines = logLines(stdout);
    expect(lines.length).toBeGreaterThan(6);
    expect(lines.join('\n') + stderr).not.toContain(apiKey);
    expect(lines.join('\n') + stderr).not.toContain(ADMIN_KEY);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'started', settings: { ADMIN_KEY: '(set)' } });
  });

  test('keeps its store in ./data of the folder it is started in', async () => {
    const folder = newFolder();
    await (await serve(folder)).stop();
    expect(existsSync(join(folder, 'data', 'paybell.db'))).toBe(true);
  });
});
