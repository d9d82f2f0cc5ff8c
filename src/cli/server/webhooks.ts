import { type Command, InvalidArgumentError } from 'commander';
import type { Paybell } from '../../client/paybell.ts';
import type { WebhookList } from '../../client/webhooks.ts';
import { webhookListQuerySchema, webhookMatchSchema } from '../../contract/webhooks.ts';
import { networkName } from '../../domain/networks.ts';
import { addListOptions, parseOptions } from '../formats/list-options.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, printTable, printTotal, showDate } from '../terminal/output.ts';
import { finishRemote, type Given, openSession, type ServerOptions } from './session.ts';
import { addWebhookHealth } from './webhook-health.ts';

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('registrations: which events of which networks go where');
  const list = addFilters(webhooks.command('list').description('list webhooks, newest first'));
  list.option('--webhook-id <id>', 'only this one');
  finishRemote(addListOptions(list), ['webhooks list --event TransferFinalized --sort-by postUrl']).action(listThem);
  const create = webhooks
    .command('create')
    .description('register a URL; what is registered already stays as it is')
    .argument('<postUrl>', 'where the posts go')
    .option('--networks <ids>', 'comma list of network ids; all known ones when absent', parseNetworks)
    .option('--events <kinds>', 'comma list of kinds of events; all known ones when absent', parseList);
  finishRemote(create, [
    'webhooks create https://example.com/hook --networks 1,8453 --events TransferFinalized,LatePayment',
  ]).action(register);
  const update = addFilters(webhooks.command('update').description('move one webhook, or all that match, to a URL'))
    .argument('[webhookId]', 'this one; without it, all that match the filters')
    .requiredOption('--to <url>', 'where the posts go from now on')
    .option('--post-url <url>', 'only those that go to this URL')
    .option('--dry-run', 'only count');
  finishRemote(update, ['webhooks update --post-url https://old.example/hook --to https://new.example/hook']).action(
    move,
  );
  const remove = addFilters(webhooks.command('delete').description('remove one webhook, or all that match'))
    .argument('[webhookId]', 'this one; without it, all that match the filters')
    .option('--post-url <url>', 'only those that go to this URL')
    .option('--dry-run', 'only count');
  finishRemote(remove, ['webhooks delete --post-url https://old.example/hook --dry-run']).action(removeThem);
  addWebhookHealth(webhooks);
}

function addFilters(command: Command): Command {
  return command
    .option('--network-id <id>', 'only of this network')
    .option('--event <kind>', 'only of this kind of event');
}

async function listThem(options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const found = await client.webhooks.list(parseOptions(webhookListQuerySchema, own));
  if (json) return printJson(found);
  printWebhooks(found);
  printTotal(found.totalResults, found.webhooks.length);
}

function printWebhooks({ webhooks }: WebhookList): void {
  printTable(
    ['webhook-id', 'network', 'event', 'created', 'url'],
    webhooks.map(({ webhookId, networkId, event, dateCreated, postUrl }) => [
      webhookId,
      `${networkId} ${networkName(networkId)}`,
      event,
      showDate(dateCreated),
      postUrl,
    ]),
    `No such webhooks. Register one: ${PAYBELL} webhooks create <postUrl>`,
  );
}

type CreateOptions = ServerOptions & { networks?: number[]; events?: string[] };

async function register(postUrl: string, { networks, events, ...options }: CreateOptions): Promise<void> {
  const { client, json } = openSession(options);
  const made = await client.webhooks.register({
    postUrl,
    ...(networks !== undefined && { networkIds: networks }),
    ...(events !== undefined && { events }),
  });
  if (json) return printJson(made);
  printWebhooks(made);
}

async function move(webhookId: string | undefined, { to, ...options }: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const postUrl = String(to);
  if (webhookId !== undefined) {
    refuseFilters(own);
    const webhook = await client.webhooks.change(webhookId, { postUrl });
    if (json) return printJson(webhook);
    return printLine(`${webhook.webhookId} goes to ${webhook.postUrl} now.`);
  }
  const { match, dryRun } = parseMatch(own);
  const { totalResults } = await (dryRun
    ? client.webhooks.countChanging(match, { postUrl })
    : client.webhooks.changeMatching(match, { postUrl }));
  printCount(totalResults, dryRun ? 'would be moved' : 'moved', json);
}

async function removeThem(webhookId: string | undefined, options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  if (webhookId !== undefined) {
    refuseFilters(own);
    await client.webhooks.delete(webhookId);
    return json ? printJson({ webhookId }) : printLine(`${webhookId} is removed.`);
  }
  const { match, dryRun } = parseMatch(own);
  const { totalResults } = await countOrDelete(client, match, dryRun);
  printCount(totalResults, dryRun ? 'would be removed' : 'removed', json);
}

type Match = ReturnType<typeof parseMatch>['match'];

function countOrDelete(client: Paybell, match: Match, dryRun: boolean) {
  return dryRun ? client.webhooks.countDeleting(match) : client.webhooks.deleteMatching(match);
}

function parseMatch({ dryRun, ...filters }: Given) {
  if (Object.keys(filters).length === 0) {
    throw new CommandError('give the id of a webhook, or at least one filter such as --post-url <url>', EXIT.usage);
  }
  const { dryRun: _, ...match } = parseOptions(webhookMatchSchema, filters);
  return { match, dryRun: dryRun === true };
}

function refuseFilters(own: Given): void {
  if (Object.keys(own).length === 0) return;
  throw new CommandError('give the id of one webhook, or filters for many, not both', EXIT.usage);
}

function printCount(totalResults: number, done: string, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${totalResults} ${totalResults === 1 ? 'webhook' : 'webhooks'} ${done}.`);
}

function parseList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

function parseNetworks(text: string): number[] {
  return parseList(text).map((item) => {
    if (!/^[0-9]{1,16}$/.test(item)) throw new InvalidArgumentError('Give network ids such as 1,8453.');
    return Number(item);
  });
}
