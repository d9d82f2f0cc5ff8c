import type { Command } from 'commander';
import {
  type DeliveryDetail,
  type DeliveryView,
  deliveryListQuerySchema,
  type Redelivery,
  redeliverQuerySchema,
} from '../domain/delivery-views.ts';
import type { Database } from '../store/database.ts';
import { countDeliveries, listDeliveries, readDelivery } from '../store/delivery-views.ts';
import { continueRedelivery, readRedelivery, redeliver, startRedelivery } from '../store/redeliveries.ts';
import { CommandError, EXIT } from './failure.ts';
import { addListOptions, parseOptions } from './list-options.ts';
import { parseMoment } from './moments.ts';
import { paint, printJson, printLine, printTable, printTotal, showDate } from './output.ts';
import { Progress } from './progress.ts';
import { changeByCommandLine, requireEntity, withStore } from './store-session.ts';

const LOOK_EVERY_MS = 200;
/** As long as a server is at work the posts go on without this command; it only watches. */
const GIVE_UP_AFTER_MS = 15_000;

type Options = Record<string, string | boolean | undefined> & { entity: string };

export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('what was delivered, and sending it again');
  addListOptions(addFilters(deliveries.command('list').description('list deliveries, newest first'))).action(list);
  deliveries
    .command('show')
    .description('one delivery with its attempts')
    .argument('<deliveryId>')
    .requiredOption('--entity <id>', 'entity that it belongs to')
    .option('--json', 'print JSON')
    .action(show);
  addFilters(
    deliveries.command('redeliver').description('send one again, or all that match; a running server posts them'),
  )
    .argument('[deliveryId]', 'this one; without it, all that match the filters')
    .option('--dry-run', 'only count')
    .option('--json', 'print JSON')
    .action(redeliverOneOrMany);
}

function addFilters(command: Command): Command {
  return command
    .requiredOption('--entity <id>', 'entity that they belong to')
    .option('--status <status>', 'only in this state, such as failed')
    .option('--event-id <id>', 'only of this event')
    .option('--webhook-id <id>', 'only to this webhook')
    .option('--event <kind>', 'only of this kind of event')
    .option('--network-id <id>', 'only of this network')
    .option('--since <when>', 'only from then on: a date such as 2026-01-31T12:00Z, or Unix seconds', parseMoment)
    .option('--until <when>', 'only before then', parseMoment);
}

async function list({ entity, ...options }: Options): Promise<void> {
  const query = parseOptions(deliveryListQuerySchema, options);
  const { totalResults, deliveries } = await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    return listDeliveries(db, entity, query);
  });
  if (options.json) return printJson({ totalResults, deliveries });
  printTable(
    ['delivery-id', 'event', 'status', 'attempts', 'last answer', 'created', 'next attempt', 'url'],
    deliveries.map((delivery) => [
      delivery.deliveryId,
      delivery.event,
      paintStatus(delivery.status),
      String(delivery.attempts),
      answerOf(delivery),
      showDate(delivery.dateCreated),
      showDate(delivery.dateNextAttempt),
      delivery.postUrl,
    ]),
    'No such deliveries.',
  );
  printTotal(totalResults, deliveries.length);
}

async function show(deliveryId: string, { entity, json }: Options): Promise<void> {
  const delivery = await withStore(({ db }) => readDelivery(db, entity, deliveryId));
  if (delivery === null) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (json) return printJson(delivery);
  printFields(delivery);
  printTable(
    ['attempt', 'kind', 'started', 'ms', 'answer', 'response', 'url'],
    delivery.attemptLog.map((attempt) => [
      String(attempt.attempt),
      attempt.kind,
      new Date(attempt.startedAtMs).toISOString(),
      String(attempt.durationMs),
      String(attempt.statusCode ?? attempt.error),
      printable(attempt.response ?? '')
        .replace(/\s+/g, ' ')
        .slice(0, 40),
      attempt.postUrl,
    ]),
    'Not attempted yet.',
  );
}

function printFields(delivery: DeliveryDetail): void {
  const fields = {
    delivery: delivery.deliveryId,
    event: `${delivery.event} ${delivery.eventId} on network ${delivery.networkId}`,
    webhook: delivery.webhookId,
    status: paintStatus(delivery.status),
    created: showDate(delivery.dateCreated),
    delivered: showDate(delivery.dateDelivered),
    'next attempt': showDate(delivery.dateNextAttempt),
    body: printable(delivery.body),
  };
  for (const [name, value] of Object.entries(fields)) printLine(`${paint(name.padEnd(12), 'bold')}  ${value}`);
  printLine();
}

async function redeliverOneOrMany(
  deliveryId: string | undefined,
  { entity, dryRun, json, ...filters }: Options,
): Promise<void> {
  if (deliveryId !== undefined) {
    if (Object.keys(filters).length > 0) {
      throw new CommandError('give the id of one delivery or filters for many, not both', EXIT.usage);
    }
    return redeliverOne(entity, deliveryId, { dryRun: dryRun === true, json: json === true });
  }
  const { dryRun: _, ...filter } = parseFilters(filters);
  await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    if (dryRun) return printCount(await countDeliveries(db, entity, filter), json === true);
    const redeliveryId = await startRedelivery(db, entity, filter, changeByCommandLine());
    while (await continueRedelivery(db, entity, redeliveryId));
    const done = await watch(db, entity, redeliveryId);
    if (json) printJson(done);
    else printLine(`${done.queued} queued, ${done.sent} sent, ${done.delivered} delivered, ${done.skipped} skipped.`);
    if (done.sent < done.queued) {
      throw new CommandError('not all were sent: is a server running on this store? They stay queued until one is.');
    }
  });
}

function parseFilters(filters: Record<string, string | boolean | undefined>) {
  if (Object.keys(filters).length === 0) {
    throw new CommandError('give the id of a delivery, or at least one filter such as --status failed', EXIT.usage);
  }
  return parseOptions(redeliverQuerySchema, filters);
}

async function redeliverOne(
  entity: string,
  deliveryId: string,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<void> {
  const found = await withStore(async ({ db }) =>
    dryRun ? (await readDelivery(db, entity, deliveryId)) !== null : redeliver(db, entity, deliveryId),
  );
  if (!found) throw new CommandError(`there is no delivery ${deliveryId}`);
  if (dryRun) printCount(1, json);
  else if (json) printJson({ deliveryId });
  else printLine(`${deliveryId} is queued; a running server posts it.`);
}

function printCount(totalResults: number, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${totalResults} ${totalResults === 1 ? 'delivery' : 'deliveries'} would be sent again.`);
}

/** Until all are sent, or until nothing has moved for a while. */
async function watch(db: Database, entityId: string, redeliveryId: string): Promise<Redelivery> {
  const progress = new Progress();
  let movedAtMs = performance.now();
  let sent = -1;
  for (;;) {
    const now = await readRedelivery(db, entityId, redeliveryId);
    if (now === null) throw new CommandError(`there is no redelivery ${redeliveryId}`);
    progress.show(now.queued === 0 ? 1 : now.sent / now.queued, `${now.sent} of ${now.queued} sent`);
    if (now.sent > sent) movedAtMs = performance.now();
    sent = now.sent;
    if (now.sent >= now.queued || performance.now() - movedAtMs > GIVE_UP_AFTER_MS) {
      progress.clear();
      return now;
    }
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

/** What others wrote must not steer the terminal of whoever reads it. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '�');
}

function answerOf(delivery: DeliveryView): string {
  return String(delivery.lastStatusCode ?? delivery.lastError ?? '–');
}

function paintStatus(status: DeliveryView['status']): string {
  if (status === 'delivered') return paint(status, 'green');
  if (status === 'failed') return paint(status, 'red');
  return status === 'held' || status === 'retrying' ? paint(status, 'yellow') : status;
}
