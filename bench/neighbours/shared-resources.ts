import { parseArgs } from 'node:util';
import { withStore } from '../../faults/harness/store-audit.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { createTenant } from '../../test/support/api.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { seedDeliveries, seedEvents } from '../../test/support/seed-deliveries.ts';
import { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { seedWebhooks } from '../../test/support/webhooks.ts';
import { quantile } from '../harness/rounds.ts';
import { FLOODS, type Flood, type Loud } from './floods.ts';

/**
 * One entity floods a resource that all entities share, with rate limits off. A neighbour lists its webhooks and its deliveries and publishes events
 * all the time. How long do its requests take? `npx bun bench/neighbours/shared-resources.ts --seconds 10`, `--only feeds` for one
 * resource, `--store sqlite` for one engine.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    events: { type: 'string', default: '50000' },
    only: { type: 'string' },
    store: { type: 'string' },
  },
});
const PHASE_MS = Number(values.seconds) * 1_000;
const EVENTS = Number(values.events);
const KIND = { networkId: 1, event: 'TransferCreated' };
const FAN_OUT_WEBHOOKS = 2_000;
const PAUSE_MS = 10;
const DAY_MS = 86_400_000;

const REQUESTS = {
  webhooks: (client: Client) => client.request('GET', '/webhooks/classic?limit=25'),
  deliveries: (client: Client) => client.request('GET', '/deliveries?limit=25'),
  event: (client: Client) =>
    client.request('POST', '/events', JSON.stringify({ ...KIND, eventId: crypto.randomUUID(), amount: '1' })),
} as const;
type Name = keyof typeof REQUESTS;

async function measure(engine: Engine): Promise<string[][]> {
  await using receiver = new Ledger();
  const settings = { SECRET_KEY: TEST_SECRET_KEY, LOG_LEVEL: 'error', FEED_LIMIT: '200' };
  const instances = await Instances.on(engine, settings);
  try {
    const { client, served } = await instances.start();
    const { entityId, tenant } = await withStore(instances.databaseUrl, async (db) => {
      await seed(db, instances.credentials.entityId, receiver.url());
      return { entityId: instances.credentials.entityId, tenant: await createTenant(db) };
    });
    const neighbour = new Client(served.url, { entityId: tenant.entityId, apiKey: tenant.apiKey });
    await neighbour.register(receiver.url(), [KIND.event]);
    const loud: Loud = { client, entityId, day: new Date(Date.now() - DAY_MS).toISOString().slice(0, 10) };
    const rows: string[][] = [];
    for (const flood of FLOODS.filter(({ name }) => values.only === undefined || name.includes(values.only))) {
      rows.push([engine, flood.name, ...(await during(flood, loud, neighbour))]);
      printLine(rows.at(-1)?.join('  ') ?? '');
    }
    return rows;
  } finally {
    await instances.stop();
  }
}

/** The loud entity has a day of events with their deliveries, and one kind of event that goes to 2,000 webhooks. */
async function seed(db: Parameters<typeof seedEvents>[0], entityId: string, postUrl: string): Promise<void> {
  const many = Array.from({ length: FAN_OUT_WEBHOOKS }, (_, at) => ({
    ...{ networkId: 1, event: 'TransferProcessed', postUrl: `${postUrl}/${at}` },
  }));
  const webhooks = await seedWebhooks(db, entityId, [{ ...KIND, postUrl }, ...many]);
  const webhookId = webhooks[0]?.webhookId ?? '';
  const startMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
  const events = Array.from({ length: EVENTS }, (_, at) => ({
    ...{ ...KIND, createdAtMs: startMs + Math.floor((at * DAY_MS) / EVENTS), eventId: `seeded-${at}` },
    body: JSON.stringify({ ...KIND, eventId: `seeded-${at}`, amount: String(at), note: 'x'.repeat(200) }),
  }));
  const numbers = await seedEvents(db, entityId, events);
  const delivered = { ...KIND, status: 'delivered' as const, postUrl, webhookId, attempts: 1, statusCode: 200 };
  const rows = events.map(({ createdAtMs }, at) => ({
    ...{ ...delivered, createdAtMs, endedAtMs: createdAtMs + 50, eventNo: numbers[at] ?? '' },
  }));
  await seedDeliveries(db, entityId, rows);
}

/** The quantiles of each request of the neighbour, and the requests of the flood in that time. */
async function during(flood: Flood, loud: Loud, neighbour: Client): Promise<string[]> {
  const stop = new AbortController();
  const flooding = flood.start(loud, stop.signal);
  await Bun.sleep(1_000);
  const times = new Map<Name, number[]>();
  let failures = 0;
  const endMs = performance.now() + PHASE_MS;
  const names = Object.keys(REQUESTS) as Name[];
  await Promise.all(
    names.map(async (name) => {
      const own: number[] = [];
      times.set(name, own);
      while (performance.now() < endMs) {
        const startMs = performance.now();
        const response = await REQUESTS[name](neighbour);
        await response.arrayBuffer();
        if (!response.ok) failures++;
        own.push(performance.now() - startMs);
        await Bun.sleep(PAUSE_MS);
      }
    }),
  );
  stop.abort();
  const requests = await flooding;
  const show = (name: Name) => {
    const own = times.get(name) ?? [];
    return `${quantile(own, 0.5).toFixed(1)} / ${quantile(own, 0.99).toFixed(1)} / ${Math.max(...own).toFixed(0)}`;
  };
  return [...names.map(show), String(failures), String(requests)];
}

await runAndExit(async () => {
  const rows: string[][] = [];
  for (const engine of ENGINES.filter((one) => values.store === undefined || one === values.store))
    rows.push(...(await measure(engine)));
  printLine('Milliseconds of the neighbour: median / 99th percentile / slowest.');
  printTable(['engine', 'flood', 'webhooks', 'deliveries', 'event', 'failed', 'requests of the flood'], rows, '');
  await stopPostgres();
  return 0;
});
