import type { Command } from 'commander';
import { EVENT_KINDS } from '../../domain/event-kinds.ts';
import { ReportedFailure } from '../terminal/command-error.ts';
import { paint, printable, printFields, printJson, printLine, printTable, showDate } from '../terminal/output.ts';
import { finishRemote, type Given, openSession } from './session.ts';

/** How webhooks fare: one tried, one looked at, one put back, and all of them on one page. */
export function addWebhookHealth(webhooks: Command): void {
  const ofOne = (name: string, description: string) =>
    webhooks.command(name).description(description).argument('<webhookId>');
  finishRemote(ofOne('test', 'send one marked sample post now; fails when it is not taken'), [
    'webhooks test wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  ]).action(sendTest);
  finishRemote(ofOne('health', 'whether it is in service, and how it fares'), [
    'webhooks health wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  ]).action(showHealth);
  finishRemote(ofOne('resume', 'put a suspended webhook back into service; what was held is sent'), [
    'webhooks resume wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  ]).action(resume);
  const coverage = webhooks
    .command('coverage')
    .description('how many webhooks there are for each event of each network');
  finishRemote(coverage, ['webhooks coverage']).action(showCoverage);
}

async function sendTest(webhookId: string, options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const answer = await client.webhooks.sendTest(webhookId);
  if (json) printJson(answer);
  else {
    const said = answer.statusCode ?? answer.error;
    const outcome = answer.delivered ? paint('delivered', 'green') : paint('not delivered', 'red');
    printLine(`${outcome}: ${said} in ${answer.durationMs} ms`);
    if (answer.response) printLine(paint(printable(answer.response), 'dim'));
  }
  if (!answer.delivered) throw new ReportedFailure();
}

async function showHealth(webhookId: string, options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const health = await client.webhooks.health(webhookId);
  if (json) return printJson(health);
  const state = health.reason === null ? health.state : `${health.state} (${health.reason})`;
  printFields({
    webhook: health.webhookId,
    state: paint(state, health.state === 'active' ? 'green' : 'red'),
    'failures in a row': String(health.failuresInARow),
    'last success': showDate(health.dateLastSuccess),
    'last failure': showDate(health.dateLastFailure),
  });
}

async function resume(webhookId: string, options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const webhook = await client.webhooks.resume(webhookId);
  if (json) printJson(webhook);
  else printLine(`${webhook.webhookId} is in service; what was held for it is on its way.`);
}

async function showCoverage(options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const { networks } = await client.webhooks.coverage();
  if (json) return printJson({ networks });
  const others = networks.flatMap(({ events }) => events.map(({ event }) => event));
  const kinds = [...new Set<string>([...EVENT_KINDS, ...others])];
  // The short ids are the columns: so the page fits a terminal of 80.
  printTable(
    ['event', ...networks.map(({ networkId }) => String(networkId))],
    kinds.map((kind) => [kind, ...networks.map(({ events }) => cell(events.find(({ event }) => event === kind)))]),
    'No networks are known.',
  );
}

/** A dot where nobody listens, so that the eye finds the gaps. */
function cell(found: { webhooks: number; suspended: number } | undefined): string {
  if (found === undefined || found.webhooks === 0) return '·';
  return found.suspended === 0 ? String(found.webhooks) : paint(`${found.webhooks} (${found.suspended} off)`, 'yellow');
}
