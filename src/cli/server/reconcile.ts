import type { Command } from 'commander';
import type { BookComparison, Reconciliation } from '../../client/events/reconciliations.ts';
import { reconciliationQuerySchema } from '../../contract/events/reconciliation.ts';
import { showCount } from '../../domain/errors.ts';
import { readBook } from '../formats/book-file.ts';
import { type OptionValues, parseOptions } from '../options/list-options.ts';
import { ReportedFailure } from '../terminal/command-error.ts';
import { printable, printJson, printLine } from '../terminal/output.ts';
import { printFields, printTable } from '../terminal/table.ts';
import { addServerOptions, openSession } from './session.ts';

export function addReconcile(program: Command): void {
  const reconcile = program
    .command('reconcile')
    .description('sum up the deliveries of a day, or compare them with your own list')
    .argument(
      '[file]',
      'your events of the day, with eventId, event, token and amount: JSON Lines, or CSV with a header',
    )
    .requiredOption('--day <date>', 'the day of acceptance in UTC, such as 2026-01-31')
    .option('--network-id <id>', 'only events of this network')
    .option('--endpoint <id>', 'only events and deliveries for this endpoint')
    .option('--events <list>', 'only these kinds, separated by commas');
  const examples = [
    'reconcile --day 2026-01-31',
    'reconcile --day 2026-01-31 my-payments.csv --endpoint ep_00000000000001',
  ];
  addServerOptions(reconcile, examples).action(showReconciliation);
}

async function showReconciliation(file: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const { endpoint, ...filters } = own;
  const given = endpoint === undefined ? filters : { ...filters, endpointId: endpoint };
  const query = parseOptions(reconciliationQuerySchema, given, { endpointId: 'endpoint' });
  if (file === undefined) {
    const summary = await client.reconciliations.get(query);
    if (json) return printJson(summary);
    return printSummary(summary);
  }
  const comparison = await client.reconcile(query, await readBook(file));
  if (json) printJson(comparison);
  else printComparison(comparison);
  if (!comparison.agrees) throw new ReportedFailure();
}

function printSummary(summary: Reconciliation): void {
  const { day, endpointId, isOver, events, acknowledged, sha256, totals } = summary;
  printTable(
    ['network', 'event', 'token', 'events', 'amount', 'final', 'sent', 'acknowledged', 'acknowledged amount'],
    totals.map((total) => [
      String(total.networkId),
      total.event,
      inOneLine(total.token ?? ''),
      String(total.events),
      total.amount,
      String(total.final),
      String(total.sent),
      String(total.acknowledged),
      total.acknowledgedAmount,
    ]),
    endpointId === null ? `No events were accepted on ${day}.` : `${endpointId} has no events of ${day}.`,
  );
  printLine();
  printTokens(summary);
  printFields({
    day: isOver ? day : `${day}, which is not over yet`,
    ...(endpointId !== null && { endpoint: endpointId }),
    acknowledged: `${acknowledged} of ${showCount(events, 'event')}`,
    sha256,
  });
}

/** The payments whose blocks are of this day. */
function printTokens({ tokens, undatedPayments }: Reconciliation): void {
  if (tokens.length > 0) {
    printTable(
      ['network', 'token', 'on chain', 'sent', 'acknowledged', 'retracted', 'net', 'missing', 'open retractions'],
      tokens.map((sums) => [
        String(sums.networkId),
        inOneLine(sums.token ?? ''),
        ...[sums.onChain, sums.sent, sums.acknowledged, sums.retracted, sums.net, sums.missing],
        sums.unacknowledgedRetractions,
      ]),
      '',
    );
    printLine();
  }
  if (undatedPayments === 0) return;
  printLine(`${showCount(undatedPayments, 'payment')} without the date of a block: not in these sums.`);
  printLine();
}

/** Texts of payloads may hold anything. */
function inOneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ');
}

const WORDS = {
  missing: 'not in your list',
  unknown: 'only in your list',
  different: 'differs',
  unacknowledged: 'not acknowledged',
  twice: 'twice in your list',
} as const;

function printComparison({ agrees, differences, paybell }: BookComparison): void {
  if (agrees) {
    printLine(`Both have the same ${showCount(paybell.acknowledged, 'event')} of ${paybell.day}.`);
    return;
  }
  const shown = (entry: BookComparison['differences'][number]['yours']) =>
    entry === null ? '' : inOneLine([entry.event, entry.amount, entry.token].filter(Boolean).join(' '));
  printTable(
    ['event-id', 'difference', 'progress', 'paybell', 'yours'],
    differences.map(({ eventId, difference, paybell: ours, yours }) => [
      eventId,
      WORDS[difference],
      ours?.progress ?? '',
      shown(ours),
      shown(yours),
    ]),
    '',
  );
  printLine();
  printLine(
    `${showCount(differences.length, 'event')} of ${paybell.day} ${differences.length === 1 ? 'differs' : 'differ'}.`,
  );
}
