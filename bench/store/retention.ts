import { statSync } from 'node:fs';
import { SQL } from 'bun';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { emptyPages } from '../../src/store/database/sqlite/vacuum.ts';
import { type AgedDelivery, seedAged } from '../../test/support/aged-deliveries.ts';
import { createTenant, type Tenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { servePaybell, tempFolder } from '../../test/support/paybell.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES, type Engine } from '../../test/support/stores.ts';
import { nextSubjects } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * A service with RETENTION=1m on a store of 100,000 old deliveries: the latency of lists before, during and after their
 * removal, and the size of the store. `npx bun bench/store/retention.ts [sqlite|postgres]` takes about two minutes an engine.
 */

const DELIVERIES = 100_000;
/** One in twenty is not completed and stays, a thousand in a row, as an outage leaves them. */
const STAY_EVERY = 20;
const IN_A_ROW = 1_000;
const STAYING = DELIVERIES / STAY_EVERY;
const REQUESTS_PER_SECOND = 50;
const DAY_MS = 86_400_000;
const MAX_SECONDS = 300;
const LISTS = {
  'GET /webhooks/classic': '/webhooks/classic',
  'GET /deliveries': '/deliveries',
  'GET /deliveries (held)': '/deliveries?status=held',
} as const;

type List = keyof typeof LISTS;
type Sample = { list: List; phase: Phase; ms: number };
/** Of the removal. */
type Phase = 'before' | 'during' | 'after';

function agedDeliveries(generation: number): AgedDelivery[] {
  const firstAtMs = Date.now() - DAY_MS + generation * DELIVERIES;
  return Array.from({ length: DELIVERIES }, (_, index) => {
    const stays = Math.floor(index / IN_A_ROW) % STAY_EVERY === 0;
    const held = index % 2 === 0;
    return {
      name: `dlv_${generation}_${String(index).padStart(8, '0')}`,
      status: stays ? (held ? ('held' as const) : ('retrying' as const)) : ('delivered' as const),
      createdAtMs: firstAtMs + index,
      attempts: stays ? 1 : 2,
      body: JSON.stringify({ event: 'LatePayment', networkId: 1, ...nextSubjects(), filler: 'x'.repeat(600) }),
    };
  });
}

/** Requests at a fixed rate, independent of the responses, as independent clients send them. */
function startRequests(url: string, tenant: Tenant, phase: () => Phase | null) {
  const samples: Sample[] = [];
  const headers = { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId };
  const lists = Object.entries(LISTS) as [List, string][];
  let sent = 0;
  const timer = setInterval(async () => {
    const [list, path] = lists[sent++ % lists.length] ?? ['GET /deliveries', ''];
    const during = phase();
    const startedAtMs = performance.now();
    const response = await fetch(`${url}/api/v1/crypto${path}`, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${list} returned ${response.status}`);
    if (during !== null) samples.push({ list, phase: during, ms: performance.now() - startedAtMs });
  }, 1_000 / REQUESTS_PER_SECOND);
  return { samples, stop: () => clearInterval(timer) };
}

function latency(samples: readonly Sample[]): string {
  const ms = samples.map((sample) => sample.ms);
  const at = (share: number) => quantile(ms, share).toFixed(2);
  return `p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)} ms`;
}

function printSamples(samples: readonly Sample[]): void {
  for (const list of Object.keys(LISTS)) {
    for (const phase of ['before', 'during', 'after'] as const) {
      const some = samples.filter((sample) => sample.list === list && sample.phase === phase);
      console.log(
        `${list.padEnd(22)} ${phase.padEnd(7)} ${String(some.length).padStart(5)} requests  ${latency(some)}`,
      );
    }
  }
}

async function sizes(engine: Engine, url: string): Promise<Record<string, number>> {
  if (engine === 'sqlite') {
    const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const file = url.replace('sqlite:', '');
    return { file: bytes(file), wal: bytes(`${file}-wal`) };
  }
  const client = new SQL(url, { max: 1 });
  const rows = await client.unsafe(
    `select relname, pg_total_relation_size(relid) as bytes from pg_stat_user_tables
     where relname in ('deliveries', 'attempts', 'events') order by relname`,
  );
  await client.close();
  return Object.fromEntries(rows.map((row: { relname: string; bytes: string }) => [row.relname, Number(row.bytes)]));
}

function printSizes(when: string, bytes: Record<string, number>): void {
  const parts = Object.entries(bytes).map(([name, size]) => `${name} ${(size / 1024 ** 2).toFixed(1)} MiB`);
  console.log(`${when.padEnd(38)} ${parts.join(', ')}`);
}

/** A first generation for a new tenant; for a tenant that has one, the completed deliveries of a second. */
async function seed(url: string, target: Parameters<typeof openDatabase>[0], tenant: Tenant | null): Promise<Tenant> {
  const db = await openDatabase(target);
  await migrate(db);
  const owner = tenant ?? (await createTenant(db));
  const seeded = ({ status }: AgedDelivery) => tenant === null || status === 'delivered';
  await seedAged(db, owner.entityId, agedDeliveries(tenant === null ? 1 : 2).filter(seeded));
  await db.checkpoint();
  await db.close();
  if (url.startsWith('postgres')) await runOnPostgres(url, 'analyze');
  return owner;
}

async function runOnPostgres(url: string, sql: string): Promise<void> {
  const client = new SQL(url, { max: 1 });
  await client.unsafe(sql);
  await client.close();
}

async function bench(engine: Engine): Promise<void> {
  console.log(`\n### ${engine}`);
  const { target, url, remove } = await createTarget(engine);
  const folder = tempFolder();
  const tenant = await seed(url, target, null);
  printSizes(`with ${DELIVERIES} deliveries`, await sizes(engine, url));
  const settings = {
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    RETENTION: '1m',
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
  };
  const served = await servePaybell(folder.path, { ...settings, LOG_LEVEL: 'warn' });
  const watcher = await openDatabase(target);
  let phase: Phase | null = null;
  const requests = startRequests(served.url, tenant, () => phase);
  const count = async (table: string) =>
    Number((await watcher.get<{ total: number }>(`select count(*) as total from ${table}`))?.total ?? 0);
  await Bun.sleep(2_000);
  phase = 'before';
  for (let second = 0; second < MAX_SECONDS && (await count('deliveries')) === DELIVERIES; second++)
    await Bun.sleep(250);
  phase = 'during';
  const startedAtMs = performance.now();
  for (let second = 0; second < MAX_SECONDS && (await count('events')) > STAYING; second++) await Bun.sleep(1_000);
  console.log(`Removed in ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`);
  for (let second = 0; engine === 'sqlite' && second < MAX_SECONDS && (await emptyPages(watcher)) > 0; second++) {
    await Bun.sleep(1_000);
  }
  console.log(`Space returned after ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`);
  phase = null;
  console.log(`Remaining: ${await count('deliveries')} deliveries, ${await count('attempts')} attempts`);
  phase = 'after';
  await Bun.sleep(10_000);
  requests.stop();
  printSamples(requests.samples);
  await watcher.close();
  await served.stop();
  // Twice, as autovacuum would: the second run frees the index pages that the first one emptied.
  if (engine === 'postgres') for (const sql of ['vacuum', 'vacuum']) await runOnPostgres(url, sql);
  printSizes('after the removal', await sizes(engine, url));
  await seed(url, target, tenant);
  printSizes(`with ${DELIVERIES} deliveries again`, await sizes(engine, url));
  remove();
  folder.remove();
}

for (const engine of ENGINES) if (process.argv[2] === undefined || process.argv[2] === engine) await bench(engine);
await stopPostgres();
