import { withStore } from '../../faults/harness/store-audit.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { createTenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { seedFilteredWebhooks } from '../../test/support/filtered-webhooks.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * One entity has thousands of webhooks with different `amount` filters and publishes events, one of them with an amount of
 * 250,000 digits. Another entity lists its webhooks all the time: how long did its slowest list take?
 * `npx bun bench/delivery/filters.ts 3000 10000`
 */

const FILTERS = process.argv.slice(2).map(Number);
const KIND = { networkId: 1, event: 'TransferCreated' };
const PAUSE_MS = 5;
const MOST_MS = 60_000;
const LIST = '/webhooks/classic?limit=25';

async function measure(engine: Engine, filters: number): Promise<string[][]> {
  const settings = { SECRET_KEY: TEST_SECRET_KEY, ENTITY_WEBHOOK_LIMIT: '1000000', LOG_LEVEL: 'error' };
  const instances = await Instances.on(engine, settings);
  try {
    const { client, served } = await instances.start();
    const neighbour = await withStore(instances.databaseUrl, async (db) => {
      await seedFilteredWebhooks(db, instances.credentials.entityId, KIND, filters);
      return createTenant(db);
    });
    const other = new Client(served.url, { entityId: neighbour.entityId, apiKey: neighbour.apiKey });
    await other.request('GET', LIST);
    const rows: string[][] = [];
    for (const digits of [20, 250_000, 250_000])
      rows.push([engine, String(filters), ...(await publish(client, other, digits))]);
    return rows;
  } finally {
    await instances.stop();
  }
}

/** The digits, the time until the event was acknowledged, and the lists of the neighbour during that time and a second more. */
async function publish(client: Client, neighbour: Client, digits: number): Promise<string[]> {
  const listMs: number[] = [];
  let isOver = false;
  const listing = (async () => {
    while (!isOver) {
      const startMs = performance.now();
      await neighbour.request('GET', LIST);
      listMs.push(performance.now() - startMs);
      await Bun.sleep(PAUSE_MS);
    }
  })();
  await Bun.sleep(500);
  const startMs = performance.now();
  const payload = {
    ...KIND,
    eventId: crypto.randomUUID(),
    amount: '9'.repeat(digits),
    transferId: crypto.randomUUID(),
  };
  const publishing = client.request('POST', '/events', JSON.stringify(payload)).then(({ status }) => String(status));
  const status = await Promise.race([publishing, Bun.sleep(MOST_MS).then(() => 'none')]);
  const acknowledgedMs = performance.now() - startMs;
  await Bun.sleep(1_000);
  isOver = true;
  await listing;
  const ms = (value: number) => value.toFixed(1);
  return [
    String(digits),
    status,
    ms(acknowledgedMs),
    String(listMs.length),
    ms(quantile(listMs, 0.99)),
    ms(Math.max(...listMs)),
  ];
}

await runAndExit(async () => {
  const rows: string[][] = [];
  for (const engine of ENGINES) {
    for (const filters of FILTERS.length === 0 ? [3_000, 10_000] : FILTERS)
      rows.push(...(await measure(engine, filters)));
  }
  printTable(['engine', 'filters', 'digits', 'status', 'acknowledged ms', 'lists', 'p99 ms', 'slowest ms'], rows, '');
  await stopPostgres();
  return 0;
});
