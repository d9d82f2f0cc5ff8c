import { afterEach, expect, test } from 'bun:test';
import { commandLineIn, TEST_SECRET_KEY } from '../support/command-line.ts';
import { runPaybell, type Served, servePaybell, tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase, databaseSettings } from '../support/postgres.ts';
import { parseMetrics } from '../support/prometheus.ts';
import { until } from '../support/until.ts';
import { workerPids } from '../support/worker-pids.ts';

const folders: { remove: () => void }[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

async function serveTwo(): Promise<Served> {
  const folder = tempFolder();
  folders.push(folder);
  const url = await createPostgresDatabase();
  return servePaybell(folder.path, {
    ...databaseSettings(url),
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    WORKERS: '2',
  });
}

/** When the workers started, by their own word, in the one text that all of them answer a scrape with. */
async function startsOf({ url }: Served): Promise<Record<string, string>> {
  const { samples } = parseMetrics(await (await fetch(`${url}/metrics`)).text());
  const found = samples.filter(({ name }) => name === 'process_start_time_seconds');
  return Object.fromEntries(found.map(({ labels, value }) => [labels.process, value]));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('two workers share a port, a scrape shows both, one that is killed is replaced, and SIGTERM ends all', async () => {
  const served = await serveTwo();
  await until('both are running', () => workerPids(served).size === 2);
  const before = await startsOf(served);
  expect(Object.keys(before)).toEqual(['1', '2']);
  const killed = workerPids(served).get(2) ?? 0;
  process.kill(killed, 'SIGKILL');
  await until('it is replaced', () => workerPids(served).get(2) !== killed);
  const after = await startsOf(served);
  expect(Object.keys(after)).toEqual(['1', '2']);
  expect({ first: after['1'] === before['1'], second: after['2'] === before['2'] }).toEqual({
    first: true,
    second: false,
  });
  const pids = [...workerPids(served).values()];
  const { exitCode, stdout } = await served.stop();
  expect(exitCode).toBe(0);
  expect(stdout.match(/is listening on/g)).toHaveLength(1);
  expect(stdout).toContain('a worker has ended and is started again');
  expect(pids.filter(isRunning)).toEqual([]);
});

test('workers end when their supervisor is killed', async () => {
  const served = await serveTwo();
  await until('both are running', () => workerPids(served).size === 2);
  served.child.kill('SIGKILL');
  // Throws if one of them goes on running.
  await until('both have ended', () => ![...workerPids(served).values()].some(isRunning));
});

test('a first worker that cannot start ends the service with its own message', async () => {
  const folder = tempFolder();
  folders.push(folder);
  const settings = {
    DATABASE_URL: 'postgres://paybell@127.0.0.1:1/paybell',
    SECRET_KEY: TEST_SECRET_KEY,
    WORKERS: '2',
    PORT: '0',
  };
  const { exitCode, stderr } = await runPaybell(['serve'], folder.path, settings);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('PostgreSQL');
});

test.each(['2', 'auto'])('WORKERS=%s is refused with SQLite', async (WORKERS) => {
  const folder = tempFolder();
  folders.push(folder);
  const { exitCode, stderr } = await commandLineIn(folder.path, { WORKERS })(['serve']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('WORKERS must be 1 with SQLite');
});
