import type { Command } from 'commander';
import { EVENT_KINDS } from '../../../domain/event-kinds.ts';
import { showResult } from '../../formats/delivery-tables.ts';
import type { OptionValues } from '../../options/list-options.ts';
import { ReportedFailure } from '../../terminal/command-error.ts';
import { paint, printable, printJson, printLine, showDate } from '../../terminal/output.ts';
import { printFields, printTable } from '../../terminal/table.ts';
import { addServerOptions, openSession } from '../session.ts';

const EXAMPLE_ID = 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';

/** The commands that test, inspect and resume a webhook, and the coverage of all of them. */
export function addWebhookHealth(webhooks: Command): void {
  const onWebhook = (name: string, description: string) =>
    addServerOptions(webhooks.command(name).description(description).argument('<webhookId>', 'id of the webhook'), [
      `webhooks ${name} ${EXAMPLE_ID}`,
    ]);
  onWebhook('test', 'send one test request now; fails unless the response is 2xx').action(sendTest);
  onWebhook('health', 'show whether it is active, and its last success and failure').action(showHealth);
  onWebhook('resume', 'resume a suspended webhook, and send the deliveries that were held').action(resume);
  const coverage = webhooks
    .command('coverage')
    .description('show how many webhooks there are for each event of each network');
  addServerOptions(coverage, ['webhooks coverage']).action(showCoverage);
}

async function sendTest(webhookId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const test = await client.webhooks.sendTest(webhookId);
  if (json) printJson(test);
  else {
    const outcome = test.delivered ? paint('delivered', 'green') : paint('not delivered', 'red');
    printLine(`${outcome}: ${showResult(test.statusCode, test.error)} in ${test.durationMs} ms`);
    if (test.response) printLine(paint(printable(test.response), 'dim'));
  }
  if (!test.delivered) throw new ReportedFailure();
}

async function showHealth(webhookId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const health = await client.webhooks.health(webhookId);
  if (json) return printJson(health);
  const state = health.reason === null ? health.state : `${health.state} (${health.reason})`;
  printFields({
    webhook: health.webhookId,
    state: paint(state, health.state === 'active' ? 'green' : 'red'),
    'consecutive failures': String(health.failuresInARow),
    'last success': showDate(health.dateLastSuccess),
    'last failure': showDate(health.dateLastFailure),
  });
}

async function resume(webhookId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const webhook = await client.webhooks.resume(webhookId);
  if (json) printJson(webhook);
  else printLine(`${webhook.webhookId} is active. Deliveries that were held for it are queued.`);
}

async function showCoverage(options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const { networks } = await client.webhooks.coverage();
  if (json) return printJson({ networks });
  const events = networks.flatMap((network) => network.events.map(({ event }) => event));
  const kinds = [...new Set<string>([...EVENT_KINDS, ...events])];
  // Networks are the columns, because their ids are short, so that the table fits into 80 characters.
  printTable(
    ['event', ...networks.map(({ networkId }) => String(networkId))],
    kinds.map((kind) => [kind, ...networks.map((network) => showCell(network.events.find((it) => it.event === kind)))]),
    'No networks are known.',
  );
}

/** A dot where no webhook is registered, so that gaps are easy to see. */
function showCell(count: { webhooks: number; suspended: number } | undefined): string {
  if (count === undefined || count.webhooks === 0) return '·';
  if (count.suspended === 0) return String(count.webhooks);
  return paint(`${count.webhooks} (${count.suspended} off)`, 'yellow');
}
