import { parseArgs } from 'node:util';
import { printLine, printTable } from '../../src/cli/output.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { Instances } from './instances.ts';
import { type Receivers, startReceivers } from './receivers.ts';

/**
 * 200 destinations, of which one never answers and has 5,000 deliveries waiting: how long the others' events take from
 * the moment they are sent to the moment they are received, with it and without it, in turns.
 * `npx bun bench/delivery/isolation.ts --rounds 3 --rate 300 --seconds 8`
 */

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '8' },
    store: { type: 'string' },
  },
});
const DESTINATIONS = 200;
const HANGING = 0;
const WAITING = 5_000;
const TARGET = 1.5;
const EVENTS = Number(values.rate) * Number(values.seconds);
const EVENTS_WARM_UP = 1_000;

type Figures = { medianMs: number; p99Ms: number; worstMs: number };

async function measure(engine: Engine, withHanging: boolean): Promise<Figures> {
  const receivers = await startReceivers({ receivers: DESTINATIONS, hanging: HANGING });
  const instances = await Instances.on(engine);
  try {
    const { client } = await instances.start();
    for (const [network, url] of receivers.urls.entries()) await client.register(url, ['LatePayment'], [network]);
    await sendSteadily(client, EVENTS_WARM_UP, 'warm-up');
    if (withHanging) await fillHanging(client, receivers);
    const sentAtMs = await sendSteadily(client, EVENTS, 'measured');
    return await figuresOf(sentAtMs, receivers);
  } finally {
    await instances.stop();
    await receivers.stop();
  }
}

async function fillHanging(client: Client, receivers: Receivers): Promise<void> {
  const line = JSON.stringify({ event: 'LatePayment', networkId: HANGING, amount: '25.00' });
  for (let sent = 0; sent < WAITING; sent += 1_000) {
    await client.request('POST', '/events/batch', `${line}\n`.repeat(1_000), 'application/x-ndjson');
  }
  while ((await receivers.count()).hung === 0) await Bun.sleep(10);
}

/** By the clock and not by the answers: a slow answer must not thin out the load that would show it. */
async function sendSteadily(client: Client, events: number, prefix: string): Promise<Map<string, number>> {
  const sentAtMs = new Map<string, number>();
  const answers: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let index = 0; index < events; index++) {
    const aheadMs = startedAtMs + (index * 1_000) / Number(values.rate) - performance.now();
    if (aheadMs > 1) await Bun.sleep(aheadMs);
    const eventId = `${prefix}-${index}`;
    const networkId = 1 + (index % (DESTINATIONS - 1));
    const body = JSON.stringify({ eventId, event: 'LatePayment', networkId, amount: '25.00' });
    sentAtMs.set(eventId, performance.timeOrigin + performance.now());
    answers.push(client.request('POST', '/events', body).then((answer) => answer.text()));
  }
  await Promise.all(answers);
  return sentAtMs;
}

async function figuresOf(sentAtMs: ReadonlyMap<string, number>, receivers: Receivers): Promise<Figures> {
  for (let tries = 0; tries < 100 && (await receivers.count()).count < EVENTS_WARM_UP + EVENTS; tries++)
    await Bun.sleep(50);
  const { ledger } = await receivers.ledger();
  const tookMs = ledger.flatMap(({ eventId, receivedAtMs }) => {
    const sent = sentAtMs.get(eventId);
    return sent === undefined ? [] : [receivedAtMs - sent];
  });
  if (tookMs.length < EVENTS) throw new Error(`${EVENTS - tookMs.length} events did not arrive`);
  tookMs.sort((a, b) => a - b);
  const at = (share: number) => tookMs[Math.min(Math.floor(tookMs.length * share), tookMs.length - 1)] ?? Number.NaN;
  return { medianMs: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const shown = ({ medianMs, p99Ms, worstMs }: Figures) => [medianMs, p99Ms, worstMs].map((ms) => ms.toFixed(2));
const headings = ['store', 'round', 'hanging', 'median ms', 'p99 ms', 'worst ms'];
const rows: string[][] = [];
let missed = false;
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const all: { without: Figures; with: Figures }[] = [];
  for (let round = 1; round <= Number(values.rounds); round++) {
    const pair = { without: await measure(engine, false), with: await measure(engine, true) };
    all.push(pair);
    process.stderr.write(`${engine}: round ${round} of ${values.rounds}\n`);
    rows.push(
      [engine, String(round), 'no', ...shown(pair.without)],
      [engine, String(round), 'yes', ...shown(pair.with)],
    );
  }
  const ratio = (figure: keyof Figures) => middle(all.map((pair) => pair.with[figure] / pair.without[figure]));
  const ratios = [ratio('medianMs'), ratio('p99Ms'), ratio('worstMs')];
  rows.push([engine, 'ratio', '', ...ratios.map((one) => one.toFixed(2))]);
  missed ||= ratios.slice(0, 2).some((one) => one > TARGET);
}
printTable(headings, rows, '');
printLine(`\nThe target is a median and a p99 within ${TARGET} times: ${missed ? 'missed' : 'met'}.`);
await stopPostgres();
process.exit(missed ? 1 : 0);
