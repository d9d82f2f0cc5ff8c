import { type Command, InvalidArgumentError } from 'commander';
import type { WebhookList } from '../../client/webhooks.ts';
import { webhookListQuerySchema, webhookMatchSchema } from '../../contract/webhooks.ts';
import { showCount } from '../../domain/errors.ts';
import { networkName } from '../../domain/networks.ts';
import { addListOptions, type OptionValues, parseOptions } from '../options/list-options.ts';
import { parseList } from '../options/values.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, showDate } from '../terminal/output.ts';
import { printFields, printTable, printTotal } from '../terminal/table.ts';
import { addServerOptions, openSession, type ServerOptions } from './session.ts';
import { warnOfUnknownNetworks } from './unknown-networks.ts';
import { addWebhookHealth } from './webhook-health.ts';

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('registrations: which events go to which URL');
  const list = addFilters(webhooks.command('list').description('list webhooks, newest first'));
  list.option('--webhook-id <id>', 'only this webhook');
  addServerOptions(addListOptions(list), ['webhooks list --event TransferFinalized --sort-by postUrl']).action(
    listWebhooks,
  );
  const show = webhooks.command('show').description('show a webhook').argument('<webhookId>', 'id of the webhook');
  addServerOptions(show, ['webhooks show wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6']).action(showWebhook);
  const create = webhooks
    .command('create')
    .description('register a URL; existing webhooks stay unchanged')
    .argument('<postUrl>', 'URL that receives the events')
    .option('--networks <ids>', 'comma-separated network ids (default: all known networks)', parseNetworks)
    .option('--events <kinds>', 'comma-separated kinds of events (default: all known kinds)', parseList);
  addServerOptions(create, [
    'webhooks create https://example.com/hook --networks 1,8453 --events TransferFinalized,LatePayment',
  ]).action(register);
  const update = addOneOrMany(
    webhooks.command('update').description('change the URL of a webhook, or of all that match'),
  );
  update.requiredOption('--to <url>', 'the new URL');
  addServerOptions(update, [
    'webhooks update --post-url https://old.example/hook --to https://new.example/hook',
  ]).action(updateOneOrMany);
  const remove = addOneOrMany(webhooks.command('delete').description('delete a webhook, or all that match'));
  addServerOptions(remove, ['webhooks delete --post-url https://old.example/hook --dry-run']).action(deleteOneOrMany);
  addWebhookHealth(webhooks);
}

function addFilters(command: Command): Command {
  return command.option('--network-id <id>', 'only this network').option('--event <kind>', 'only this kind of event');
}

function addOneOrMany(command: Command): Command {
  return addFilters(command)
    .argument('[webhookId]', 'id of one webhook, instead of filters')
    .option('--post-url <url>', 'only webhooks with this URL')
    .option('--dry-run', 'only count the webhooks');
}

async function listWebhooks(options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const list = await client.webhooks.list(parseOptions(webhookListQuerySchema, own));
  if (json) return printJson(list);
  printWebhooks(list);
  printTotal(list.totalResults, list.webhooks.length);
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
    `No webhooks match. Register one: ${PAYBELL} webhooks create <postUrl>`,
    { shorten: { url: 12, event: 12, network: 12 }, leaveOut: ['created'] },
  );
}

async function showWebhook(webhookId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const webhook = await client.webhooks.get(webhookId);
  if (json) return printJson(webhook);
  const { networkId, event, postUrl, dateCreated } = webhook;
  printFields({
    webhook: webhook.webhookId,
    network: `${networkId} ${networkName(networkId)}`,
    event,
    url: postUrl,
    created: showDate(dateCreated),
  });
}

type CreateOptions = ServerOptions & { networks?: number[]; events?: string[] };

async function register(postUrl: string, { networks, events, ...options }: CreateOptions): Promise<void> {
  const { client, json } = openSession(options);
  await warnOfUnknownNetworks(client, networks ?? []);
  const registered = await client.webhooks.register({
    postUrl,
    ...(networks !== undefined && { networkIds: networks }),
    ...(events !== undefined && { events }),
  });
  if (json) return printJson(registered);
  printWebhooks(registered);
}

async function updateOneOrMany(webhookId: string | undefined, { to, ...options }: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const postUrl = String(to);
  if (webhookId !== undefined) {
    refuseFilters(own);
    const webhook = await client.webhooks.change(webhookId, { postUrl });
    if (json) return printJson(webhook);
    return printLine(`Updated ${webhook.webhookId}: its URL is ${webhook.postUrl}`);
  }
  const { match, dryRun } = parseMatch(own);
  const { totalResults } = await (dryRun
    ? client.webhooks.countChanging(match, { postUrl })
    : client.webhooks.changeMatching(match, { postUrl }));
  printChanged(totalResults, dryRun ? 'would be updated' : 'updated', json);
}

async function deleteOneOrMany(webhookId: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  if (webhookId !== undefined) {
    refuseFilters(own);
    await client.webhooks.delete(webhookId);
    return json ? printJson({ webhookId }) : printLine(`Deleted ${webhookId}.`);
  }
  const { match, dryRun } = parseMatch(own);
  const { totalResults } = await (dryRun
    ? client.webhooks.countDeleting(match)
    : client.webhooks.deleteMatching(match));
  printChanged(totalResults, dryRun ? 'would be deleted' : 'deleted', json);
}

function parseMatch({ dryRun, ...filters }: OptionValues) {
  if (Object.keys(filters).length === 0) {
    throw new CommandError('give a webhook id, or at least one filter such as --post-url <url>', EXIT.usage);
  }
  const { dryRun: _, ...match } = parseOptions(webhookMatchSchema, filters);
  return { match, dryRun: dryRun === true };
}

function refuseFilters(own: OptionValues): void {
  if (Object.keys(own).length === 0) return;
  throw new CommandError('give either a webhook id or filters, not both', EXIT.usage);
}

function printChanged(totalResults: number, what: string, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${showCount(totalResults, 'webhook')} ${what}.`);
}

function parseNetworks(text: string): number[] {
  return parseList(text).map((item) => {
    if (!/^[0-9]{1,16}$/.test(item)) throw new InvalidArgumentError('Give network ids such as 1,8453.');
    return Number(item);
  });
}
