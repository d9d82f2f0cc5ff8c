import { afterEach, describe, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WEBHOOKS } from '../support/api.ts';
import { commandLineIn, settingsIn, startServe } from '../support/command-line.ts';
import { firstCredentials, type Served, type Settings, servePaybell, tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { PROGRAM } from '../support/program.ts';
import { connectRaw } from '../support/raw-http.ts';
import { rejection } from '../support/rejection.ts';
import type { Engine } from '../support/stores.ts';
import { SUITE_ENGINES } from '../support/suite.ts';
import { until } from '../support/until.ts';

const SECRET_KEY = Buffer.alloc(32, 3).toString('base64');
const KEY = /pbk_[0-9A-Za-z]{36}/;

const cleanUp: (() => unknown)[] = [];

afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

function newFolder(): string {
  const { path, remove } = tempFolder();
  cleanUp.push(remove);
  return path;
}

async function serve(folder: string, settings: Settings = {}): Promise<Served> {
  const served = await servePaybell(folder, settings);
  cleanUp.push(() => served.child.kill('SIGKILL'));
  return served;
}

/** In this process, for tests of what a service says and stores. */
async function serveHere(settings: Settings) {
  const served = await startServe(settings);
  cleanUp.push(() => served.stop());
  return served;
}

async function settingsFor(engine: Engine): Promise<Settings> {
  return engine === 'sqlite' ? {} : { DATABASE_URL: await createPostgresDatabase(), SECRET_KEY };
}

/** The lines that a person would copy from the output. */
function printed(stdout: string) {
  const { entityId, apiKey } = firstCredentials(stdout) ?? { entityId: '', apiKey: '' };
  const commands = stdout.split(/\r?\n/).filter((line) => /^ +(export|paybell) /.test(line));
  return { entityId, apiKey, commands, headers: { 'api-key': apiKey, 'entity-id': entityId } };
}

/** Pastes the lines into one shell, with `paybell` as an installed command. */
async function paste(lines: readonly string[]): Promise<string> {
  const folder = newFolder();
  const program = PROGRAM.map((word) => `"${word}"`).join(' ');
  writeFileSync(join(folder, 'paybell'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH ?? ''}`, HOME: folder };
  const shell = Bun.spawn(['sh', '-eu', '-c', lines.join('\n')], { env, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([shell.stdout.text(), shell.stderr.text()]);
  expect({ exitCode: await shell.exited, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

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

const logLines = (stdout: string) => stdout.split('\n').filter((line) => line.startsWith('{'));

for (const engine of SUITE_ENGINES) {
  describe(`serve on ${engine}`, () => {
    test('on an empty store prints how to load the first key, and commands that work when pasted', async () => {
      const served = await serve(newFolder(), await settingsFor(engine));
      const { commands, headers, entityId } = printed(served.stdout());
      expect(commands).toHaveLength(3);
      const output = await paste([...commands, 'paybell whoami']);
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
    const served = await serve(folder, await settingsFor('postgres'));
    expect(served.stdout()).not.toMatch(KEY);
    expect(served.stdout()).toMatch(/could not be saved in \S+data\/paybell\.first-key \(\w+\)/);
    expect(served.stdout()).toMatch(/keys create --entity ent_\w+/);
  });
});

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
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'on %s is first not ready, then finishes the request in flight, then ends with 0',
    async (signal) => {
      // A machine that is busy for half a second does not see it: then it is done again.
      let seen = await stopInFlight(signal);
      for (let tries = 1; !seen && tries < 5; tries++) seen = await stopInFlight(signal);
      expect(seen).toBeTrue();
    },
  );

  /** Returns whether the service was seen not to be ready before it stopped to listen. */
  async function stopInFlight(signal: 'SIGTERM' | 'SIGINT'): Promise<boolean> {
    const served = await serve(newFolder());
    const { apiKey, entityId } = printed(served.stdout());
    const body = JSON.stringify({ postUrl: 'https://example.com/flight', networkIds: [1], events: ['LatePayment'] });
    const inFlight = await connectRaw(served.url);
    inFlight.write(
      `POST ${WEBHOOKS} HTTP/1.1\r\nhost: localhost\r\napi-key: ${apiKey}\r\nentity-id: ${entityId}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    const readiness = () =>
      fetch(`${served.url}/readyz`).then(
        ({ status }) => status,
        () => null,
      );
    expect(await readiness()).toBe(200);
    const ending = served.stop(signal);
    let last = await readiness();
    while (last === 200) {
      await Bun.sleep(5);
      last = await readiness();
    }
    expect(last).toBeOneOf([503, null]);
    inFlight.write(body.slice(10));
    expect(await inFlight.received('example.com/flight')).toStartWith('HTTP/1.1 201');
    const { exitCode, stdout } = await ending;
    expect(exitCode).toBe(0);
    const messages = logLines(stdout).map((line) => JSON.parse(line).msg);
    expect(messages.filter((message) => message !== 'request')).toEqual(['started', 'stopping', 'stopped']);
    return last === 503;
  }

  test('ends with 0 although a request waits for a receiver that hangs: it is cut off, and the log says so', async () => {
    const asked = Promise.withResolvers<void>();
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: () => {
        asked.resolve();
        return new Promise<Response>(() => undefined);
      },
    });
    cleanUp.push(() => receiver.stop(true));
    // The request of the test would last five minutes, and this test does not wait so long.
    const served = await serve(newFolder(), { ALLOW_INSECURE_TARGETS: 'true', DELIVERY_TIMEOUT: '5m' });
    const headers = { ...printed(served.stdout()).headers, 'content-type': 'application/json' };
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    const body = JSON.stringify({ postUrl, networkIds: [1], events: ['LatePayment'] });
    const registered = await fetch(served.url + WEBHOOKS, { method: 'POST', headers, body });
    const { webhooks } = (await registered.json()) as { webhooks: { webhookId: string }[] };
    const path = `${WEBHOOKS}/${webhooks[0]?.webhookId}/test`;
    const cutOff = rejection(fetch(served.url + path, { method: 'POST', headers: printed(served.stdout()).headers }));
    await asked.promise;
    const { exitCode, stdout } = await served.stop();
    expect(exitCode).toBe(0);
    expect(logLines(stdout).map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 40, pendingRequests: 1, msg: expect.stringContaining('cut off') }),
    );
    await cutOff;
  });

  test('ends with 0 also when the signal comes twice, as from Ctrl-C under npm', async () => {
    const served = await serve(newFolder());
    served.child.kill('SIGINT');
    await Bun.sleep(20);
    expect((await served.stop('SIGINT')).exitCode).toBe(0);
  });

  /** Name servers on loopback that never respond. The resolver gives up after 20 s with one, and after 90 s with four. */
  async function silentNameServers(): Promise<{ servers: string[]; asked: Promise<void> }> {
    const asked = Promise.withResolvers<void>();
    const servers: string[] = [];
    for (let count = 0; count < 4; count++) {
      const names = createSocket('udp4').unref();
      cleanUp.push(() => names.close());
      names.on('message', () => asked.resolve());
      await new Promise<void>((resolve) => names.bind(0, '127.0.0.1', resolve));
      servers.push(`127.0.0.1:${names.address().port}`);
    }
    return { servers, asked: asked.promise };
  }

  test('ends within DELIVERY_TIMEOUT though the lookup of a receiver goes on for 90 s', async () => {
    const { servers, asked } = await silentNameServers();
    const folder = newFolder();
    const preload = join(folder, 'silent-names.ts');
    const script = `import { setServers } from 'node:dns';\nsetServers(${JSON.stringify(servers)});\n`;
    await Bun.write(preload, script);
    const served = await serve(folder, {
      BUN_OPTIONS: `--preload ${preload}`,
      DELIVERY_TIMEOUT: '1s',
      ALLOW_INSECURE_TARGETS: 'true',
    });
    const headers = { ...printed(served.stdout()).headers, 'content-type': 'application/json' };
    const post = (path: string, body: object) =>
      fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const kind = { networkIds: [1], events: ['LatePayment'] };
    expect((await post(WEBHOOKS, { postUrl: 'http://silent.example/', ...kind })).status).toBe(201);
    expect((await post('/api/v1/crypto/events', { networkId: 1, event: 'LatePayment' })).status).toBe(202);
    await asked;
    const stopsAtMs = performance.now();
    expect((await served.stop()).exitCode).toBe(0);
    // Generous: it only has to tell the deadline of the attempt from the end of the lookup.
    expect(performance.now() - stopsAtMs).toBeLessThan(60_000);
  });

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
