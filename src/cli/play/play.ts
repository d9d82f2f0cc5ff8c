import { Argument, type Command, InvalidArgumentError } from 'commander';
import { MAX_NETWORK_ID, networkName } from '../../domain/networks.ts';
import { randomBytes } from '../../store/new-id.ts';
import { showDuration } from '../formats/amounts.ts';
import { finishRemote, openSession, type ServerOptions } from '../server/session.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { paint, printJson, printLine } from '../terminal/output.ts';
import { DECIMAL_AMOUNT } from './decimals.ts';
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

/** A day in a tenth of a second: three months in nine. */
const DEFAULT_SPEED = 864_000;
/** Together with date and arrow, what fits into 80 columns. */
const EVENT_WIDTH = 24;
const TEXT_WIDTH = 31;

export function addPlay(program: Command): void {
  const play = program
    .command('play')
    .description('send the whole story of an agreement, event by event, in order')
    .addArgument(new Argument('<story>').choices(SCENARIO_NAMES))
    .option('--speed <times>', 'how many times faster than life; 1 is real time', parseSpeed, DEFAULT_SPEED)
    .option('--periods <n>', 'how many months it has', parsePeriods, 3)
    .option('--amount <decimal>', 'what a month costs', parseAmount, '25.00')
    .option('--network-id <id>', 'network that it happens on', parseNetwork, 8453)
    .option('--dry-run', 'only show it; needs no server');
  const stories = SCENARIO_NAMES.map((name) => `  ${name.padEnd(16)} ${SCENARIO_MEANINGS[name]}`);
  finishRemote(
    play,
    ['play subscription', 'play late-payment --speed 86400', 'play cancelled --dry-run'],
    `Stories:\n${stories.join('\n')}\n\nFaster than life, its dates lie in the past, and the last event is dated now.`,
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
  let unheard = 0;
  for (const [index, event] of events.entries()) {
    if (client !== null) await sleepUntil(times[index] ?? startMs);
    const deliveries = client === null ? null : (await client.events.publish(event)).deliveries;
    if (deliveries === 0) unheard++;
    if (server.json) printJson({ deliveries, payload: event });
    else printLine(showEvent(event, deliveries));
  }
  const { transfers, paid, amount: total } = summarizeScenario(events);
  say(`\n${count(transfers, 'transfer')}, ${paid} of them paid, ${total} ${events[0]?.currency} in all.`);
  if (unheard > 0) {
    say(
      paint(
        `Nobody asked for ${unheard} of the ${events.length} events: ${PAYBELL} webhooks create <postUrl>`,
        'yellow',
      ),
    );
  }
}

function heading(name: ScenarioName, events: readonly ScenarioEvent[], networkId: number, lastsMs: number): string {
  const lengthMs = ((events.at(-1)?.dateCreated ?? 0) - (events[0]?.dateCreated ?? 0)) * 1000;
  const pace = `${showDuration(lengthMs)} in ${showDuration(lastsMs)}`;
  return `${paint(name, 'bold')} of ${events[0]?.agreementId} on ${networkName(networkId)}, ${pace}\n`;
}

function showEvent(event: ScenarioEvent, deliveries: number | null): string {
  const when = new Date(event.dateCreated * 1000).toISOString().slice(0, 16).replace('T', ' ');
  const heard = deliveries === null ? '' : `→ ${deliveries}`;
  const about = 'transferId' in event ? `…${event.transferId.slice(-6)} ` : '';
  const late = event.event === 'LatePayment' ? `, ${count(event.daysLate, 'day')} late` : '';
  const text = `${about}${event.amount} ${event.currency}${late}`;
  return `${paint(when, 'dim')}  ${event.event.padEnd(EVENT_WIDTH)}  ${text.padEnd(TEXT_WIDTH)} ${heard}`.trimEnd();
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function parseSpeed(text: string): number {
  const speed = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (speed >= 1) return speed;
  throw new InvalidArgumentError('Give a whole number from 1 on: 1 is real time, 86400 a day in a second.');
}

function parsePeriods(text: string): number {
  const periods = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (periods >= 1 && periods <= 120) return periods;
  throw new InvalidArgumentError('Give a whole number from 1 to 120.');
}

function parseAmount(text: string): string {
  if (DECIMAL_AMOUNT.test(text)) return text;
  throw new InvalidArgumentError('Give a decimal amount such as 25.00.');
}

function parseNetwork(text: string): number {
  const networkId = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (networkId <= MAX_NETWORK_ID) return networkId;
  throw new InvalidArgumentError('Give the id of a network such as 8453.');
}
