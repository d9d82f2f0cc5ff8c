import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { median, quantile } from '../harness/rounds.ts';
import { type LedgerReceivers, startLedgerReceivers } from './ledger-receivers.ts';

/**
 * Many destinations, of which one never responds and has a long backlog: the latency of the events for the others, from
 * sent to received, compared with a second service without that backlog. `--dead` adds destinations that refuse
 * connections, each with one delivery that waits for its retry.
 * `npx bun bench/delivery/isolation.ts --destinations 1000 --webhooks 10000 --waiting 100000 --dead 0`
 */

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '8' },
    destinations: { type: 'string', default: '200' },
    webhooks: { type: 'string', default: '200' },
    waiting: { type: 'string', default: '5000' },
    dead: { type: 'string', default: '0' },
    store: { type: 'string' },
  },
});
const DESTINATIONS = Number(values.destinations);
/** Each on a network of its own, so that one event is one delivery. */
const WEBHOOKS_EACH = Math.floor(Number(values.webhooks) / DESTINATIONS);
const HANGING = 0;
const WAITING = Number(values.waiting);
const DEAD = Number(values.dead);
const BATCH = 1_000;
const TARGET = 1.5;
const EVENTS = Number(values.rate) * Number(values.seconds);
const EVENTS_WARM_UP = 500;

/** When each event was sent, by its id. */
type SentAtMs = Map<string, number>;
type Figures = { medianMs: number; p99Ms: number; worstMs: number };

type Side = { client: Client; receivers: LedgerReceivers; stop: () => Promise<void> };

async function startSide(engine: Engine): Promise<Side> {
  const receivers = await startLedgerReceivers({ receivers: DESTINATIONS, hanging: HANGING });
  // With dead destinations the retry is an hour away, so that it does not run during the measurement.
  const schedule = DEAD > 0 ? { RETRY_SCHEDULE: '0s,1h' } : {};
  const instances = await Instances.on(engine, { ENTITY_WEBHOOK_LIMIT: '1000000', ...schedule });
  const stop = async () => {
    await instances.stop();
    await receivers.stop();
  };
  const { client } = await instances.start();
  for (const [index, url] of receivers.urls.entries()) await client.register(url, [KIND], networksOf(index));
  return { client, receivers, stop };
}

function networksOf(destination: number): number[] {
  return Array.from({ length: WEBHOOKS_EACH }, (_, index) => destination * WEBHOOKS_EACH + index);
}

/** Both at the same time, with events sent to each in alternation, so that other work on the machine affects both alike. */
async function measure(engine: Engine, round: number): Promise<{ without: Figures; with: Figures }> {
  const sides = [await startSide(engine), await startSide(engine)] as const;
  // The order of starting may matter, so it alternates.
  const [healthy, burdened] = round % 2 === 0 ? sides : ([sides[1], sides[0]] as const);
  try {
    const clients = [healthy.client, burdened.client] as const;
    await sendSteadily(clients, EVENTS_WARM_UP, 'warm-up');
    await fillDead(burdened.client);
    await fillHanging(burdened.client, burdened.receivers);
    const [sentToHealthy, sentToBurdened] = await sendSteadily(clients, EVENTS, 'measured');
    return {
      without: await figuresOf(sentToHealthy, healthy.receivers),
      with: await figuresOf(sentToBurdened, burdened.receivers),
    };
  } finally {
    for (const side of sides) await side.stop();
  }
}

async function fillHanging(client: Client, receivers: LedgerReceivers): Promise<void> {
  if (WAITING === 0) return;
  const networks = networksOf(HANGING);
  await sendBatches(
    client,
    Array.from({ length: WAITING }, (_, index) => networks[index % networks.length] ?? 0),
  );
  while ((await receivers.count()).hanging === 0) await Bun.sleep(10);
}

/** Each on a loopback address of its own, where port 9 refuses connections. */
async function fillDead(client: Client): Promise<void> {
  if (DEAD === 0) return;
  const networks = Array.from({ length: DEAD }, (_, index) => DESTINATIONS * WEBHOOKS_EACH + index);
  for (const [index, network] of networks.entries()) {
    await client.register(`http://127.7.${index >> 8}.${index & 255}:9/hook`, [KIND], [network]);
  }
  await sendBatches(client, networks);
  while ((await retrying(client)) < DEAD) await Bun.sleep(200);
}

async function retrying(client: Client): Promise<number> {
  const response = await client.request('GET', '/deliveries?status=retrying&limit=1');
  return ((await response.json()) as { totalResults: number }).totalResults;
}

/** One event for each of the networks. */
async function sendBatches(client: Client, networks: readonly number[]): Promise<void> {
  const lines = networks.map((networkId) => JSON.stringify({ networkId, ...nextEvent(), amount: '25.00' }));
  for (let sent = 0; sent < lines.length; sent += BATCH) {
    const body = lines.slice(sent, sent + BATCH).join('\n');
    const response = await client.request('POST', '/events/batch', body, 'application/x-ndjson');
    if (!response.ok) throw new Error(await response.text());
  }
}

/** At fixed times and not after each response, because slow responses would otherwise lower the load that shows them. */
async function sendSteadily(
  clients: readonly [Client, Client],
  events: number,
  prefix: string,
): Promise<[SentAtMs, SentAtMs]> {
  const sentAtMs: [SentAtMs, SentAtMs] = [new Map(), new Map()];
  const responses: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let index = 0; index < events * 2; index++) {
    const aheadMs = startedAtMs + (index * 500) / Number(values.rate) - performance.now();
    if (aheadMs > 1) await Bun.sleep(aheadMs);
    const side = index % 2 === 0 ? 0 : 1;
    const eventId = `${prefix}-${index}`;
    // Multiplied by a prime, so that consecutive events go to different destinations.
    const scattered = Math.floor(index / 2) * 7_919;
    const networkId = WEBHOOKS_EACH + (scattered % ((DESTINATIONS - 1) * WEBHOOKS_EACH));
    const body = JSON.stringify({ eventId, networkId, ...nextEvent(), amount: '25.00' });
    sentAtMs[side].set(eventId, performance.timeOrigin + performance.now());
    responses.push(clients[side].request('POST', '/events', body).then((response) => response.text()));
  }
  await Promise.all(responses);
  return sentAtMs;
}

async function figuresOf(sentAtMs: SentAtMs, receivers: LedgerReceivers): Promise<Figures> {
  for (let polls = 0; polls < 1_200 && (await receivers.count()).received < EVENTS_WARM_UP + EVENTS; polls++)
    await Bun.sleep(50);
  const tookMs = (await receivers.ledger()).flatMap(({ eventId, receivedAtMs }) => {
    const sent = sentAtMs.get(eventId);
    return sent === undefined ? [] : [receivedAtMs - sent];
  });
  if (tookMs.length < EVENTS) throw new Error(`${EVENTS - tookMs.length} events did not arrive`);
  return { medianMs: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), worstMs: quantile(tookMs, 1) };
}

const shown = ({ medianMs, p99Ms, worstMs }: Figures) => [medianMs, p99Ms, worstMs].map((ms) => ms.toFixed(2));
const headings = ['store', 'round', 'hanging', 'median ms', 'p99 ms', 'worst ms'];
const rows: string[][] = [];
let missed = false;
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const all: { without: Figures; with: Figures }[] = [];
  for (let round = 1; round <= Number(values.rounds); round++) {
    const pair = await measure(engine, round);
    all.push(pair);
    process.stderr.write(`${engine}: round ${round} of ${values.rounds}\n`);
    rows.push(
      [engine, String(round), 'no', ...shown(pair.without)],
      [engine, String(round), 'yes', ...shown(pair.with)],
    );
  }
  const ratio = (figure: keyof Figures) => median(all.map((pair) => pair.with[figure] / pair.without[figure]));
  const ratios = [ratio('medianMs'), ratio('p99Ms'), ratio('worstMs')];
  rows.push([engine, 'ratio', '', ...ratios.map((one) => one.toFixed(2))]);
  missed ||= ratios.slice(0, 2).some((one) => one > TARGET);
}
printTable(headings, rows, '');
printLine(
  `\nTarget: median and p99 at most ${TARGET} times those without the hanging destination: ${missed ? 'missed' : 'met'}.`,
);
await stopPostgres();
process.exit(missed ? 1 : 0);
