import type { Command } from 'commander';
import type { WebhookList } from '../../../client/webhooks.ts';
import { webhookListQuerySchema } from '../../../contract/webhooks.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { parseList, parseNetworks } from '../../options/values.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { printJson, showDate, showNetwork } from '../../terminal/output.ts';
import { printFields, printTable, printTotal } from '../../terminal/table.ts';
import { addServerOptions, openSession, type ServerOptions } from '../session.ts';
import { addMatchOptions, addWebhookChanges } from './changes.ts';
import { addFilterOptions, type FilterOptions, readFilter, showFilter } from './filter-option.ts';
import { addFinalityOption, type FinalityOption, readFinality, showFinality } from './finality-option.ts';
import { addWebhookHealth } from './health.ts';
import { warnOfUnknownNetworks } from './unknown-networks.ts';

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('registrations: which events go to which URL');
  const list = addMatchOptions(webhooks.command('list').description('list webhooks, newest first'));
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
    .option('--networks <ids>', 'comma-separated network ids or names (default: all known networks)', parseNetworks)
    .option('--events <kinds>', 'comma-separated kinds of events (default: all known kinds)', parseList);
  addServerOptions(addFinalityOption(addFilterOptions(create)), [
    'webhooks create https://example.com/hook --networks 1,8453 --events TransferFinalized,LatePayment',
    `webhooks create https://example.com/large --events TransferFinalized --filter '{"amount":{"min":"100"}}'`,
    'webhooks create https://example.com/hook --events TransferProcessed --finality safe',
  ]).action(register);
  addWebhookChanges(webhooks);
  addWebhookHealth(webhooks);
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
      showNetwork(networkId),
      event,
      showDate(dateCreated),
      postUrl,
    ]),
    `No webhooks match. Register one: ${PAYBELL} webhooks create <postUrl>`,
    { shorten: { 'webhook-id': 13, network: 12, event: 12, url: 24 }, leaveOut: ['created'] },
  );
}

async function showWebhook(webhookId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const [webhook, webhookOptions] = await Promise.all([
    client.webhooks.get(webhookId),
    client.webhooks.options(webhookId),
  ]);
  if (json) return printJson({ ...webhook, options: webhookOptions });
  const { networkId, event, postUrl, dateCreated } = webhook;
  printFields({
    webhook: webhook.webhookId,
    network: showNetwork(networkId),
    event,
    url: postUrl,
    finality: showFinality(webhookOptions.finality),
    filter: showFilter(webhookOptions.filter),
    created: showDate(dateCreated),
  });
}

type CreateOptions = ServerOptions & FilterOptions & FinalityOption & { networks?: number[]; events?: string[] };

async function register(
  postUrl: string,
  { networks, events, finality: level, ...options }: CreateOptions,
): Promise<void> {
  const { client, json } = openSession(options);
  const filter = await readFilter(options);
  const finality = readFinality(level);
  const hasOptions = filter !== undefined || finality !== undefined;
  await warnOfUnknownNetworks(client, networks ?? []);
  const registered = await client.webhooks.register({
    postUrl,
    ...(networks !== undefined && { networkIds: networks }),
    ...(events !== undefined && { events }),
    ...(hasOptions && { options: { finality, filter } }),
  });
  if (json) return printJson(registered);
  printWebhooks(registered);
}
