import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { acceptAndDeliver, type Paybell, startReceiving, TO_ONE, warmUp } from '../delivery/accept-and-deliver.ts';
import { awaitArrival, type CountingReceiver, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { emptyStore } from '../harness/empty-store.ts';
import { eventTemplates } from '../harness/event-bodies.ts';
import { API, credentials } from '../harness/paybell-api.ts';
import { spreadPostgres, stopPostgres } from '../harness/postgres.ts';
import { cleanUp, residentBytes, stopOnSignal } from '../harness/processes.ts';
import { median, quantile } from '../harness/rounds.ts';
import { sendPaced } from '../load/paced.ts';
import { slopeOf } from './slope.ts';

/**
 * Whether latency and memory stay constant at a share of the rate that this machine delivers at most, and whether anything is lost:
 * `npx bun bench/endurance/steady-rate.ts --engine postgres --minutes 30 --share 0.6`. With `--engine both`, a Paybell on each engine runs
 * beside the other, each at its share of what it delivers beside the other.
 */

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '30' },
    share: { type: 'string', default: '0.6' },
  },
});
const MINUTES = Number(values.minutes);
const WINDOW_S = 60;
const MEASURED_EVENTS = 10_000;
const MEASUREMENTS = 3;
/** What arrives later than this is lost. */
const MAX_ARRIVE_MS = 60_000;
const MEBIBYTE = 1024 ** 2;
const ROWS = 10;

type Window = { readonly atS: number; p50Ms: number; p99Ms: number; megabytes: number; lost: number };

type Subject = { readonly engine: Engine; readonly paybell: Paybell; readonly receiver: CountingReceiver };

async function start(engine: Engine): Promise<Subject> {
  const receiver = await startCountingReceiver(10);
  const databaseUrl = await emptyStore(engine);
  const paybell = await startReceiving(receiver, { databaseUrl, place: 'anywhere' });
  await warmUp(paybell, receiver);
  return { engine, paybell, receiver };
}

async function mostPerSecond({ paybell, receiver }: Subject): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < MEASUREMENTS; round++) {
    rates.push((await acceptAndDeliver(paybell, receiver, { ...TO_ONE, senders: 64 }, MEASURED_EVENTS)).perSecond);
  }
  return median(rates);
}

async function runWindow({ paybell, receiver }: Subject, perSecond: number, atS: number): Promise<Window> {
  await receiver.reset();
  const headers = { 'content-type': 'application/json', ...credentials(paybell.caller) };
  const request = { url: `${paybell.server.url}${API}/events`, headers, bodies: eventTemplates(TO_ONE.event) };
  const { sent } = await sendPaced({ request, perSecond, seconds: WINDOW_S });
  const { received, delaysMs } = await awaitArrival(receiver, sent, MAX_ARRIVE_MS);
  return {
    atS,
    p50Ms: quantile(delaysMs, 0.5),
    p99Ms: quantile(delaysMs, 0.99),
    megabytes: (await residentBytes(paybell.server.pid)) / MEBIBYTE,
    lost: sent - received,
  };
}

async function runAll(subject: Subject, perSecond: number): Promise<readonly Window[]> {
  const windows: Window[] = [];
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < MINUTES * 60_000) {
    const window = await runWindow(subject, perSecond, (performance.now() - startedAtMs) / 1_000);
    windows.push(window);
    const { p50Ms, p99Ms, megabytes } = window;
    printLine(`  ${subject.engine} p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${megabytes.toFixed(0)} MB`);
  }
  return windows;
}

async function main(): Promise<number> {
  if (values.engine !== 'sqlite') await spreadPostgres();
  const subjects: Subject[] = [];
  for (const engine of ENGINES.filter((one) => [one, 'both'].includes(values.engine)))
    subjects.push(await start(engine));
  if (subjects.length === 0) throw new Error(`${values.engine} is no engine; give sqlite, postgres or both`);
  const rates = await Promise.all(subjects.map(mostPerSecond));
  const runs = await Promise.all(
    subjects.map(async (subject, index) => {
      const most = rates[index] ?? 0;
      const perSecond = Math.round(most * Number(values.share));
      printLine(`${subject.engine}: ${most.toFixed(0)} events/s at most, ${perSecond}/s for ${MINUTES} minutes`);
      return { subject, perSecond, windows: await runAll(subject, perSecond) };
    }),
  );
  for (const { subject, perSecond, windows } of runs) {
    await subject.paybell.server.stop();
    await subject.receiver.stop();
    printLine(`\n${subject.engine}`);
    report(windows, perSecond);
  }
  return runs.some(({ windows }) => windows.some(({ lost }) => lost !== 0)) ? 1 : 0;
}

function report(windows: readonly Window[], perSecond: number): void {
  const every = Math.max(1, Math.ceil(windows.length / ROWS));
  const rows = windows
    .filter((_, index) => index % every === 0)
    .map(({ atS, p50Ms, p99Ms, megabytes }) => [
      (atS / 60).toFixed(0),
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      megabytes.toFixed(0),
    ]);
  printTable(['minute', 'p50 ms', 'p99 ms', 'MB'], rows, '');
  const later = windows.slice(Math.floor(windows.length / 3));
  for (const [name, figure] of [
    ['p50, ms', 'p50Ms'],
    ['p99, ms', 'p99Ms'],
    ['memory, MB', 'megabytes'],
  ] as const) {
    const slope = slopeOf(later.map((window) => ({ atS: window.atS, value: window[figure] })));
    const change = `${slope.perMinute.toFixed(3)} ± ${slope.uncertaintyPerMinute.toFixed(3)} a minute`;
    printLine(`${name}: ${slope.mean.toFixed(1)} on average in the last two thirds, ${change}`);
  }
  const lost = windows.reduce((sum, window) => sum + window.lost, 0);
  printLine(`${windows.length * WINDOW_S * perSecond} events sent, ${lost} lost`);
}

async function stopAll(): Promise<void> {
  await cleanUp();
  await stopPostgres();
}

stopOnSignal(stopAll);
let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await stopAll();
}
process.exit(exitCode);
