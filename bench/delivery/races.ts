import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { FeedEntry } from '../../src/contract/endpoints/feed.ts';
import { findEndpoint, readWholeFeed, wrongNumbers } from '../../test/support/endpoint-feed.ts';
import { type Instance, Instances } from '../../test/support/instances.ts';
import { Ledger, type ReceivedRequest } from '../../test/support/ledger.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';

/**
 * A reminder and the payment that makes it pointless, sent at the same moment: two instances on PostgreSQL, one on SQLite.
 * The receiver refuses every other reminder, which then waits for a retry when the payment comes. No request of a reminder may begin
 * after its payment was acknowledged, and a reminder that comes after the payment is answered with its id.
 * `npx bun bench/delivery/races.ts --races 1000 --store postgres`
 */

const { values } = parseArgs({ options: { races: { type: 'string', default: '1000' }, store: { type: 'string' } } });
const RACES = Number(values.races);
const AT_ONCE = 20;
/** How much later than the other one of the two is sent. */
const MOST_APART_MS = 8;
const RETRY_SCHEDULE = `0s${',1s'.repeat(49)}`;
const IDLE_WITHIN_MS = 120_000;
/** Longer than a retry of the schedule takes, with its jitter. */
const AFTERWARDS_MS = 3_000;

type Receipt = { eventId: string; deliveries: number; supersededBy?: string };
type Race = { readonly transferId: string; reminder: Receipt; paidAtMs: number };
type Late = { race: Race; attempt: number; byMs: number };

const nowMs = () => performance.timeOrigin + performance.now();
const reminderOf = (transferId: string) => `${transferId}-LatePayment`;
const paymentOf = (transferId: string) => `${transferId}-TransferProcessed`;

async function send({ client }: Instance, event: string, transferId: string, eventId: string): Promise<Receipt> {
  const body = JSON.stringify({ event, networkId: 1, eventId, transferId, amount: '25.00' });
  const response = await client.request('POST', '/events', body);
  if (response.status !== 202)
    throw new Error(`${eventId} was answered with ${response.status}: ${await response.text()}`);
  return (await response.json()) as Receipt;
}

async function race(instances: readonly Instance[], index: number): Promise<Race> {
  const transferId = `trf-${index}`;
  const [first, second = first] = index % 2 === 0 ? instances : instances.toReversed();
  if (first === undefined || second === undefined) throw new Error('no instance runs');
  const apartMs = (Math.random() * 2 - 1) * MOST_APART_MS;
  const [reminder, paidAtMs] = await Promise.all([
    Bun.sleep(Math.max(0, -apartMs)).then(() => send(first, 'LatePayment', transferId, reminderOf(transferId))),
    Bun.sleep(Math.max(0, apartMs))
      .then(() => send(second, 'TransferProcessed', transferId, paymentOf(transferId)))
      .then(nowMs),
  ]);
  return { transferId, reminder, paidAtMs };
}

async function raceAll(instances: readonly Instance[]): Promise<Race[]> {
  const races: Race[] = [];
  let next = 0;
  const work = async () => {
    while (next < RACES) races.push(await race(instances, next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return races;
}

async function untilIdle({ client }: Instance, url: string): Promise<void> {
  const endsAtMs = performance.now() + IDLE_WITHIN_MS;
  while ((await findEndpoint(client, url)).waiting > 0) {
    if (performance.now() > endsAtMs) throw new Error('deliveries still wait');
    await Bun.sleep(100);
  }
}

/** Reminders for transfers that are paid: each has to be refused with the id of the payment. */
async function remindAgain(instance: Instance, races: readonly Race[]): Promise<number> {
  let refused = 0;
  for (const { transferId } of races) {
    const receipt = await send(instance, 'LatePayment', transferId, `${transferId}-again`);
    if (receipt.deliveries === 0 && receipt.supersededBy === paymentOf(transferId)) refused++;
  }
  return refused;
}

type Figures = {
  reminderFirst: number;
  delivered: number;
  superseded: number;
  onArrival: number;
  inFlight: Late[];
  refusedAgain: number;
  wrong: string[];
};

function judge(races: readonly Race[], entries: readonly FeedEntry[], requests: readonly ReceivedRequest[]) {
  const statusOf = new Map(entries.map(({ eventId, status }) => [eventId, status]));
  const requestsOf = Map.groupBy(requests, ({ eventId }) => eventId);
  const wrong: string[] = [];
  const inFlight: Late[] = [];
  for (const one of races) {
    const { transferId, reminder, paidAtMs } = one;
    const arrived = requestsOf.get(reminderOf(transferId)) ?? [];
    const status = statusOf.get(reminderOf(transferId));
    if (statusOf.get(paymentOf(transferId)) !== 'delivered') wrong.push(`the payment ${transferId} was not delivered`);
    if (requestsOf.has(`${transferId}-again`)) wrong.push(`a reminder after the payment ${transferId} was sent`);
    if (reminder.deliveries === 0) {
      if (reminder.supersededBy !== paymentOf(transferId)) wrong.push(`${transferId} does not name its payment`);
      if (arrived.length > 0 || status !== undefined) wrong.push(`${transferId} was superseded on arrival and sent`);
      continue;
    }
    if (status !== 'delivered' && status !== 'superseded') wrong.push(`the reminder ${transferId} ended as ${status}`);
    const late = arrived.flatMap(({ receivedAtMs }, attempt) =>
      receivedAtMs > paidAtMs ? { race: one, attempt, byMs: receivedAtMs - paidAtMs } : [],
    );
    // One attempt at a time is in flight, so that a second one was begun after the payment.
    if (late.length > 1) wrong.push(`the reminder ${transferId} was sent again after its payment`);
    inFlight.push(...late);
  }
  return { wrong, inFlight };
}

async function run(engine: Engine): Promise<Figures> {
  // Of every other transfer, all requests of the reminder are refused: it waits for a retry when the payment comes.
  const isRefused = ({ eventId }: ReceivedRequest) => /^trf-\d*[13579]-LatePayment$/.test(eventId);
  await using ledger = new Ledger((request) => new Response('', { status: isRefused(request) ? 503 : 200 }));
  const service = await Instances.on(engine, { RETRY_SCHEDULE, LOG_LEVEL: 'warn' });
  try {
    const instances = [await service.start()];
    if (engine === 'postgres') instances.push(await service.start());
    const [first] = instances;
    if (first === undefined) throw new Error('no instance runs');
    const url = ledger.url();
    await first.client.register(url, ['LatePayment', 'TransferProcessed']);
    const races = await raceAll(instances);
    await untilIdle(first, url);
    const refusedAgain = await remindAgain(first, races);
    await Bun.sleep(AFTERWARDS_MS);
    const { endpointId } = await findEndpoint(first.client, url);
    const entries = await readWholeFeed(first.client, endpointId);
    const { wrong, inFlight } = judge(races, entries, ledger.requests);
    const reminders = entries.filter(({ event }) => event === 'LatePayment');
    const reminderFirst = races.filter(({ reminder }) => reminder.deliveries === 1).length;
    wrong.push(...wrongNumbers(entries, RACES + reminderFirst));
    if (refusedAgain !== RACES) wrong.push(`${RACES - refusedAgain} reminders after the payment were accepted`);
    return {
      reminderFirst,
      delivered: reminders.filter(({ status }) => status === 'delivered').length,
      superseded: reminders.filter(({ status }) => status === 'superseded').length,
      onArrival: RACES - reminderFirst,
      inFlight,
      refusedAgain,
      wrong,
    };
  } finally {
    await service.stop();
  }
}

async function main(): Promise<number> {
  const rows: string[][] = [];
  let isWrong = false;
  for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
    const figures = await run(engine);
    const { reminderFirst, delivered, superseded, onArrival, inFlight, refusedAgain, wrong } = figures;
    const latestMs = Math.max(0, ...inFlight.map(({ byMs }) => byMs));
    const counts = [RACES, reminderFirst, delivered, superseded, onArrival, inFlight.length].map(String);
    rows.push([engine, ...counts, latestMs.toFixed(1), `${refusedAgain} of ${RACES}`, String(wrong.length)]);
    for (const sentence of wrong.slice(0, 10)) printLine(`${engine}: ${sentence}`);
    isWrong ||= wrong.length > 0;
  }
  const headings = ['store', 'races', 'reminder first', 'delivered', 'superseded', 'superseded on arrival'];
  printTable([...headings, 'in flight', 'latest ms', 'refused later', 'wrong'], rows, '');
  return isWrong ? 1 : 0;
}

await runAndExit(main);
