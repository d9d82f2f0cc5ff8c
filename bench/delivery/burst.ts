import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { emptyStore } from '../harness/empty-store.ts';
import { eventTemplates } from '../harness/event-bodies.ts';
import { API, credentials } from '../harness/paybell-api.ts';
import { spreadPostgres, stopPostgres } from '../harness/postgres.ts';
import { cleanUp } from '../harness/processes.ts';
import { median, quantile } from '../harness/rounds.ts';
import { sendBurst } from '../load/paced.ts';
import { FAN_OUT, startReceiving, TO_TEN, warmUp } from './accept-and-deliver.ts';
import { awaitArrival, startCountingReceiver } from './counting-receiver.ts';

/**
 * How long the deliveries of a burst wait: events to ten webhooks each, from 64 senders that send the next one when they have
 * a response. `npx bun bench/delivery/burst.ts --events 2000 --rounds 9`.
 */

const { values } = parseArgs({
  options: { events: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '9' } },
});
const EVENTS = Number(values.events);
const SENDERS = 64;
const MAX_ARRIVE_MS = 60_000;

async function measure(engine: Engine): Promise<string[]> {
  const receiver = await startCountingReceiver(FAN_OUT);
  const databaseUrl = await emptyStore(engine);
  const paybell = await startReceiving(receiver, { databaseUrl, place: 'anywhere' });
  await warmUp(paybell, receiver);
  const headers = { 'content-type': 'application/json', ...credentials(paybell.caller) };
  const request = { url: `${paybell.server.url}${API}/events`, headers, bodies: eventTemplates(TO_TEN.event) };
  const rounds: { p50: number; p99: number; perSecond: number }[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    await receiver.reset();
    await sendBurst(request, EVENTS, SENDERS);
    const { received, delaysMs, firstAtMs, lastAtMs } = await awaitArrival(receiver, EVENTS * FAN_OUT, MAX_ARRIVE_MS);
    if (received !== EVENTS * FAN_OUT) throw new Error(`${received} of ${EVENTS * FAN_OUT} deliveries arrived`);
    const perSecond = received / ((lastAtMs - firstAtMs) / 1_000);
    rounds.push({ p50: quantile(delaysMs, 0.5), p99: quantile(delaysMs, 0.99), perSecond });
  }
  await paybell.server.stop();
  await receiver.stop();
  const of = (figure: 'p50' | 'p99' | 'perSecond') => median(rounds.map((round) => round[figure])).toFixed(0);
  return [engine, of('p50'), of('p99'), of('perSecond')];
}

try {
  await spreadPostgres();
  const rows: string[][] = [];
  for (const engine of ENGINES) rows.push(await measure(engine));
  printTable(['engine', 'p50 ms', 'p99 ms', 'delivered/s'], rows, '');
  printLine(
    `Medians of ${values.rounds} bursts of ${EVENTS} events to ${FAN_OUT} webhooks each, from sent to received.`,
  );
} finally {
  await cleanUp();
  await stopPostgres();
}
