import type { Command } from 'commander';
import { type DeliveryFilter, deliveryListQuerySchema } from '../../../contract/deliveries.ts';
import { countDeliveries, listDeliveries, readDelivery } from '../../../store/deliveries/read.ts';
import { continueRedelivery, readRedelivery, redeliver, startRedelivery } from '../../../store/deliveries/redeliver.ts';
import { addDeliveryFilters, chooseDeliveries } from '../../formats/delivery-options.ts';
import {
  printCountOfDeliveries,
  printDeliveries,
  printDelivery,
  printRedelivery,
} from '../../formats/delivery-tables.ts';
import { addListOptions, parseOptions } from '../../formats/list-options.ts';
import { CommandError } from '../../terminal/command-error.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { watchRedelivery } from '../../terminal/redelivery-progress.ts';
import { changeByCommandLine, requireEntity, withStore } from '../session.ts';

type Options = Record<string, string | boolean | undefined> & { entity: string };

export function addStoreDeliveries(store: Command): void {
  const deliveries = store.command('deliveries').description('what was delivered, and sending it again');
  const ofEntity = (command: Command) =>
    addDeliveryFilters(command.requiredOption('--entity <id>', 'entity that they belong to'));
  addListOptions(ofEntity(deliveries.command('list').description('list deliveries, newest first'))).action(list);
  deliveries
    .command('show')
    .description('one delivery with its attempts')
    .argument('<deliveryId>')
    .requiredOption('--entity <id>', 'entity that it belongs to')
    .option('--json', 'print JSON')
    .action(show);
  ofEntity(
    deliveries.command('redeliver').description('send one again, or all that match; a running server posts them'),
  )
    .argument('[deliveryId]', 'this one; without it, all that match the filters')
    .option('--dry-run', 'only count')
    .option('--json', 'print JSON')
    .action(redeliverOneOrMany);
}

async function list({ entity, ...options }: Options): Promise<void> {
  const query = parseOptions(deliveryListQuerySchema, options);
  const found = await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    return listDeliveries(db, entity, query);
  });
  if (options.json) printJson(found);
  else printDeliveries(found);
}

async function show(deliveryId: string, { entity, json }: Options): Promise<void> {
  const delivery = await withStore(({ db }) => readDelivery(db, entity, deliveryId));
  if (delivery === null) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (json) printJson(delivery);
  else printDelivery(delivery);
}

type Manner = { dryRun: boolean; json: boolean };

async function redeliverOneOrMany(deliveryId: string | undefined, options: Options): Promise<void> {
  const { entity, dryRun, json, ...filters } = options;
  const manner = { dryRun: dryRun === true, json: json === true };
  const chosen = chooseDeliveries(deliveryId, filters);
  if (chosen.deliveryId !== undefined) await redeliverOne(entity, chosen.deliveryId, manner);
  else await redeliverMany(entity, chosen.filter, manner);
}

async function redeliverOne(entity: string, deliveryId: string, { dryRun, json }: Manner): Promise<void> {
  const found = await withStore(async ({ db }) =>
    dryRun ? (await readDelivery(db, entity, deliveryId)) !== null : redeliver(db, entity, deliveryId),
  );
  if (!found) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (dryRun) printCount(1, json);
  else if (json) printJson({ deliveryId });
  else printLine(`${deliveryId} is queued; a running server posts it.`);
}

async function redeliverMany(entity: string, filter: DeliveryFilter, { dryRun, json }: Manner): Promise<void> {
  await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    if (dryRun) return printCount(await countDeliveries(db, entity, filter), json);
    const redeliveryId = await startRedelivery(db, entity, filter, changeByCommandLine());
    while (await continueRedelivery(db, entity, redeliveryId));
    const done = await watchRedelivery(() => readRedelivery(db, entity, redeliveryId));
    if (json) printJson(done);
    else printRedelivery(done);
    if (done.sent < done.queued) {
      throw new CommandError('not all were sent: is a server running on this store? They stay queued until one is.');
    }
  });
}

function printCount(totalResults: number, json: boolean): void {
  if (json) printJson({ totalResults });
  else printCountOfDeliveries(totalResults);
}
