import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { Stats } from '../../src/contract/stats.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { nextEvent } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';
import { type LedgerReceivers, startLedgerReceivers } from './ledger-receivers.ts';
import { ADMIN_KEY, addressOf, newClient, register, sendLines, startHanging } from './many-destinations.ts';

/**
 * Many destinations of other entities that accept connections and never respond: the latency of events for destinations
 * that do, from sent to received. Three kinds of these, each of an entity of its own: one that has worked before, one
 * that is used for the first time while the others hang, and new ones that get a single event each. With `--proven`, the
 * crowd has responded to twenty deliveries each before it begins to hang.
 * `npx bun bench/delivery/crowd.ts --hanging 0,50,200,1000,5000 --entities 1 --store sqlite`
 */

const { values } = parseArgs({
  options: {
    hanging: { type: 'string', default: '0,50,200,1000,5000' },
    /** How many entities the hanging destinations belong to. */
    entities: { type: 'string', default: '1' },
    proven: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '30' },
    store: { type: 'string' },
  },
});

const MEASURED_MS = Number(values.seconds) * 1_000;
/** After the last event is sent. */
const ARRIVE_WITHIN_MS = 30_000;
const DELIVERED_WITHIN_MS = 180_000;
/** Deliveries that wait for each hanging destination: more than may be in flight to one. */
const BACKLOG_EACH = 20;
/** More for all of them together while the others are measured. */
const CROWD_EVERY_MS = 10;
const P99_LIMIT_MS = 50;
const RATIO_LIMIT = 1.5;

/** The kinds of healthy destinations, and the interval between their events. */
const KINDS = [
  { name: 'proven', everyMs: 20, startsAtMs: 0 },
  { name: 'never-seen', everyMs: 50, startsAtMs: 3_000 },
  { name: 'one-off', everyMs: 100, startsAtMs: 0 },
] as const;
type Kind = (typeof KINDS)[number];

type Figures = { readonly sent: number; readonly tookMs: readonly number[] };

async function measure(engine: Engine, hanging: number): Promise<Map<string, Figures>> {
  const receivers = await startLedgerReceivers({ receivers: 1 });
  const port = new URL(receivers.urls[0] ?? '').port;
  const hangingReceiver = await startHanging({ responding: values.proven });
  const instances = await Instances.on(engine, { ENTITY_WEBHOOK_LIMIT: '1000000', ADMIN_KEY });
  try {
    const { client } = await instances.start();
    const clients = await registerHealthy(client.url, port);
    const crowd = await registerCrowd(client.url, hanging, hangingReceiver.port);
    await warmUp(clients[0], receivers);
    if (values.proven) {
      await sendBacklog(crowd);
      await untilDelivered(crowd);
      hangingReceiver.beginToHang();
    }
    await sendBacklog(crowd);
    const [sentAtMs] = await Promise.all([sendSteadily(clients), sendToCrowd(crowd)]);
    return await figuresOf(sentAtMs, receivers);
  } finally {
    await instances.stop();
    await hangingReceiver.stop();
    await receivers.stop();
  }
}

async function registerHealthy(url: string, port: string): Promise<Client[]> {
  const clients: Client[] = [];
  for (const [index, { name, everyMs }] of KINDS.entries()) {
    const client = await newClient(url);
    const count = name === 'one-off' ? Math.ceil(MEASURED_MS / everyMs) : 1;
    const urls = Array.from({ length: count }, (_, host) => `http://${addressOf(20 + index, host)}:${port}/hook`);
    await register(client, urls);
    clients.push(client);
  }
  return clients;
}

type Crowd = readonly { readonly client: Client; readonly destinations: number }[];

async function registerCrowd(url: string, hanging: number, port: number): Promise<Crowd> {
  const entities = hanging === 0 ? 0 : Math.min(Number(values.entities), hanging);
  const crowd = [];
  for (let entity = 0; entity < entities; entity++) {
    const client = await newClient(url);
    const destinations = Math.floor(hanging / entities) + (entity < hanging % entities ? 1 : 0);
    const urls = Array.from({ length: destinations }, (_, host) => `http://${addressOf(100, host)}:${port}/hook`);
    await register(client, urls);
    crowd.push({ client, destinations });
  }
  return crowd;
}

async function sendBacklog(crowd: Crowd): Promise<void> {
  for (let round = 0; round < BACKLOG_EACH; round++) {
    for (const { client, destinations } of crowd) {
      const lines = Array.from({ length: destinations }, (_, index) =>
        JSON.stringify({ networkId: index + 1, ...nextEvent(), amount: '25.00' }),
      );
      await sendLines(client, lines);
    }
  }
}

async function untilDelivered(crowd: Crowd): Promise<void> {
  const deadlineMs = performance.now() + DELIVERED_WITHIN_MS;
  for (const { client } of crowd) {
    while ((await waitingOf(client)) > 0) {
      if (performance.now() > deadlineMs) throw new Error('The crowd did not get its first deliveries in time');
      await Bun.sleep(200);
    }
  }
}

async function waitingOf(client: Client): Promise<number> {
  const response = await client.request('GET', '/stats');
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as Stats).backlog.waiting;
}

async function sendToCrowd(crowd: Crowd): Promise<void> {
  const startedAtMs = performance.now();
  const responses: Promise<unknown>[] = [];
  for (let index = 0; crowd.length > 0 && index * CROWD_EVERY_MS < MEASURED_MS; index++) {
    const aheadMs = startedAtMs + index * CROWD_EVERY_MS - performance.now();
    if (aheadMs > 0) await Bun.sleep(aheadMs);
    const member = crowd[index % crowd.length];
    if (member === undefined) break;
    // Multiplied by a prime, so that consecutive events go to different destinations.
    const networkId = ((index * 7_919) % member.destinations) + 1;
    responses.push(member.client.send({ networkId, ...nextEvent(), amount: '25.00' }));
  }
  await Promise.all(responses);
}

async function warmUp(proven: Client | undefined, receivers: LedgerReceivers): Promise<void> {
  const events = 300;
  for (let index = 0; index < events; index++) await proven?.send({ eventId: `warm-up-${index}`, ...nextEvent() });
  while ((await receivers.count()).received < events) await Bun.sleep(20);
}

/** When each event was sent, by its id, which begins with the kind of its destination. */
type SentAtMs = ReadonlyMap<string, number>;

/** At fixed times and not after each response, because slow responses would otherwise lower the load that shows them. */
async function sendSteadily(clients: readonly Client[]): Promise<SentAtMs> {
  const sentAtMs = new Map<string, number>();
  const startedAtMs = performance.now();
  await Promise.all(KINDS.map((kind, index) => sendKind(kind, clients[index], startedAtMs, sentAtMs)));
  return sentAtMs;
}

async function sendKind(kind: Kind, client: Client | undefined, startedAtMs: number, sentAtMs: Map<string, number>) {
  const responses: Promise<unknown>[] = [];
  for (let index = 0; kind.startsAtMs + index * kind.everyMs < MEASURED_MS; index++) {
    const aheadMs = startedAtMs + kind.startsAtMs + index * kind.everyMs - performance.now();
    if (aheadMs > 0) await Bun.sleep(aheadMs);
    const eventId = `${kind.name}-${index}`;
    const networkId = kind.name === 'one-off' ? index + 1 : 1;
    sentAtMs.set(eventId, performance.timeOrigin + performance.now());
    const sending = client?.send({ eventId, networkId, ...nextEvent(), amount: '25.00' });
    responses.push(sending?.catch((error) => process.stderr.write(`${error}\n`)) ?? Promise.resolve());
  }
  await Promise.all(responses);
}

async function figuresOf(sentAtMs: SentAtMs, receivers: LedgerReceivers): Promise<Map<string, Figures>> {
  const deadlineMs = performance.now() + ARRIVE_WITHIN_MS;
  const arrived = async () => (await receivers.ledger()).filter(({ eventId }) => sentAtMs.has(eventId));
  while ((await arrived()).length < sentAtMs.size && performance.now() < deadlineMs) await Bun.sleep(200);
  const ledger = await arrived();
  return new Map(
    KINDS.map(({ name }) => {
      const tookMs = ledger.flatMap(({ eventId, receivedAtMs }) =>
        eventId.startsWith(`${name}-`) ? [receivedAtMs - (sentAtMs.get(eventId) ?? Number.NaN)] : [],
      );
      return [name, { sent: [...sentAtMs.keys()].filter((id) => id.startsWith(`${name}-`)).length, tookMs }];
    }),
  );
}

const headings = ['store', 'hanging', 'destination', 'arrived', 'p50 ms', 'p99 ms', 'worst ms'];
const rows: string[][] = [];
const missed: string[] = [];
const amounts = values.hanging.split(',').map(Number);
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const quietMs = new Map<string, number>();
  for (const hanging of amounts) {
    process.stderr.write(`${engine}: ${hanging} hanging destinations\n`);
    for (const [name, { sent, tookMs }] of await measure(engine, hanging)) {
      const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => quantile(tookMs, share));
      if (hanging === 0) quietMs.set(name, p99 ?? Number.NaN);
      const limitMs = Math.max(P99_LIMIT_MS, RATIO_LIMIT * (quietMs.get(name) ?? 0));
      if (tookMs.length < sent || !((p99 ?? Number.NaN) <= limitMs)) missed.push(`${engine} ${hanging} ${name}`);
      const cells = [p50, p99, worst].map((ms) => (ms ?? Number.NaN).toFixed(1));
      rows.push([engine, String(hanging), name, `${tookMs.length} of ${sent}`, ...cells]);
    }
  }
}
printTable(headings, rows, '');
const target = `all arrive with a p99 of at most ${P99_LIMIT_MS} ms or ${RATIO_LIMIT} times that without hanging ones`;
printLine(`\nTarget: ${target}: ${missed.length === 0 ? 'met' : `missed by ${missed.join(', ')}`}.`);
await stopPostgres();
process.exit(missed.length === 0 ? 0 : 1);
