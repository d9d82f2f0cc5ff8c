import type { Command } from 'commander';
import type { Paybell } from '../../../client/paybell.ts';
import type { WebhookBulkUpdate } from '../../../client/webhooks.ts';
import { webhookMatchSchema } from '../../../contract/webhooks.ts';
import { showCount } from '../../../domain/errors.ts';
import { type OptionValues, parseOptions } from '../../options/list-options.ts';
import { UsageError } from '../../terminal/command-error.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { addServerOptions, openSession } from '../session.ts';
import { addFilterOptions, type FilterOptions, readFilter, showFilter } from './filter-option.ts';
import { addFinalityOption, type FinalityOption, readFinality, showFinality } from './finality-option.ts';

/** The commands that change or delete one webhook, or all matching webhooks. */
export function addWebhookChanges(webhooks: Command): void {
  const update = addOneOrMany(
    webhooks.command('update').description('change the URL or the options of a webhook, or of all that match'),
  );
  addFilterOptions(update.option('--to <url>', 'the new URL')).option(
    '--clear-filter',
    'receive events of any payload',
  );
  addServerOptions(addFinalityOption(update), [
    'webhooks update --post-url https://old.example/hook --to https://new.example/hook',
    'webhooks update wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6 --filter-file filter.json',
    'webhooks update --event TransferProcessed --finality 12 --dry-run',
  ]).action(updateOneOrMany);
  const remove = addOneOrMany(webhooks.command('delete').description('delete a webhook, or all that match'));
  addServerOptions(remove, ['webhooks delete --post-url https://old.example/hook --dry-run']).action(deleteOneOrMany);
}

/** Adds the filters that choose webhooks. */
export function addMatchOptions(command: Command): Command {
  return command.option('--network-id <id>', 'only this network').option('--event <kind>', 'only this kind of event');
}

function addOneOrMany(command: Command): Command {
  return addMatchOptions(command)
    .argument('[webhookId]', 'id of one webhook, instead of filters')
    .option('--post-url <url>', 'only webhooks with this URL')
    .option('--dry-run', 'only count the webhooks');
}

type UpdateOptions = OptionValues & FilterOptions & FinalityOption & { to?: string };

async function updateOneOrMany(webhookId: string | undefined, options: UpdateOptions): Promise<void> {
  const { to, filter, filterFile, clearFilter, finality, ...others } = options;
  const { client, json, own } = openSession(others);
  if (webhookId !== undefined) refuseMatch(own);
  const update = await readUpdate(options);
  if (webhookId !== undefined) return updateOne(client, webhookId, update, json);
  const { match, dryRun } = parseMatch(own);
  const { totalResults } = await (dryRun
    ? client.webhooks.countChanging(match, update)
    : client.webhooks.changeMatching(match, update));
  printChanged(totalResults, dryRun ? 'would be updated' : 'updated', json);
}

async function readUpdate(options: UpdateOptions): Promise<WebhookBulkUpdate> {
  const { to } = options;
  const finality = readFinality(options.finality);
  const filter = await readFilter(options);
  const hasOptions = filter !== undefined || finality !== undefined;
  if (to === undefined && !hasOptions) {
    throw new UsageError(
      'give --to <url>, --finality <level>, --filter <json>, --filter-file <file> or --clear-filter',
    );
  }
  return { ...(to !== undefined && { postUrl: to }), ...(hasOptions && { options: { finality, filter } }) };
}

async function updateOne(client: Paybell, webhookId: string, update: WebhookBulkUpdate, json: boolean): Promise<void> {
  const { postUrl, options } = update;
  if (options === undefined) {
    const webhook = await client.webhooks.change(webhookId, { postUrl: postUrl ?? '' });
    return json ? printJson(webhook) : printLine(`Updated ${webhook.webhookId}: its URL is ${webhook.postUrl}`);
  }
  // Uses the bulk change with this id, which keeps options that are not given, and changes the URL and the options
  // together or not at all.
  await client.webhooks.changeMatching({ webhookId }, update);
  const [webhook, { finality, filter }] = await Promise.all([
    client.webhooks.get(webhookId),
    client.webhooks.options(webhookId),
  ]);
  if (json) return printJson({ ...webhook, options: { finality, filter } });
  const changed = [
    ...(postUrl === undefined ? [] : [`its URL is ${webhook.postUrl}`]),
    ...(options.finality === undefined
      ? []
      : [`its finality is ${showFinality(finality)} for payments first seen after this change`]),
    ...(options.filter === undefined
      ? []
      : [filter === null ? 'it has no filter.' : `its filter is: ${showFilter(filter)}`]),
  ];
  printLine(`Updated ${webhook.webhookId}: ${changed.join(', and ')}`);
}

async function deleteOneOrMany(webhookId: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  if (webhookId !== undefined) {
    refuseMatch(own);
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
    throw new UsageError('give a webhook id, or at least one filter such as --post-url <url>');
  }
  const { dryRun: _, ...match } = parseOptions(webhookMatchSchema, filters);
  return { match, dryRun: dryRun === true };
}

function refuseMatch(own: OptionValues): void {
  if (Object.keys(own).length === 0) return;
  throw new UsageError('give either a webhook id or filters, not both');
}

function printChanged(totalResults: number, what: string, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${showCount(totalResults, 'webhook')} ${what}.`);
}
