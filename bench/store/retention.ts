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

/**
 * A service with RETENTION=1m on a store of 100,000 old deliveries: what lists cost before, while and after it removes
 * them, and what becomes of the space. `npx bun bench/store/retention.ts [sqlite|postgres]`, about two minutes an engine.
 */

const DELIVERIES = 100_000;
/** One in twenty is still on its way and stays, as an outage leaves them: a thousand of them in a row. */
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
type Phase = 'quiet before' | 'while removing' | 'quiet after';

function agedDeliveries(generation: number): AgedDelivery[] {
  const body = JSON.stringify({ event: 'LatePayment', networkId: 1, filler: 'x'.repeat(600) });
  const bornAtMs = Date.now() - DAY_MS + generation * DELIVERIES;
  return Array.from({ length: DELIVERIES }, (_, index) => {
    const stays = Math.floor(index / IN_A_ROW) % STAY_EVERY === 0;
    const held = index % 2 === 0;
    return {
      id: `dlv_${generation}_${String(index).padStart(8, '0')}`,
      status: stays ? (held ? ('held' as const) : ('retrying' as const)) : ('delivered' as const),
      createdAtMs: bornAtMs + index,
      dueMs: stays && !held ? Date.now() + DAY_MS : null,
      attempts: stays ? 1 : 2,
      body,
    };
  });
}

/** Requests at a steady rate, whatever they take, as independent clients send them. */
function startRequests(url: string, tenant: Tenant, phase: () => Phase | null) {
  const samples: Sample[] = [];
  const headers = { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId };
  const lists = Object.entries(LISTS) as [List, string][];
  let sent = 0;
  const timer = setInterval(async () => {
    const [list, path] = lists[sent++ % lists.length] ?? ['GET /deliveries', ''];
    const during = phase();
    const startedAtMs = performance.now();
    const answer = await fetch(`${url}/api/v1/crypto${path}`, { headers });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${list} answered ${answer.status}`);
    if (during !== null) samples.push({ list, phase: during, ms: performance.now() - startedAtMs });
  }, 1_000 / REQUESTS_PER_SECOND);
  return { samples, stop: () => clearInterval(timer) };
}

function quantile(samples: readonly Sample[], share: number): string {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b);
  return (sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0).toFixed(2);
}

function printSamples(samples: readonly Sample[]): void {
  for (const list of Object.keys(LISTS)) {
    for (const phase of ['quiet before', 'while removing', 'quiet after'] as const) {
      const some = samples.filter((sample) => sample.list === list && sample.phase === phase);
      console.log(
        `${list.padEnd(22)} ${phase.padEnd(15)} ${String(some.length).padStart(5)} requests` +
          `  p50 ${quantile(some, 0.5)}  p99 ${quantile(some, 0.99)}  max ${quantile(some, 1)} ms`,
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

/** A first generation for a new tenant; for one that has had it the settled ones of a second. */
async function seed(url: string, target: Parameters<typeof openDatabase>[0], tenant: Tenant | null): Promise<Tenant> {
  const db = await openDatabase(target);
  await migrate(db);
  const owner = tenant ?? (await createTenant(db));
  const settledOnly = ({ status }: AgedDelivery) => tenant === null || status === 'delivered';
  await seedAged(db, owner.entityId, agedDeliveries(tenant === null ? 1 : 2).filter(settledOnly));
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
  const settings = { DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY, RETENTION: '1m', RATE_LIMIT: 'off' };
  const served = await servePaybell(folder.path, { ...settings, LOG_LEVEL: 'warn' });
  const watcher = await openDatabase(target);
  let phase: Phase | null = null;
  const requests = startRequests(served.url, tenant, () => phase);
  const count = async (table: string) =>
    Number((await watcher.get<{ total: number }>(`select count(*) as total from ${table}`))?.total ?? 0);
  await Bun.sleep(2_000);
  phase = 'quiet before';
  for (let second = 0; second < MAX_SECONDS && (await count('deliveries')) === DELIVERIES; second++)
    await Bun.sleep(250);
  phase = 'while removing';
  const startedAtMs = performance.now();
  for (let second = 0; second < MAX_SECONDS && (await count('events')) > STAYING; second++) await Bun.sleep(1_000);
  console.log(`removed in ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`);
  for (let second = 0; engine === 'sqlite' && second < MAX_SECONDS && (await emptyPages(watcher)) > 0; second++) {
    await Bun.sleep(1_000);
  }
  console.log(`done in ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s, with the space`);
  phase = null;
  console.log(`left: ${await count('deliveries')} deliveries, ${await count('attempts')} attempts`);
  phase = 'quiet after';
  await Bun.sleep(10_000);
  requests.stop();
  printSamples(requests.samples);
  await watcher.close();
  await served.stop();
  // Autovacuum comes again and again: the second time frees the index pages that the first one emptied.
  if (engine === 'postgres') for (const sql of ['vacuum', 'vacuum']) await runOnPostgres(url, sql);
  printSizes('after it', await sizes(engine, url));
  await seed(url, target, tenant);
  printSizes(`with ${DELIVERIES} deliveries again`, await sizes(engine, url));
  remove();
  folder.remove();
}

for (const engine of ENGINES) if (process.argv[2] === undefined || process.argv[2] === engine) await bench(engine);
await stopPostgres();
