import type { Command } from 'commander';
import { type DeliveryFilter, deliveryListQuerySchema } from '../../../contract/deliveries.ts';
import { listDeliveries, readDelivery } from '../../../store/deliveries/read.ts';
import { readRedelivery, redeliveryKey, startRedelivery } from '../../../store/deliveries/redeliver/bulk.ts';
import { countRedelivering } from '../../../store/deliveries/redeliver/count.ts';
import { redeliver } from '../../../store/deliveries/redeliver/redeliver.ts';
import { withRequestHeaders } from '../../../store/deliveries/request-headers.ts';
import { stepTask } from '../../../store/tasks/run.ts';
import {
  printDeliveries,
  printDelivery,
  printRedelivery,
  printRedeliveryCount,
} from '../../formats/delivery-tables.ts';
import {
  addDeliveryFilters,
  addPayloadFilter,
  chooseDeliveries,
  parseDeliveryOptions,
} from '../../options/delivery-options.ts';
import { addListOptions, type OptionValues } from '../../options/list-options.ts';
import { CommandError } from '../../terminal/command-error.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { watchRedelivery } from '../../terminal/redelivery-progress.ts';
import { changeByCommandLine, requireEntity, withStore } from '../session.ts';

type Options = OptionValues & { entity: string };

export function addStoreDeliveries(store: Command): void {
  const deliveries = store.command('deliveries').description('status of each delivery of an entity, and redelivery');
  const ofEntity = (command: Command) =>
    addDeliveryFilters(command.requiredOption('--entity <id>', 'entity that the deliveries belong to'));
  const listed = addPayloadFilter(ofEntity(deliveries.command('list').description('list deliveries, newest first')));
  addListOptions(listed).action(list);
  deliveries
    .command('show')
    .description('show a delivery with its attempts')
    .argument('<deliveryId>', 'id of the delivery')
    .requiredOption('--entity <id>', 'entity that the delivery belongs to')
    .option('--json', 'print JSON')
    .action(show);
  ofEntity(
    deliveries
      .command('redeliver')
      .description('queue a delivery again, or all that match the filters; a running server sends them'),
  )
    .argument('[deliveryId]', 'id of one delivery, instead of filters')
    .option('--dry-run', 'only count the deliveries')
    .option('--json', 'print JSON')
    .action(redeliverOneOrMany);
}

async function list({ entity, ...options }: Options): Promise<void> {
  const query = parseDeliveryOptions(deliveryListQuerySchema, options);
  const found = await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    return listDeliveries(db, entity, query);
  });
  if (options.json) printJson(found);
  else printDeliveries(found);
}

async function show(deliveryId: string, { entity, json }: Options): Promise<void> {
  const delivery = await withStore(async ({ db, box, config }) => {
    const stored = await readDelivery(db, entity, deliveryId);
    return stored && withRequestHeaders(db, box, entity, stored, config.BODY_SIGNATURE_HEADER);
  });
  if (delivery === null) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (json) printJson(delivery);
  else printDelivery(delivery);
}

type Mode = { dryRun: boolean; json: boolean };

async function redeliverOneOrMany(deliveryId: string | undefined, options: Options): Promise<void> {
  const { entity, dryRun, json, ...filters } = options;
  const mode = { dryRun: dryRun === true, json: json === true };
  const chosen = chooseDeliveries(deliveryId, filters);
  if (chosen.deliveryId !== undefined) await redeliverOne(entity, chosen.deliveryId, mode);
  else await redeliverMany(entity, chosen.filter, mode);
}

async function redeliverOne(entity: string, deliveryId: string, { dryRun, json }: Mode): Promise<void> {
  const found = await withStore(async ({ db }) =>
    dryRun ? (await readDelivery(db, entity, deliveryId)) !== null : redeliver(db, entity, deliveryId),
  );
  if (!found) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (dryRun) printRedeliveryCount(1, json);
  else if (json) printJson({ deliveryId });
  else printLine(`${deliveryId} is queued; a running server sends it.`);
}

async function redeliverMany(entity: string, filter: DeliveryFilter, { dryRun, json }: Mode): Promise<void> {
  await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    if (dryRun) return printRedeliveryCount(await countRedelivering(db, entity, filter), json);
    const redeliveryId = await startRedelivery(db, entity, filter, changeByCommandLine());
    const task = { kind: 'redeliver' as const, subject: redeliveryKey(db.dialect, redeliveryId) };
    while ((await stepTask(db, entity, task))?.isDone === false);
    const done = await watchRedelivery(() => readRedelivery(db, entity, redeliveryId));
    if (json) printJson(done);
    else printRedelivery(done);
    if (done.sent < done.queued) {
      throw new CommandError(
        'some deliveries were not sent: check that a server is running on this store. They stay queued until then.',
      );
    }
  });
}
