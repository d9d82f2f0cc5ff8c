import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { eventIds, sendAll } from '../../test/support/sending.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { startReceivers } from './receivers.ts';

/**
 * Kills Paybell in the middle of many events and starts it again: every event that it had acknowledged must arrive.
 * `npx bun bench/delivery/kill-restart.ts --events 5000`
 */

const { values } = parseArgs({ options: { events: { type: 'string', default: '5000' } } });
const EVENTS = Number(values.events);
const PATIENCE_MS = 180_000;

async function run(engine: Engine): Promise<{ row: string[]; lost: number }> {
  const receivers = await startReceivers({ receivers: 1, replyMs: 5 });
  // A lease lasts 15 s longer than an attempt may, so a short one brings back sooner what the dead process held.
  const instances = await Instances.on(engine, { DELIVERY_TIMEOUT: '2s' });
  try {
    const first = await instances.start();
    await first.client.register(receivers.urls[0] ?? '');
    const sending = sendAll([first.client], eventIds(EVENTS), { atATime: 32 });
    while ((await receivers.count()).count < EVENTS / 3) await Bun.sleep(10);
    first.served.child.kill('SIGKILL');
    await first.served.child.exited;
    const atKill = (await receivers.count()).count;
    await sending.done;
    const promised = sending.acknowledged;
    const restartedAtMs = performance.now();
    await instances.start();
    const arrived = await waitFor(promised, receivers);
    const tookS = (performance.now() - restartedAtMs) / 1000;
    const { ledger } = await receivers.ledger();
    const lost = promised.difference(arrived).size;
    const twice = ledger.length - new Set(ledger.map(({ deliveryId }) => deliveryId)).size;
    const row = [engine, EVENTS, promised.size, atKill, promised.intersection(arrived).size, lost, twice];
    return { row: [...row.map(String), tookS.toFixed(1)], lost };
  } finally {
    await instances.stop();
    await receivers.stop();
  }
}

async function waitFor(promised: ReadonlySet<string>, receivers: Awaited<ReturnType<typeof startReceivers>>) {
  const endsAtMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const arrived = new Set((await receivers.ledger()).ledger.map(({ eventId }) => eventId));
    if (promised.isSubsetOf(arrived) || performance.now() > endsAtMs) return arrived;
    await Bun.sleep(100);
  }
}

const results = [];
for (const engine of ENGINES) results.push(await run(engine));
const headings = [
  'store',
  'sent',
  'acknowledged',
  'posts at the kill',
  'arrived in the end',
  'lost',
  'twice',
  'seconds after restart',
];
printTable(
  headings,
  results.map(({ row }) => row),
  '',
);
await stopPostgres();
process.exit(results.every(({ lost }) => lost === 0) ? 0 : 1);
