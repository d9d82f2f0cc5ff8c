import type { Command } from 'commander';
import type { Paybell } from '../../client/paybell.ts';
import { tryFirst } from '../../client/trial.ts';
import type { DeliveryFilter } from '../../contract/deliveries/redelivery.ts';
import { deliveryCountsQuerySchema, deliveryListQuerySchema } from '../../contract/deliveries.ts';
import {
  printDeliveries,
  printDelivery,
  printDeliveryCounts,
  printRedelivery,
  printRedeliveryCount,
  showResult,
} from '../formats/delivery-tables.ts';
import {
  addCountFilters,
  addDeliveryFilters,
  addPayloadFilter,
  chooseDeliveries,
  parseDeliveryOptions,
} from '../options/delivery-options.ts';
import { addListOptions, type OptionValues } from '../options/list-options.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, printNote } from '../terminal/output.ts';
import { prompt } from '../terminal/prompt.ts';
import { watchRedelivery } from '../terminal/redelivery-progress.ts';
import { terminal } from '../terminal/terminal.ts';
import { type Access, ON_SERVER, ownOptions, type Session } from './session.ts';

const OPERATOR_NOTE = `As the operator, on the store itself: ${PAYBELL} store deliveries`;
const EXAMPLE_ID = 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';

/** The part of a command that sends requests. It runs after the options were checked. */
type Work = (session: Session) => Promise<void>;

export function addDeliveries(program: Command, access: Access = ON_SERVER): void {
  const deliveries = program.command('deliveries').description('status of each delivery, and redelivery');
  const on =
    <Args extends unknown[]>(prepare: (own: OptionValues, ...args: Args) => Work) =>
    (...given: [...Args, OptionValues, Command]) => {
      const options = given.at(-2) as OptionValues;
      return access.run(options, prepare(ownOptions(options), ...(given.slice(0, -2) as Args)));
    };
  const list = addListOptions(
    addPayloadFilter(addDeliveryFilters(deliveries.command('list').description('list deliveries, newest first'))),
  );
  access
    .addOptions(
      list,
      ['deliveries list --status failed --since 2026-01-31', 'deliveries list --search hooks.example.com'],
      OPERATOR_NOTE,
    )
    .action(on(listDeliveries));
  const counts = addCountFilters(deliveries.command('counts').description('count deliveries in each state'));
  access.addOptions(counts, ['deliveries counts --since 2026-01-31']).action(on(countDeliveries));
  const show = deliveries
    .command('show')
    .description('show a delivery with its attempts')
    .argument('<deliveryId>', 'id of the delivery');
  access.addOptions(show, [`deliveries show ${EXAMPLE_ID}`]).action(on(showDelivery));
  const redeliver = addDeliveryFilters(
    deliveries.command('redeliver').description('send a delivery again, or all that match the filters'),
  )
    .argument('[deliveryId]', 'id of one delivery, instead of filters')
    .option('--dry-run', 'only count the deliveries')
    .option('--yes', 'send all, even if a first request to a failing endpoint fails');
  access
    .addOptions(redeliver, [`deliveries redeliver ${EXAMPLE_ID}`, 'deliveries redeliver --status failed --dry-run'])
    .action(on(redeliverOneOrMany));
}

function listDeliveries(own: OptionValues): Work {
  const query = parseDeliveryOptions(deliveryListQuerySchema, own);
  return async ({ client, json }) => {
    const list = await client.deliveries.list(query);
    if (json) printJson(list);
    else printDeliveries(list);
  };
}

function countDeliveries(own: OptionValues): Work {
  const query = parseDeliveryOptions(deliveryCountsQuerySchema, own);
  return async ({ client, json }) => {
    const counts = await client.deliveries.counts(query);
    if (json) printJson(counts);
    else printDeliveryCounts(counts);
  };
}

function showDelivery(_own: OptionValues, deliveryId: string): Work {
  return async ({ client, json }) => {
    const delivery = await client.deliveries.get(deliveryId);
    if (json) printJson(delivery);
    else printDelivery(delivery);
  };
}

function redeliverOneOrMany({ dryRun, yes, ...filters }: OptionValues, deliveryId: string | undefined): Work {
  const chosen = chooseDeliveries(deliveryId, filters);
  if (chosen.deliveryId === undefined) {
    return (session) => redeliverMany(session, chosen.filter, { isDryRun: dryRun === true, isSure: yes === true });
  }
  return async ({ client, json }) => {
    if (dryRun) {
      await client.deliveries.get(chosen.deliveryId);
      return printRedeliveryCount(1, json);
    }
    const delivery = await client.deliveries.redeliver(chosen.deliveryId);
    if (json) printJson(delivery);
    else printLine(`${delivery.deliveryId} is queued to be sent again.`);
  };
}

type Many = { readonly isDryRun: boolean; readonly isSure: boolean };

async function redeliverMany(
  { client, json, runTask }: Session,
  filter: DeliveryFilter,
  { isDryRun, isSure }: Many,
): Promise<void> {
  if (isDryRun) return printRedeliveryCount((await client.deliveries.countRedelivering(filter)).totalResults, json);
  // Skipped on a database without a server, because nothing would send the first requests.
  if (!isSure && runTask === undefined) await tryFailingEndpoints(client, filter);
  const { redeliveryId } = await client.deliveries.redeliverMatching(filter);
  await runTask?.(redeliveryId);
  const redelivery = await watchRedelivery(() => client.deliveries.redelivery(redeliveryId));
  if (json) printJson(redelivery);
  else printRedelivery(redelivery);
  if (redelivery.sent < redelivery.queued) {
    throw new CommandError('some deliveries were not sent yet; they stay queued, and a running server will send them');
  }
}

/**
 * Sends one request to each failing endpoint first. If it fails, a person decides whether to continue, and a program
 * needs `--yes`.
 */
async function tryFailingEndpoints(client: Paybell, filter: DeliveryFilter): Promise<void> {
  const { tried, failed } = await tryFirst(client, filter);
  if (tried > failed.length) printNote(`First requests that succeeded: ${tried - failed.length}.`);
  if (failed.length === 0) return;
  const results = failed.map(({ postUrl, statusCode, error }) => `${postUrl} (${showResult(statusCode, error)})`);
  const said = `a first request failed: ${results.join(', ')}`;
  const { keyboard } = terminal();
  if (keyboard === null) throw new CommandError(`${said}; fix the receiver, or send all with --yes`);
  const answer = await prompt(keyboard, `${said}\nSend the others anyway? [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('nothing else was sent');
}
