import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { freePort } from '../../test/support/free-port.ts';
import { tempBase } from '../../test/support/temp-base.ts';
import { until } from '../../test/support/until.ts';

/**
 * Runs a Citus cluster on this machine until it is interrupted: a coordinator and workers on loopback, in a folder that the end
 * removes. It needs the programs of a PostgreSQL server whose extensions include Citus.
 *
 *   npx bun bench/scale/citus-cluster.ts --bin "$(pg_config --bindir)" --workers 2
 */

const { values } = parseArgs({
  options: {
    bin: { type: 'string', default: '' },
    workers: { type: 'string', default: '2' },
    /** PostgreSQL does not run as root, and runs as this user then. */
    user: { type: 'string', default: 'postgres' },
  },
});

const WORKERS = Number(values.workers);
if (values.bin === '' || !Number.isInteger(WORKERS) || WORKERS < 1 || WORKERS > 8) {
  console.error('--bin names the folder of initdb and postgres, and --workers a number from 1 to 8');
  process.exit(2);
}

const SETTINGS = [
  ...['shared_preload_libraries=citus', 'wal_level=logical', 'listen_addresses=127.0.0.1', 'max_connections=300'],
  ...[
    'unix_socket_directories=',
    'log_min_messages=fatal',
    'citus.shard_count=8',
    'citus.enable_statistics_collection=off',
    'max_prepared_transactions=300',
    // Citus has one for each database, and the tests have many.
    'max_worker_processes=64',
  ],
];

const owner = process.getuid?.() === 0 ? await readOwner(values.user) : null;
const folder = mkdtempSync(join(tempBase(), 'paybell-citus-'));
if (owner !== null) chownSync(folder, owner.uid, owner.gid);

type Server = { readonly port: number; readonly end: () => Promise<void> };

async function readOwner(name: string): Promise<{ uid: number; gid: number }> {
  const idOf = async (flag: string) => Number(await new Response(Bun.spawn(['id', flag, name]).stdout).text());
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

function start(program: string, args: readonly string[]) {
  // Servers connect to each other as clients, which look for certificates at home.
  const env = { ...process.env, HOME: folder };
  return spawn(join(values.bin, program), args, { ...owner, env, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function startServer(name: string): Promise<Server> {
  const data = join(folder, name);
  mkdirSync(data, { mode: 0o700 });
  if (owner !== null) chownSync(data, owner.uid, owner.gid);
  const [code] = await once(start('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-N', '-E', 'UTF8']), 'exit');
  if (code !== 0) throw new Error(`initdb of ${name} ended with ${code}`);
  const port = freePort();
  const settings = [...SETTINGS, `port=${port}`].flatMap((setting) => ['-c', setting]);
  const child = start('postgres', ['-D', data, ...settings]);
  const exited = once(child, 'exit');
  await until(`${name} accepts connections`, () =>
    run(port, 'select 1').then(
      () => true,
      () => false,
    ),
  );
  await run(port, 'create extension citus');
  const end = async () => {
    child.kill('SIGINT');
    await exited;
  };
  return { port, end };
}

function urlOf(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

async function run(port: number, sql: string): Promise<void> {
  const client = new SQL(urlOf(port), { max: 1 });
  try {
    await client.unsafe(sql);
  } finally {
    await client.close({ timeout: 0 });
  }
}

const servers: Server[] = [];
try {
  const coordinator = await startServer('coordinator');
  servers.push(coordinator);
  await run(coordinator.port, `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
  for (let index = 1; index <= WORKERS; index++) {
    const worker = await startServer(`worker-${index}`);
    servers.push(worker);
    await run(coordinator.port, `select citus_add_node('127.0.0.1', ${worker.port})`);
    printLine(`worker ${index}: port ${worker.port}`);
  }
  printLine(`export TEST_CITUS_URL=${urlOf(coordinator.port)}`);
  await new Promise<void>((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
} finally {
  for (const { end } of servers.reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
}
