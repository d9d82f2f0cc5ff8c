import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { freePort } from '../../test/support/free-port.ts';
import { Instances } from '../../test/support/instances.ts';
import { createPostgresDatabase, stopPostgres } from '../../test/support/postgres.ts';
import { parseMetrics, sampleOf } from '../../test/support/prometheus.ts';
import type { Client } from '../../test/support/service.ts';
import { startTcpProxy } from '../../test/support/tcp-proxy.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';
import { type LedgerReceivers, startLedgerReceivers } from './ledger-receivers.ts';
import { ADMIN_KEY, addressOf, newClient, register, sendLines, startHanging } from './many-destinations.ts';

/**
 * PostgreSQL a long way off, and many dead destinations of another entity with a backlog: whether the deliveries to a
 * healthy destination are completed, how long they take, and whether any call to the store misses its deadline.
 * `npx bun bench/delivery/distant-store.ts --dead 600 --delay 10 --seconds 75`
 */

const { values } = parseArgs({
  options: {
    /** Destinations that refuse connections, and as many that accept them and never respond. */
    dead: { type: 'string', default: '600' },
    /** In each direction, in milliseconds. */
    delay: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '75' },
  },
});
const DEAD = Number(values.dead);
const MEASURED_MS = Number(values.seconds) * 1_000;
const HEALTHY_EVENTS = 248;
const BACKLOG_EACH = 10;
/** Long enough that the dead have retries due until the end. */
const RETRY_SCHEDULE = `0s${',5s'.repeat(49)}`;
const ARRIVE_WITHIN_MS = 5_000;

type Kind = 'refusing' | 'hanging';
type Figures = { completed: number; tookMs: number[]; connections: number; failedCalls: number };

async function measure(kind: Kind, dead: number): Promise<Figures> {
  const database = new URL(await createPostgresDatabase());
  const proxy = startTcpProxy(database.hostname, Number(database.port));
  database.hostname = '127.0.0.1';
  database.port = String(proxy.port);
  const receivers = await startLedgerReceivers({ receivers: 1 });
  const hanging = await startHanging();
  const settings = { ADMIN_KEY, RETRY_SCHEDULE, DATABASE_URL: database.href };
  const instances = await Instances.on('postgres', settings);
  try {
    const { client: first } = await instances.start();
    const healthy = await newClient(first.url);
    await healthy.register(receivers.urls[0] ?? '', [KIND]);
    const port = kind === 'hanging' ? hanging.port : freePort();
    await burden(await newClient(first.url), dead, port);
    proxy.delay(Number(values.delay));
    const sentAtMs = await sendSteadily(healthy);
    const tookMs = await arrivals(sentAtMs, receivers);
    const metrics = parseMetrics(await (await fetch(`${first.url}/metrics`)).text());
    const failedCalls = sampleOf(metrics, 'paybell_store_unavailable_total');
    return { completed: await completedOf(healthy), tookMs, connections: proxy.accepted(), failedCalls };
  } finally {
    await instances.stop();
    proxy.stop();
    await hanging.stop();
    await receivers.stop();
  }
}

async function burden(client: Client, dead: number, port: number): Promise<void> {
  await register(
    client,
    Array.from({ length: dead }, (_, host) => `http://${addressOf(100, host)}:${port}/hook`),
  );
  const line = (index: number) => JSON.stringify({ networkId: index + 1, ...nextEvent(), amount: '25.00' });
  for (let round = 0; round < BACKLOG_EACH; round++) {
    await sendLines(
      client,
      Array.from({ length: dead }, (_, index) => line(index)),
    );
  }
}

/** At fixed times, whatever the responses: returns when each event was sent, by its id. */
async function sendSteadily(client: Client): Promise<ReadonlyMap<string, number>> {
  const sentAtMs = new Map<string, number>();
  const startedAtMs = performance.now();
  const responses: Promise<unknown>[] = [];
  for (let index = 0; index < HEALTHY_EVENTS; index++) {
    const aheadMs = startedAtMs + (index * MEASURED_MS) / HEALTHY_EVENTS - performance.now();
    if (aheadMs > 0) await Bun.sleep(aheadMs);
    const eventId = `healthy-${index}`;
    sentAtMs.set(eventId, performance.timeOrigin + performance.now());
    responses.push(client.send({ eventId, ...nextEvent() }).catch((error) => process.stderr.write(`${error}\n`)));
  }
  await Promise.all(responses);
  return sentAtMs;
}

async function arrivals(sentAtMs: ReadonlyMap<string, number>, receivers: LedgerReceivers): Promise<number[]> {
  const deadlineMs = performance.now() + ARRIVE_WITHIN_MS;
  while ((await receivers.count()).received < sentAtMs.size && performance.now() < deadlineMs) await Bun.sleep(100);
  // Time for the last of them to be recorded.
  await Bun.sleep(1_000);
  return (await receivers.ledger()).map(({ eventId, receivedAtMs }) => receivedAtMs - (sentAtMs.get(eventId) ?? 0));
}

async function completedOf(client: Client): Promise<number> {
  const response = await client.request('GET', '/deliveries?status=delivered&limit=1');
  const { totalResults } = (await response.json()) as { totalResults?: number };
  return totalResults ?? Number.NaN;
}

const rows: string[][] = [];
let isComplete = true;
for (const [kind, dead] of [
  ['refusing', 0],
  ['refusing', DEAD],
  ['hanging', DEAD],
] as const) {
  process.stderr.write(`${dead} ${kind} destinations\n`);
  const { completed, tookMs, connections, failedCalls } = await measure(kind, dead);
  if (completed < HEALTHY_EVENTS || failedCalls > 0) isComplete = false;
  const cells = [0.5, 0.99, 1].map((share) => quantile(tookMs, share).toFixed(1));
  rows.push([
    `${dead} ${kind}`,
    `${completed} of ${HEALTHY_EVENTS}`,
    ...cells,
    String(failedCalls),
    String(connections),
  ]);
}
printTable(['dead', 'completed', 'p50 ms', 'p99 ms', 'worst ms', 'failed calls', 'connections'], rows, '');
printLine(`\nTarget: all are completed and no call fails: ${isComplete ? 'met' : 'missed'}.`);
await stopPostgres();
process.exit(isComplete ? 0 : 1);
