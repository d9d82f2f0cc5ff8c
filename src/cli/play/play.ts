import { Argument, type Command, InvalidArgumentError } from 'commander';
import { showCount } from '../../domain/errors.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import { MAX_NETWORK_ID, networkName } from '../../domain/networks.ts';
import { randomBytes } from '../../store/new-id.ts';
import { showDuration } from '../formats/amounts.ts';
import { wholeNumber } from '../options/values.ts';
import { addServerOptions, openSession, type ServerOptions } from '../server/session.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { paint, printJson, printLine } from '../terminal/output.ts';
import { DECIMAL_AMOUNT } from './decimals.ts';
import { waitUntilSent } from './original-sent.ts';
import type { ScenarioEvent } from './scenario-writer.ts';
import {
  SCENARIO_MEANINGS,
  SCENARIO_NAMES,
  type ScenarioName,
  scenarioLengthS,
  summarizeScenario,
  writeScenario,
} from './scenarios.ts';
import { sendTimesMs, sleepUntil, startSecond } from './timing.ts';

/** A day in a tenth of a second: three months in nine seconds. */
const DEFAULT_SPEED = 864_000;
/** With the date and the number of webhooks, a line fits into 80 columns. */
const EVENT_WIDTH = 24;
const TEXT_WIDTH = 31;

const SPEED = wholeNumber(
  1,
  999_999_999,
  'Give a whole number of at least 1: 1 is real time, 86400 is a day per second.',
);
const NETWORK = wholeNumber(0, MAX_NETWORK_ID, 'Give the id of a network such as 8453.');

export function addPlay(program: Command): void {
  const play = program
    .command('play')
    .description('play a scenario: send the events of a whole agreement in order')
    .addArgument(new Argument('<scenario>', 'scenario to play').choices(SCENARIO_NAMES))
    .option('--speed <times>', 'how many times faster than real time', SPEED, DEFAULT_SPEED)
    .option('--periods <n>', 'number of months', wholeNumber(1, 120), 3)
    .option('--amount <decimal>', 'price of a month', parseAmount, '25.00')
    .option('--network-id <id>', 'network of the events', NETWORK, 8453)
    .option('--dry-run', 'only print the events; needs no server');
  const scenarios = SCENARIO_NAMES.map((name) => `  ${name.padEnd(16)} ${SCENARIO_MEANINGS[name]}`);
  addServerOptions(
    play,
    ['play subscription', 'play late-payment --speed 86400', 'play cancelled --dry-run'],
    `Scenarios:\n${scenarios.join('\n')}\n\nFaster than real time, the dates lie in the past, and the last event is dated now.`,
  ).action(run);
}

type Options = ServerOptions & {
  speed: number;
  periods: number;
  amount: string;
  networkId: number;
  dryRun?: boolean;
};

async function run(name: ScenarioName, options: Options): Promise<void> {
  const { speed, periods, amount, networkId, dryRun = false, ...server } = options;
  const client = dryRun ? null : openSession(server).client;
  const lengthS = scenarioLengthS(name, periods);
  const startMs = Date.now();
  const startS = startSecond(startMs, lengthS, speed);
  const events = writeScenario(name, { networkId, amount, startS, random: randomBytes }, periods);
  const say = server.json ? () => undefined : printLine;
  const times = sendTimesMs(events, startMs, speed);
  say(heading(name, events, networkId, Math.max(0, (times.at(-1) ?? startMs) - startMs)));
  let unmatched = 0;
  for (const [index, event] of events.entries()) {
    if (client !== null) await sleepUntil(times[index] ?? startMs);
    if (client !== null && event.event === RETRACTION) await waitUntilSent(client, event.retracts.eventId);
    const deliveries = client === null ? null : (await client.events.publish(event)).deliveries;
    // A retraction goes to the receivers of the original, and there may be none.
    if (deliveries === 0 && event.event !== RETRACTION) unmatched++;
    if (server.json) printJson({ deliveries, payload: event });
    else printLine(showEvent(event, deliveries));
  }
  const { transfers, paid, amount: total } = summarizeScenario(events);
  say(`\n${showCount(transfers, 'transfer')}, ${paid} paid, ${total} ${currencyOf(events)} in total.`);
  if (unmatched > 0) {
    const hint = `${PAYBELL} webhooks create <postUrl>`;
    say(paint(`No webhook is registered for ${unmatched} of the ${events.length} events: ${hint}`, 'yellow'));
  }
}

function heading(name: ScenarioName, events: readonly ScenarioEvent[], networkId: number, lastsMs: number): string {
  const lengthMs = ((events.at(-1)?.dateCreated ?? 0) - (events[0]?.dateCreated ?? 0)) * 1000;
  const pace = `${showDuration(lengthMs)} in ${showDuration(lastsMs)}`;
  return `${paint(name, 'bold')} of ${events[0]?.agreementId} on ${networkName(networkId)}, ${pace}\n`;
}

/** Ends with the number of webhooks that the event went to. */
function showEvent(event: ScenarioEvent, deliveries: number | null): string {
  const date = new Date(event.dateCreated * 1000).toISOString().slice(0, 16).replace('T', ' ');
  const webhooks = deliveries === null ? '' : `→ ${deliveries}`;
  const transfer = 'transferId' in event ? `…${event.transferId.slice(-6)} ` : '';
  const text = `${transfer}${textOf(event)}`;
  return `${paint(date, 'dim')}  ${event.event.padEnd(EVENT_WIDTH)}  ${text.padEnd(TEXT_WIDTH)} ${webhooks}`.trimEnd();
}

function textOf(event: ScenarioEvent): string {
  if (event.event === RETRACTION) return `retracts …${event.retracts.eventId.slice(-6)}`;
  const late = event.event === 'LatePayment' ? `, ${showCount(event.daysLate, 'day')} late` : '';
  const again = 'revision' in event && (event.revision ?? 1) > 1 ? `, revision ${event.revision}` : '';
  return `${event.amount} ${event.currency}${late}${again}`;
}

function currencyOf([first]: readonly ScenarioEvent[]): string {
  return first !== undefined && 'currency' in first ? first.currency : '';
}

function parseAmount(text: string): string {
  if (DECIMAL_AMOUNT.test(text)) return text;
  throw new InvalidArgumentError('Give a decimal amount such as 25.00.');
}
