import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createTenant, type Tenant } from '../../test/support/api.ts';
import { CITUS_URL, suspendServer } from '../../test/support/citus.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { createPostgresDatabase } from '../../test/support/postgres.ts';
import { Client } from '../../test/support/service.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * A worker of Citus is stopped, or hangs, and comes back, while entities on every worker send events and read lists: what they got
 * before, during and after. `--hang` suspends a worker on this machine; `--stop` and `--start` are commands.
 *
 *   TEST_CITUS_URL=postgres://… npx bun bench/scale/stopped-worker.ts --port 55431 --hang --seconds 30
 *   TEST_CITUS_URL=postgres://… npx bun bench/scale/stopped-worker.ts --port 55431 --stop '<command>' --start '<command>'
 */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '' },
    hang: { type: 'boolean', default: false },
    stop: { type: 'string', default: '' },
    start: { type: 'string', default: '' },
    seconds: { type: 'string', default: '30' },
    entities: { type: 'string', default: '8' },
  },
});
const SECONDS = Number(values.seconds);
const EVERY_MS = 100;
const LIST_EVERY_MS = 500;
/** A client gives up then. */
const MAX_WAIT_MS = 10_000;
/** After this much time, what has not arrived is lost. */
const MAX_ARRIVAL_MS = 300_000;

const PHASES = ['before', 'during', 'after'] as const;
type Phase = (typeof PHASES)[number];
type Side = 'on it' | 'elsewhere';
type Sent = { readonly phase: Phase; readonly side: Side; readonly status: number; readonly ms: number };
type Listed = Sent & { readonly list: string };

/** The first is read from a table with a copy on every server, the others from the worker of the entity. */
const LISTS = ['/webhooks/classic', '/events', '/deliveries'];

const isComplete = values.hang || ![values.stop, values.start].includes('');
if (CITUS_URL === null || values.port === '' || !isComplete) {
  console.error('TEST_CITUS_URL names the coordinator; --port, and --hang or --stop and --start, name the worker');
  process.exit(2);
}

/** Returns what starts it again. */
async function stopWorker(): Promise<() => void | Promise<void>> {
  if (values.hang) {
    const worker = new URL(CITUS_URL ?? '');
    worker.port = values.port;
    return suspendServer(worker.href);
  }
  await run(values.stop);
  return () => run(values.start);
}

async function run(command: string): Promise<void> {
  if ((await Bun.spawn(['sh', '-c', command], { stdio: ['ignore', 'ignore', 'inherit'] }).exited) !== 0) {
    throw new Error(`${command} failed`);
  }
}

/** Whether the rows of the entity are on the worker that is stopped. */
async function sideOf(sql: SQL, { entityId }: Tenant): Promise<Side> {
  const [row] = (await sql.unsafe(
    `select nodeport from citus_shards where shardid = get_shard_id_for_distribution_column('events', cast($1 as uuid))`,
    [entityId.replace('ent_', '')],
  )) as { nodeport: number }[];
  return row?.nodeport === Number(values.port) ? 'on it' : 'elsewhere';
}

const url = await createPostgresDatabase();
const db = await openDatabase({ engine: 'postgres', url });
const sql = new SQL(url, { max: 1 });
const instances = await Instances.on('postgres', { DATABASE_URL: url, LOG_LEVEL: 'error' });
const { client: first, served } = await instances.start();
const ledger = new Ledger(undefined, Number(values.entities));
const tenants: { client: Client; side: Side }[] = [];
for (let index = 0; index < Number(values.entities); index++) {
  const tenant = await createTenant(db);
  const client = new Client(first.url, tenant);
  await client.register(ledger.url(`/${index}`, index), [KIND]);
  tenants.push({ client, side: await sideOf(sql, tenant) });
}

let phase: Phase = 'before';
let isOver = false;
const sent: Sent[] = [];
const acceptedIds = new Map<string, { phase: Phase; side: Side; atMs: number }>();
const listed: Listed[] = [];
const ready: { phase: Phase; status: number }[] = [];

async function answered(request: Promise<Response>): Promise<Response | null> {
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), MAX_WAIT_MS));
  return Promise.race([request.catch(() => null), late]);
}

async function sendOn({ client, side }: (typeof tenants)[number], index: number): Promise<void> {
  for (let number = 0; !isOver; number++) {
    const [begun, startedAtMs] = [phase, performance.now()];
    const eventId = `event-${index}-${number}`;
    const body = JSON.stringify({ networkId: 1, eventId, ...nextEvent() });
    const atMs = performance.timeOrigin + startedAtMs;
    const response = await answered(client.request('POST', '/events', body));
    const status = response?.status ?? 0;
    if (response !== null && ![202, 503].includes(status)) printLine(`${begun}: ${status} ${await response.text()}`);
    if (status === 202) acceptedIds.set(eventId, { phase: begun, side, atMs });
    sent.push({ phase: begun, side, status, ms: performance.now() - startedAtMs });
    await Bun.sleep(EVERY_MS);
  }
}

/** Each request asks for another page size, so that none is answered from a cache. */
async function readLists({ client, side }: (typeof tenants)[number]): Promise<void> {
  for (let number = 0; !isOver; number++) {
    const [begun, startedAtMs] = [phase, performance.now()];
    const list = LISTS[number % LISTS.length] ?? '';
    const response = await answered(client.request('GET', `${list}?limit=${1 + (number % 50)}`));
    await response?.arrayBuffer();
    listed.push({ phase: begun, side, list, status: response?.status ?? 0, ms: performance.now() - startedAtMs });
    await Bun.sleep(LIST_EVERY_MS);
  }
}

async function watchReadiness(): Promise<void> {
  while (!isOver) {
    const begun = phase;
    const response = await answered(fetch(`${first.url}/readyz`));
    const status = response?.status ?? 0;
    if (status !== 200) printLine(`${begun}: /readyz ${status} ${(await response?.text()) ?? ''}`);
    ready.push({ phase: begun, status });
    await Bun.sleep(1_000);
  }
}

const running = [...tenants.map(sendOn), ...tenants.map(readLists), watchReadiness()];
await Bun.sleep(10_000);
const startWorker = await stopWorker();
phase = 'during';
await Bun.sleep(SECONDS * 1_000);
await startWorker();
phase = 'after';
await Bun.sleep(15_000);
isOver = true;
await Promise.all(running);
const isDelivered = (id: string) => ledger.requests.some(({ eventId }) => eventId === id);
const endsAtMs = performance.now() + MAX_ARRIVAL_MS;
while (performance.now() < endsAtMs && ledger.eventIds().size < acceptedIds.size) await Bun.sleep(100);
const lost = [...acceptedIds.keys()].filter((id) => !isDelivered(id)).length;

const arrivedAtMs = new Map(ledger.requests.toReversed().map(({ eventId, receivedAtMs }) => [eventId, receivedAtMs]));
const ms = (all: readonly number[], at: number) => (all.length === 0 ? '–' : quantile(all, at).toFixed(0));
const rows = PHASES.flatMap((name) =>
  (['on it', 'elsewhere'] as const).map((side) => {
    const of = sent.filter((one) => one.phase === name && one.side === side);
    const delays = [...acceptedIds]
      .filter(([, one]) => one.phase === name && one.side === side)
      .map(([id, { atMs }]) => (arrivedAtMs.get(id) ?? Number.NaN) - atMs);
    const count = (status: number) => of.filter((one) => one.status === status).length;
    const responses = of.map((one) => one.ms);
    return [name, side, of.length, count(202), count(503), of.length - count(202) - count(503)]
      .map(String)
      .concat(ms(responses, 0.5), ms(responses, 0.99), ms(delays, 0.5), ms(delays, 0.99));
  }),
);
const timing = ['response p50 ms', 'p99', 'delivery p50 ms', 'p99'];
printTable(['phase', 'entities', 'sent', '202', '503', 'other', ...timing], rows, '');
const lists = PHASES.flatMap((name) =>
  (['on it', 'elsewhere'] as const).flatMap((side) =>
    LISTS.map((list) => {
      const of = listed.filter((one) => one.phase === name && one.side === side && one.list === list);
      const served = of.filter(({ status }) => status === 200);
      const times = of.map((one) => one.ms);
      return [name, side, list, String(of.length), String(served.length), ms(times, 0.5), ms(times, 0.99)];
    }),
  ),
);
printTable(['phase', 'entities', 'list', 'asked', '200', 'p50 ms', 'p99'], lists, '');
for (const name of PHASES) {
  const of = ready.filter((one) => one.phase === name).map(({ status }) => status);
  printLine(
    `/readyz ${name}: ${[...Map.groupBy(of, String)].map(([status, all]) => `${status} × ${all.length}`).join(', ')}`,
  );
}
const deliveryIds = new Set(ledger.requests.map(({ deliveryId }) => deliveryId));
const refused = sent.length - acceptedIds.size;
const twice = ledger.requests.length - deliveryIds.size;
printLine(`${acceptedIds.size} accepted, ${refused} refused, ${lost} lost, ${twice} received twice`);
const { stdout, stderr } = await served.stop();
const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
const messages = Map.groupBy(lines, (line) => String((JSON.parse(line) as { msg?: string }).msg));
for (const [message, all] of messages) printLine(`log: ${all.length} × ${message}`);
const raw = stderr.split('\n').filter((line) => line !== '');
printLine(`standard error: ${raw.length} lines${raw.length === 0 ? '' : `, such as ${raw.slice(0, 3).join(' | ')}`}`);
await instances.stop();
await ledger[Symbol.asyncDispose]();
await sql.close();
await db.close();
process.exit(0);
