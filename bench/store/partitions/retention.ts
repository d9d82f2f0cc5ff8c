import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../../src/cli/terminal/output.ts';
import { printTable } from '../../../src/cli/terminal/table.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { makeAhead } from '../../../src/store/database/partitions/ahead.ts';
import { partitionTables } from '../../../src/store/database/partitions/convert.ts';
import { DAY_MS, startOfDay } from '../../../src/store/database/partitions/layout.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { call, type Tenant, testApp } from '../../../test/support/api.ts';
import { nextSubjects } from '../../harness/event-bodies.ts';
import { createPostgresDatabase, stopPostgres } from '../../harness/postgres.ts';
import { quantile } from '../../harness/rounds.ts';
import { addTenants, fill } from './fill.ts';

/**
 * Retention of one day of deliveries, by batches and by dropping its partitions: how long it takes, the WAL, what is left on the
 * disk, and how long a neighbour waits that accepts events and reads lists meanwhile. With `--named`, every event has an id that
 * its sender chose. `npx bun bench/store/partitions/retention.ts --deliveries 200000`
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '200000' },
    tenants: { type: 'string', default: '20' },
    way: { type: 'string' },
    named: { type: 'boolean', default: false },
  },
});
const DELIVERIES = Number(values.deliveries);
const WAYS = ['batches', 'days'] as const;
type Way = (typeof WAYS)[number];

const IDLE_MS = 10_000;
const EVERY_MS = 50;
const HOUR_MS = 3_600_000;
const MIB = 1024 ** 2;

const API = '/api/v1/crypto';
const newBody = () => ({ event: 'LatePayment', networkId: 1, ...nextSubjects(), memo: 'x'.repeat(400) });

/** One after the other at a fixed rate, of an entity that has no old deliveries. */
function startNeighbour(db: Database, tenant: Tenant) {
  const app = testApp(db);
  const samples: Record<'accept' | 'list', number[]> = { accept: [], list: [] };
  let sent = 0;
  let refused = 0;
  const timer = setInterval(async () => {
    const name = sent++ % 2 === 0 ? 'accept' : 'list';
    const startedAtMs = performance.now();
    const response =
      name === 'accept'
        ? await call(app, tenant, `${API}/events`, { json: newBody() })
        : await call(app, tenant, `${API}/deliveries`);
    await response.arrayBuffer();
    if (response.status >= 500) refused++;
    else if (response.status >= 300) throw new Error(`${name} returned ${response.status}`);
    samples[name].push(performance.now() - startedAtMs);
  }, EVERY_MS);
  return {
    take: () => {
      const taken = { accept: samples.accept, list: samples.list, refused };
      refused = 0;
      samples.accept = [];
      samples.list = [];
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}

const at = (ms: readonly number[]) =>
  `${quantile(ms, 0.5).toFixed(1)} / ${quantile(ms, 0.99).toFixed(1)} / ${quantile(ms, 1).toFixed(0)}`;

async function measure(way: Way): Promise<string[][]> {
  const url = await createPostgresDatabase();
  const db = await openDatabase({ engine: 'postgres', url });
  await migrate(db);
  const client = new SQL(url, { max: 1 });
  const dayMs = startOfDay(Date.now()) + 4 * DAY_MS;
  if (way === 'days') {
    await partitionTables(db);
    await makeAhead(db);
  }
  const [neighbour, ...tenants] = await addTenants(db, Number(values.tenants) + 1);
  if (neighbour === undefined) throw new Error('there is no neighbour');
  const fromMs = dayMs;
  await fill(db, client, { deliveries: DELIVERIES, fromMs, toMs: dayMs + DAY_MS, tenants, isNamed: values.named });
  // As autovacuum does in the course of a day: the first to read new pages writes them again, and all of that into the WAL.
  await client.unsafe('vacuum');
  await client.unsafe('checkpoint');
  const bytes = async () => Number((await client.unsafe('select pg_database_size(current_database()) as n'))[0].n);
  const wal = async () => Number((await client.unsafe(`select pg_current_wal_lsn() - '0/0'::pg_lsn as n`))[0].n);
  const requests = startNeighbour(db, neighbour);
  await Bun.sleep(IDLE_MS);
  const idle = requests.take();
  const [bytesBefore, walBefore] = [await bytes(), await wal()];
  const startedAtMs = performance.now();
  const pruned = await prune(db, {
    olderThanMs: HOUR_MS,
    batches: new PacedBatches('postgres', PAUSE.background),
    keepsDays: true,
    nowMs: dayMs + DAY_MS + 2 * HOUR_MS,
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const busy = requests.take();
  requests.stop();
  const [bytesAfter, walAfter] = [await bytes(), await wal()];
  await Bun.sleep(500);
  await client.close();
  await db.close();
  printLine(`${way}: ${JSON.stringify(pruned)}`);
  return [
    ['seconds', seconds.toFixed(1)],
    ['WAL, MiB', ((walAfter - walBefore) / MIB).toFixed(1)],
    ['on the disk before, MiB', (bytesBefore / MIB).toFixed(0)],
    ['on the disk after, MiB', (bytesAfter / MIB).toFixed(0)],
    ['accept, idle: p50 / p99 / most, ms', at(idle.accept)],
    ['accept, meanwhile', at(busy.accept)],
    ['list, idle', at(idle.list)],
    ['list, meanwhile', at(busy.list)],
    ['refused with 503, idle and meanwhile', `${idle.refused}, ${busy.refused}`],
  ];
}

const ways = WAYS.filter((way) => values.way === undefined || values.way === way);
const results: string[][][] = [];
for (const way of ways) results.push(await measure(way));
printTable(
  ['', ...ways],
  (results[0] ?? []).map(([name = ''], row) => [name, ...results.map((result) => result[row]?.[1] ?? '')]),
  '',
);
await stopPostgres();
