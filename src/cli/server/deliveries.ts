import type { Command } from 'commander';
import type { Paybell } from '../../client/paybell.ts';
import { type DeliveryFilter, deliveryListQuerySchema } from '../../contract/deliveries.ts';
import { addDeliveryFilters, chooseDeliveries } from '../formats/delivery-options.ts';
import { printCountOfDeliveries, printDeliveries, printDelivery, printRedelivery } from '../formats/delivery-tables.ts';
import { addListOptions, parseOptions } from '../formats/list-options.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { watchRedelivery } from '../terminal/redelivery-progress.ts';
import { finishRemote, type Given, openSession } from './session.ts';

/** Each look is a request to somebody's server. */
const LOOK_EVERY_MS = 1_000;
const OPERATORS = `As the operator, on the store itself: ${PAYBELL} store deliveries`;

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('where each event stands on its way, and sending it again');
  const list = addListOptions(
    addDeliveryFilters(deliveries.command('list').description('list deliveries, newest first')),
  );
  finishRemote(list, ['deliveries list --status failed --since 2026-01-31'], OPERATORS).action(listThem);
  const show = deliveries.command('show').description('one delivery with its attempts').argument('<deliveryId>');
  finishRemote(show, ['deliveries show dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6']).action(showOne);
  const redeliver = addDeliveryFilters(deliveries.command('redeliver').description('send one again, or all that match'))
    .argument('[deliveryId]', 'this one; without it, all that match the filters')
    .option('--dry-run', 'only count');
  finishRemote(redeliver, [
    'deliveries redeliver dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
    'deliveries redeliver --status failed --dry-run',
  ]).action(redeliverOneOrMany);
}

async function listThem(options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const found = await client.deliveries.list(parseOptions(deliveryListQuerySchema, own));
  if (json) printJson(found);
  else printDeliveries(found);
}

async function showOne(deliveryId: string, options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const delivery = await client.deliveries.get(deliveryId);
  if (json) printJson(delivery);
  else printDelivery(delivery);
}

async function redeliverOneOrMany(deliveryId: string | undefined, options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const { dryRun, ...filters } = own;
  const chosen = chooseDeliveries(deliveryId, filters);
  if (chosen.deliveryId === undefined) return redeliverMany(client, chosen.filter, dryRun === true, json);
  if (dryRun) {
    await client.deliveries.get(chosen.deliveryId);
    return printCount(1, json);
  }
  const delivery = await client.deliveries.redeliver(chosen.deliveryId);
  if (json) printJson(delivery);
  else printLine(`${delivery.deliveryId} is on its way again.`);
}

async function redeliverMany(client: Paybell, filter: DeliveryFilter, dryRun: boolean, json: boolean): Promise<void> {
  if (dryRun) return printCount((await client.deliveries.countRedelivering(filter)).totalResults, json);
  const { redeliveryId } = await client.deliveries.redeliverMatching(filter);
  const done = await watchRedelivery(() => client.deliveries.redelivery(redeliveryId), LOOK_EVERY_MS);
  if (json) printJson(done);
  else printRedelivery(done);
  if (done.sent < done.queued) {
    throw new CommandError('not all were sent yet; they stay queued, and the server goes on by itself');
  }
}

function printCount(totalResults: number, json: boolean): void {
  if (json) printJson({ totalResults });
  else printCountOfDeliveries(totalResults);
}
