import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import { eventListQuerySchema } from '../../src/contract/events/accepted-event.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listDeliveries } from '../../src/store/deliveries/read.ts';
import { listEvents } from '../../src/store/events/read.ts';
import { createTenant, type Tenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { servePaybell, tempFolder } from '../../test/support/paybell.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES, type Engine } from '../../test/support/stores.ts';
import { register } from '../../test/support/webhooks.ts';
import { quantile } from '../harness/rounds.ts';
import { type Case, cases } from './list-filters.ts';
import { type Filled, fillDeliveries } from './many-deliveries.ts';

/**
 * Lists of one entity with a million deliveries: the time of each filter and sort, first page and deep, and what they do
 * to the webhook list of a neighbour. The median of the rounds counts. `npx bun bench/store/lists-at-scale.ts --deliveries 1000000 --store sqlite`
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '1000000' },
    store: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
});
const DELIVERIES = Number(values.deliveries);
const ROUNDS = Number(values.rounds);
const GOAL_MS = 50;

type Timing = { ms: number; total: number | null; refusal: string | null };

async function time(db: Database, entityId: string, { list, query }: Case, page: number): Promise<Timing> {
  const tookMs: number[] = [];
  let total: number | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAtMs = performance.now();
    try {
      const given = { ...query, page: String(page) };
      const found =
        list === 'deliveries'
          ? await listDeliveries(db, entityId, deliveryListQuerySchema.parse(given))
          : await listEvents(db, entityId, eventListQuerySchema.parse(given));
      total = found.totalResults;
    } catch (error) {
      const refusal = error instanceof DomainError ? error.kind : String(error);
      return { ms: performance.now() - startedAtMs, total, refusal };
    }
    tookMs.push(performance.now() - startedAtMs);
    // Far beyond the goal, one measurement says enough.
    if ((tookMs[0] ?? 0) > 20 * GOAL_MS) break;
  }
  return { ms: quantile(tookMs, 0.5), total, refusal: null };
}

const shown = ({ ms, refusal }: Timing) => `${ms.toFixed(1)}${refusal === null ? '' : ` (${refusal})`}`;

async function timeLists(db: Database, entityId: string, filled: Filled): Promise<void> {
  const rows: string[][] = [];
  const slow: string[] = [];
  for (const each of cases(filled)) {
    const first = await time(db, entityId, each, 1);
    const pages = Math.ceil((first.total ?? DELIVERIES) / 25);
    const deep = pages < 4 ? null : await time(db, entityId, each, Math.ceil(pages * 0.4));
    for (const [page, timing] of Object.entries({ first, deep })) {
      if (timing !== null && timing.ms > GOAL_MS) slow.push(`${each.name}, ${page} page: ${shown(timing)} ms`);
    }
    rows.push([each.name, String(first.total ?? ''), shown(first), deep === null ? '' : shown(deep)]);
  }
  printTable(['list', 'matches', 'first page, ms', 'page at 40 %, ms'], rows, 'nothing was measured');
  printLine(`${slow.length} pages of ${rows.length} lists above ${GOAL_MS} ms on ${db.engine}`);
  for (const one of slow) printLine(`  ${one}`);
}

const NEIGHBOUR_SECONDS = 20;
const NEIGHBOUR_EVERY_MS = 10;
const CLIENTS = 4;

/** Webhook lists of a neighbour at a fixed rate, alone and while the large entity's clients walk through its lists. */
async function timeNeighbour(url: string, large: Tenant, neighbour: Tenant, filled: Filled): Promise<void> {
  const folder = tempFolder();
  // Without delivery: the URLs of the large entity lead nowhere.
  const settings = {
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    RATE_LIMIT: 'off',
    ROLE: 'api',
    LOG_LEVEL: 'error',
  };
  const served = await servePaybell(folder.path, settings);
  const headers = ({ apiKey, entityId }: Tenant) => ({ 'api-key': apiKey, 'entity-id': entityId });
  const paths = cases(filled).map(({ list, query }) => `/${list}?${new URLSearchParams(query)}`);
  let isLoaded = false;
  const walk = async (client: number) => {
    for (let at = client; isLoaded; at += CLIENTS) {
      const response = await fetch(`${served.url}/api/v1/crypto${paths[at % paths.length]}`, {
        headers: headers(large),
      });
      await response.arrayBuffer();
    }
  };
  const measure = async () => {
    const tookMs: Promise<number>[] = [];
    for (let sent = 0; sent < (NEIGHBOUR_SECONDS * 1_000) / NEIGHBOUR_EVERY_MS; sent++) {
      const startedAtMs = performance.now();
      const response = fetch(`${served.url}/api/v1/crypto/webhooks/classic?page=1`, { headers: headers(neighbour) });
      tookMs.push(response.then((r) => r.arrayBuffer()).then(() => performance.now() - startedAtMs));
      await Bun.sleep(NEIGHBOUR_EVERY_MS);
    }
    return Promise.all(tookMs);
  };
  const report = (name: string, ms: readonly number[]) =>
    printLine(
      `${name}: p50 ${quantile(ms, 0.5).toFixed(1)}, p99 ${quantile(ms, 0.99).toFixed(1)}, max ${Math.max(...ms).toFixed(1)} ms`,
    );
  await measure();
  report('neighbour alone', await measure());
  isLoaded = true;
  const clients = Array.from({ length: CLIENTS }, (_, client) => walk(client));
  report(`neighbour beside ${CLIENTS} clients`, await measure());
  isLoaded = false;
  await Promise.all(clients);
  report('neighbour alone', await measure());
  await served.stop();
  folder.remove();
}

async function bench(engine: Engine): Promise<void> {
  const { target, url, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const [large, neighbour] = [await createTenant(db), await createTenant(db)];
  await register(db, neighbour.entityId, 'https://example.com/hook', [{ networkId: 1, event: 'LatePayment' }]);
  const filled = await fillDeliveries(db, large.entityId, DELIVERIES, (done) =>
    process.stderr.write(`\r${engine}: ${done.toLocaleString('en')} deliveries`),
  );
  process.stderr.write('\n');
  await db.checkpoint();
  if (engine === 'postgres') {
    const client = new SQL(url, { max: 1 });
    await client.unsafe('vacuum analyze');
    await client.close();
  }
  printLine(`\n### ${engine}, ${DELIVERIES.toLocaleString('en')} deliveries`);
  await timeLists(db, large.entityId, filled);
  await db.close();
  await timeNeighbour(url, large, neighbour, filled);
  remove();
}

if (import.meta.main) {
  for (const engine of ENGINES) {
    if (values.store === undefined || values.store === engine) await bench(engine);
  }
  await stopPostgres();
}
