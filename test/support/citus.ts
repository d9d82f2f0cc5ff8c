import { readFileSync } from 'node:fs';
import { SQL } from 'bun';
import { distribute } from '../../src/store/database/distribution.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { CITUS, settingOf } from './requirements.ts';

/** The coordinator of a Citus cluster, or null: the tests on PostgreSQL run on one server then. */
export const CITUS_URL = settingOf(CITUS);

/** Few, because every test file distributes all tables. */
const SHARDS = 4;

/** Makes the database of the same name on every worker of the cluster, and one cluster of them. */
export async function addWorkers(adminUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const nodes = await once(adminUrl, 'select nodename, nodeport, groupid from pg_dist_node order by groupid');
  const urlOf = (node: Node, database: string) => {
    const at = new URL(adminUrl);
    [at.hostname, at.port, at.pathname] = [node.nodename, String(node.nodeport), `/${database}`];
    return at.href;
  };
  for (const node of nodes.filter(({ groupid }) => groupid !== 0)) {
    await once(urlOf(node, 'postgres'), `create database ${name}`);
    await once(urlOf(node, name), 'create extension if not exists citus');
  }
  await once(url, 'create extension if not exists citus');
  await once(url, `alter database ${name} set citus.shard_count = ${SHARDS}`);
  for (const { nodename, nodeport, groupid } of nodes) {
    const add = groupid === 0 ? 'citus_set_coordinator_host' : 'citus_add_node';
    await once(url, `select ${add}('${nodename}', ${nodeport})`);
  }
}

/** As `paybell migrate --distribute` does. */
export async function distributeStore(url: string): Promise<void> {
  const db = await openDatabase({ engine: 'postgres', url, deadlineMs: 60_000 });
  try {
    await migrate(db);
    await distribute(db);
  } finally {
    await db.close();
  }
}

/** Suspends a server on this machine with all its processes: it accepts connections and answers nothing. Returns what ends that. */
export async function suspendServer(url: string): Promise<() => void> {
  const [file] = await once<{ text: string }>(url, `select pg_read_file('postmaster.pid') as text`);
  const server = Number.parseInt(file?.text ?? '', 10);
  const signal = (name: 'SIGSTOP' | 'SIGCONT', processes: readonly number[]) => {
    for (const pid of processes) process.kill(pid, name);
  };
  // The server first, so that it starts no others.
  signal('SIGSTOP', [server]);
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ').map(Number);
  signal('SIGSTOP', children);
  return () => signal('SIGCONT', [...children, server]);
}

type Node = { nodename: string; nodeport: number; groupid: number };

async function once<Row = Node>(url: string, sql: string): Promise<Row[]> {
  const client = new SQL(url, { max: 1 });
  try {
    return Array.from<Row>(await client.unsafe(sql));
  } finally {
    await client.close({ timeout: 0 });
  }
}
