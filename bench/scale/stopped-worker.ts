import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createTenant, type Tenant } from '../../test/support/api.ts';
import { CITUS_URL } from '../../test/support/citus.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { createPostgresDatabase } from '../../test/support/postgres.ts';
import { Client } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';

/**
 * A worker of Citus is stopped and comes back, while entities on every worker send events: what they got before, during and after.
 * `TEST_CITUS_URL=postgres://… npx bun bench/scale/stopped-worker.ts --port 55431 --stop '<command>' --start '<command>' --seconds 30`
 */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '' },
    stop: { type: 'string', default: '' },
    start: { type: 'string', default: '' },
    seconds: { type: 'string', default: '30' },
    entities: { type: 'string', default: '8' },
  },
});
const SECONDS = Number(values.seconds);
const EVERY_MS = 100;
/** A client gives up then. */
const MAX_WAIT_MS = 10_000;

const PHASES = ['before', 'during', 'after'] as const;
type Phase = (typeof PHASES)[number];
type Side = 'on it' | 'elsewhere';
type Sent = { readonly phase: Phase; readonly side: Side; readonly status: number; readonly ms: number };

if (CITUS_URL === null || [values.port, values.stop, values.start].includes('')) {
  console.error('TEST_CITUS_URL names the coordinator; --port, --stop and --start are those of the worker');
  process.exit(2);
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
const { client: first } = await instances.start();
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
const ready: { phase: Phase; status: number }[] = [];

async function sendOn({ client, side }: (typeof tenants)[number], index: number): Promise<void> {
  for (let number = 0; !isOver; number++) {
    const [begun, startedAtMs] = [phase, performance.now()];
    const eventId = `event-${index}-${number}`;
    const body = JSON.stringify({ networkId: 1, eventId, ...nextEvent() });
    const atMs = performance.timeOrigin + startedAtMs;
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), MAX_WAIT_MS));
    const response = await Promise.race([client.request('POST', '/events', body).catch(() => null), late]);
    const status = response?.status ?? 0;
    if (![202, 503].includes(status)) printLine(`${begun}: ${status} ${(await response?.text()) ?? 'no response'}`);
    if (status === 202) acceptedIds.set(eventId, { phase: begun, side, atMs });
    sent.push({ phase: begun, side, status, ms: performance.now() - startedAtMs });
    await Bun.sleep(EVERY_MS);
  }
}

async function watchReadiness(): Promise<void> {
  while (!isOver) {
    const begun = phase;
    const { status } = await fetch(`${first.url}/readyz`).catch(() => ({ status: 0 }));
    ready.push({ phase: begun, status });
    await Bun.sleep(1_000);
  }
}

const running = [...tenants.map(sendOn), watchReadiness()];
await Bun.sleep(10_000);
await run(values.stop);
phase = 'during';
await Bun.sleep(SECONDS * 1_000);
await run(values.start);
phase = 'after';
await Bun.sleep(15_000);
isOver = true;
await Promise.all(running);
await until(
  'all that was accepted has arrived',
  () => [...acceptedIds.keys()].every((id) => ledger.eventIds().has(id)),
  300_000,
);

const arrivedAtMs = new Map(ledger.requests.toReversed().map(({ eventId, receivedAtMs }) => [eventId, receivedAtMs]));
const rows = PHASES.flatMap((name) =>
  (['on it', 'elsewhere'] as const).map((side) => {
    const of = sent.filter((one) => one.phase === name && one.side === side);
    const delays = [...acceptedIds]
      .filter(([, one]) => one.phase === name && one.side === side)
      .map(([id, { atMs }]) => (arrivedAtMs.get(id) ?? Number.NaN) - atMs);
    const count = (status: number) => of.filter((one) => one.status === status).length;
    const ms = (all: number[], at: number) => (all.length === 0 ? '–' : quantile(all, at).toFixed(0));
    const responses = of.map((one) => one.ms);
    return [name, side, of.length, count(202), count(503), of.length - count(202) - count(503)]
      .map(String)
      .concat(ms(responses, 0.5), ms(responses, 0.99), ms(delays, 0.5), ms(delays, 0.99));
  }),
);
const timing = ['response p50 ms', 'p99', 'delivery p50 ms', 'p99'];
printTable(['phase', 'entities', 'sent', '202', '503', 'other', ...timing], rows, '');
for (const name of PHASES) {
  const of = ready.filter((one) => one.phase === name).map(({ status }) => status);
  printLine(
    `/readyz ${name}: ${[...Map.groupBy(of, String)].map(([status, all]) => `${status} × ${all.length}`).join(', ')}`,
  );
}
printLine(`${acceptedIds.size} accepted, 0 lost`);
await instances.stop();
await ledger[Symbol.asyncDispose]();
await sql.close();
await db.close();
process.exit(0);
