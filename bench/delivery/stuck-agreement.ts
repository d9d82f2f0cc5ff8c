import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { changeEndpoint, findEndpoint } from '../../test/support/endpoint-feed.ts';
import { Instances } from '../../test/support/instances.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { KIND, nextSubjects } from '../harness/event-bodies.ts';
import { median, quantile } from '../harness/rounds.ts';
import { type LedgerReceivers, startLedgerReceivers } from './ledger-receivers.ts';
import { sendLines } from './many-destinations.ts';

/**
 * One URL, and one agreement whose events the receiver always refuses: the latency of the events of the other agreements,
 * from sent to received, with the ordering `agreement` compared with a second service with `none` and without that
 * agreement.
 * `npx bun bench/delivery/stuck-agreement.ts --rounds 3 --seconds 8 --store sqlite`
 */

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '8' },
    agreements: { type: 'string', default: '1000' },
    /** Events of the agreement that is stuck, before the others are measured. */
    stuck: { type: 'string', default: '50' },
    store: { type: 'string' },
  },
});
const EVENTS = Number(values.rate) * Number(values.seconds);
const EVENTS_WARM_UP = 500;
const AGREEMENTS = Number(values.agreements);
const TARGET = 1.5;
const STUCK = 'stuck';
/** The first event of the agreement is refused once a second for as long as the measurement takes. */
const RETRY_SCHEDULE = `0s${',1s'.repeat(49)}`;
const ORDERINGS = ['none', 'agreement'] as const;

/** When each event was sent, by its id. */
type SentAtMs = Map<string, number>;
type Figures = { medianMs: number; p99Ms: number; worstMs: number };
type Side = { client: Client; receivers: LedgerReceivers; stop: () => Promise<void> };

async function startSide(engine: Engine, ordering: (typeof ORDERINGS)[number]): Promise<Side> {
  const receivers = await startLedgerReceivers({ receivers: 1, refused: `${STUCK}-` });
  const instances = await Instances.on(engine, { RETRY_SCHEDULE, LOG_LEVEL: 'warn' });
  const { client } = await instances.start();
  const url = receivers.urls[0] ?? '';
  await client.register(url, [KIND]);
  await changeEndpoint(client, (await findEndpoint(client, url)).endpointId, { ordering });
  const stop = async () => {
    await instances.stop();
    await receivers.stop();
  };
  return { client, receivers, stop };
}

function bodyOf(eventId: string, agreementId: string): string {
  const { transferId } = nextSubjects();
  return JSON.stringify({ eventId, event: KIND, networkId: 1, transferId, agreementId, amount: '25.00' });
}

/** Both at the same time, with events sent to each in alternation, so that other work on the machine affects both alike. */
async function measure(engine: Engine, round: number): Promise<{ none: Figures; agreement: Figures }> {
  // The order of starting may matter, so it alternates.
  const order = round % 2 === 0 ? ORDERINGS : ORDERINGS.toReversed();
  const sides = new Map<string, Side>();
  try {
    for (const ordering of order) sides.set(ordering, await startSide(engine, ordering));
    const [none, agreement] = ORDERINGS.map((ordering) => sides.get(ordering));
    if (none === undefined || agreement === undefined) throw new Error('a service is missing');
    await sendSteadily([none.client, agreement.client], EVENTS_WARM_UP, 'warm-up');
    const stuck = Array.from({ length: Number(values.stuck) }, (_, index) => bodyOf(`${STUCK}-${index}`, STUCK));
    await sendLines(agreement.client, stuck);
    const [sentToNone, sentToAgreement] = await sendSteadily([none.client, agreement.client], EVENTS, 'measured');
    await requireStuck(agreement.client, agreement.receivers.urls[0] ?? '');
    return {
      none: await figuresOf(sentToNone, none.receivers),
      agreement: await figuresOf(sentToAgreement, agreement.receivers),
    };
  } finally {
    for (const side of sides.values()) await side.stop();
  }
}

/** Otherwise nothing was measured. */
async function requireStuck(client: Client, url: string): Promise<void> {
  const { waiting } = await findEndpoint(client, url);
  if (waiting < Number(values.stuck)) throw new Error(`only ${waiting} deliveries of the stuck agreement wait`);
}

/** At fixed times and not after each response, because slow responses would otherwise lower the load that shows them. */
async function sendSteadily(
  clients: readonly [Client, Client],
  events: number,
  prefix: string,
): Promise<[SentAtMs, SentAtMs]> {
  const sentAtMs: [SentAtMs, SentAtMs] = [new Map(), new Map()];
  const responses: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let index = 0; index < events * 2; index++) {
    const aheadMs = startedAtMs + (index * 500) / Number(values.rate) - performance.now();
    if (aheadMs > 1) await Bun.sleep(aheadMs);
    const side = index % 2 === 0 ? 0 : 1;
    const eventId = `${prefix}-${index}`;
    const body = bodyOf(eventId, `agr-${Math.floor(index / 2) % AGREEMENTS}`);
    sentAtMs[side].set(eventId, performance.timeOrigin + performance.now());
    responses.push(clients[side].request('POST', '/events', body).then((response) => response.text()));
  }
  await Promise.all(responses);
  return sentAtMs;
}

async function figuresOf(sentAtMs: SentAtMs, receivers: LedgerReceivers): Promise<Figures> {
  for (let polls = 0; polls < 1_200 && (await receivers.count()).received < EVENTS_WARM_UP + EVENTS; polls++)
    await Bun.sleep(50);
  const tookMs = (await receivers.ledger()).flatMap(({ eventId, receivedAtMs }) => {
    const sent = sentAtMs.get(eventId);
    return sent === undefined ? [] : [receivedAtMs - sent];
  });
  if (tookMs.length < EVENTS) throw new Error(`${EVENTS - tookMs.length} events did not arrive`);
  return { medianMs: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), worstMs: quantile(tookMs, 1) };
}

async function main(): Promise<number> {
  const shown = ({ medianMs, p99Ms, worstMs }: Figures) => [medianMs, p99Ms, worstMs].map((ms) => ms.toFixed(2));
  const rows: string[][] = [];
  let missed = false;
  for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
    const all: { none: Figures; agreement: Figures }[] = [];
    for (let round = 1; round <= Number(values.rounds); round++) {
      const pair = await measure(engine, round);
      all.push(pair);
      for (const ordering of ORDERINGS) rows.push([engine, String(round), ordering, ...shown(pair[ordering])]);
    }
    const ratio = (figure: keyof Figures) => median(all.map((pair) => pair.agreement[figure] / pair.none[figure]));
    rows.push([
      engine,
      'ratio',
      '',
      ...[ratio('medianMs'), ratio('p99Ms'), ratio('worstMs')].map((one) => one.toFixed(2)),
    ]);
    missed ||= !(ratio('p99Ms') <= TARGET);
  }
  printTable(['store', 'round', 'ordering', 'median ms', 'p99 ms', 'worst ms'], rows, '');
  printLine(`\nTarget: a p99 of at most ${TARGET} times that of \`none\`: ${missed ? 'missed' : 'met'}.`);
  return missed ? 1 : 0;
}

await runAndExit(main);
