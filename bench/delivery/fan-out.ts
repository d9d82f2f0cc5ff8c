import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { KIND, nextEvent } from '../harness/event-bodies.ts';
import { quantile } from '../harness/rounds.ts';
import { startLedgerReceivers } from './ledger-receivers.ts';

/**
 * Many events for many webhooks in one request: how long the acknowledgement takes, how long others wait for a response
 * meanwhile, and whether all arrives.
 * `npx bun bench/delivery/fan-out.ts --events 200 --webhooks 1000 --store sqlite`
 */

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '200' },
    webhooks: { type: 'string', default: '1000' },
    store: { type: 'string' },
  },
});

const EVENTS = Number(values.events);
const WEBHOOKS = Number(values.webhooks);
const ARRIVE_WITHIN_MS = 600_000;
const PROBE_EVERY_MS = 5;

type Figures = { acknowledgedMs: number; probesMs: number[]; arrived: number; arrivedMs: number };

async function registerAll(client: Client, url: string): Promise<void> {
  for (let done = 0; done < WEBHOOKS; done += 20) {
    const some = Array.from({ length: Math.min(20, WEBHOOKS - done) }, (_, index) => done + index);
    await Promise.all(some.map((index) => client.register(`${url}/${index}`, [KIND])));
  }
}

async function measure(engine: Engine): Promise<Figures> {
  const receivers = await startLedgerReceivers({ receivers: 1 });
  const instances = await Instances.on(engine, { EVENT_RATE_LIMIT: 'off', ENTITY_WEBHOOK_LIMIT: '1000000' });
  try {
    const { client } = await instances.start();
    await registerAll(client, receivers.urls[0] ?? '');
    const probes = startProbes(client);
    const startedAtMs = performance.now();
    const lines = Array.from({ length: EVENTS }, (_, index) =>
      JSON.stringify({ networkId: 1, eventId: `event-${index}`, ...nextEvent(), amount: '25.00' }),
    );
    const response = await client.request('POST', '/events/batch', lines.join('\n'), 'application/x-ndjson');
    const text = await response.text();
    if (!response.ok || !text.includes('"status":202')) throw new Error(text.slice(0, 500));
    const acknowledgedMs = performance.now() - startedAtMs;
    const wanted = EVENTS * WEBHOOKS;
    const received = async () => (await receivers.count()).received;
    while ((await received()) < wanted && performance.now() - startedAtMs < ARRIVE_WITHIN_MS) await Bun.sleep(200);
    const arrivedMs = performance.now() - startedAtMs;
    return { acknowledgedMs, probesMs: await probes.stop(), arrived: await received(), arrivedMs };
  } finally {
    await instances.stop();
    await receivers.stop();
  }
}

/** A request that needs no store: what it waits for is the event loop. */
function startProbes(client: Client) {
  const tookMs: number[] = [];
  let isStopping = false;
  const run = async () => {
    while (!isStopping) {
      const startedAtMs = performance.now();
      await (await fetch(`${client.url}/healthz`)).text();
      tookMs.push(performance.now() - startedAtMs);
      await Bun.sleep(PROBE_EVERY_MS);
    }
  };
  const running = run();
  return {
    stop: async () => {
      isStopping = true;
      await running;
      return tookMs;
    },
  };
}

const rows: string[][] = [];
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const { acknowledgedMs, probesMs, arrived, arrivedMs } = await measure(engine);
  const [p99, worst] = [0.99, 1].map((share) => (quantile(probesMs, share) ?? Number.NaN).toFixed(0));
  const arrival = `${arrived} of ${EVENTS * WEBHOOKS} in ${(arrivedMs / 1_000).toFixed(1)} s`;
  rows.push([engine, acknowledgedMs.toFixed(0), `${p99} / ${worst}`, arrival]);
}
printTable(['store', 'acknowledged ms', '/healthz p99 / worst ms', 'arrived'], rows, '');
printLine('');
await stopPostgres();
process.exit(0);
