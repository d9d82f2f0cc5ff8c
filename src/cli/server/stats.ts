import { type Command, Option } from 'commander';
import type { Stats } from '../../client/paybell.ts';
import { statsQuerySchema } from '../../contract/stats.ts';
import { STATS_INTERVALS } from '../../domain/stats.ts';
import { showBytes, showDuration } from '../formats/amounts.ts';
import { type OptionValues, parseOptions } from '../options/list-options.ts';
import { MOMENT, parseMoment } from '../options/values.ts';
import { printJson, printLine, showDate } from '../terminal/output.ts';
import { printFields, printTable, printTotal } from '../terminal/table.ts';
import { paintState } from './endpoints/endpoints.ts';
import { addServerOptions, openSession } from './session.ts';

export function addStats(program: Command): void {
  const stats = program
    .command('stats')
    .description('show events and deliveries over time, and how long deliveries take')
    .addOption(new Option('--interval <length>', 'length of one row (default: hour)').choices(STATS_INTERVALS))
    .option('--since <when>', `only from this moment on: ${MOMENT}`, parseMoment)
    .option('--until <when>', 'only before this moment', parseMoment)
    .addOption(
      new Option('--sort-by <order>', 'order of destinations (default: traffic)').choices(['traffic', 'failures']),
    )
    .option('--destination <origin>', 'only deliveries to this destination, such as https://example.com:443');
  addServerOptions(stats, ['stats', 'stats --interval day --since 7d']).action(showStats);
}

async function showStats(options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const stats = await client.stats(parseOptions(statsQuerySchema, own));
  if (json) return printJson(stats);
  printIntervals(stats);
  printLine();
  printDestinations(stats);
  printLine();
  const { waiting, oldestDueAgeMs } = stats.backlog;
  const overdue = oldestDueAgeMs === 0 ? 'none overdue' : `the oldest ${showDuration(oldestDueAgeMs)} overdue`;
  const { usedBytes, limitBytes } = stats.storage;
  printFields({
    waiting: waiting === 0 ? '0' : `${waiting}, ${overdue}`,
    storage: `${showBytes(usedBytes)} of ${limitBytes === null ? 'no limit' : showBytes(limitBytes)}`,
  });
}

type Figures = Omit<Stats['total'], 'events'>;
const FIGURES = ['accepted', 'delivered', 'failed', 'attempts', 'failed attempts', 'p50', 'p95', 'p99'] as const;
/** Columns that a narrow terminal needs least, in this order. */
const LEAVE_OUT = ['p95', 'p50', 'attempts', 'accepted', 'p99'];

/** Leaves out empty intervals, because a day has 1,440 minutes. */
function printIntervals({ intervals, total, dateStart, dateEnd }: Stats): void {
  const row = (start: string, { events, ...figures }: Stats['total']) => [
    start,
    events === null ? '–' : String(events),
    ...cellsOf(figures),
  ];
  const active = intervals.filter(({ events, accepted, attempts }) => (events ?? 0) + accepted + attempts > 0);
  const rows = active.map(({ dateStart: start, ...figures }) => row(showDate(start), figures));
  printTable(
    ['start', 'events', ...FIGURES],
    rows.length === 0 ? [] : [...rows, row('total', total)],
    `No events from ${showDate(dateStart)} to ${showDate(dateEnd)}.`,
    { shorten: {}, leaveOut: LEAVE_OUT },
  );
}

function printDestinations({ destinations, totalDestinations, destinationsDateStart, dateStart }: Stats): void {
  printTable(
    ['destination', 'state', 'waiting', ...FIGURES],
    destinations.map(({ destination, state, waiting, dateOldestDue: _, ...figures }) => [
      destination,
      paintState({ state }),
      String(waiting),
      ...cellsOf(figures),
    ]),
    'No destinations.',
    { shorten: { destination: 16 }, leaveOut: LEAVE_OUT },
  );
  printTotal(totalDestinations, destinations.length);
  if (destinationsDateStart < dateStart && destinations.length > 0) {
    printLine(`Destinations are counted by the hour: these figures begin at ${showDate(destinationsDateStart)}.`);
  }
}

function cellsOf({ accepted, delivered, failed, attempts, failedAttempts, timeToReceiptMs }: Figures): string[] {
  const { p50, p95, p99 } = timeToReceiptMs;
  const counts = [accepted, delivered, failed, attempts, failedAttempts].map(String);
  return [...counts, ...[p50, p95, p99].map((ms) => (ms === null ? '–' : showDuration(ms)))];
}
