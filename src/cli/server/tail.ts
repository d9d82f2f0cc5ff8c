import type { Command } from 'commander';
import type { Delivery } from '../../client/deliveries.ts';
import { ConnectionError, ProblemError, TimeLimitError } from '../../client/errors.ts';
import { deliveryCountsQuerySchema } from '../../contract/deliveries.ts';
import { paintStatus, showLastResult } from '../formats/delivery-tables.ts';
import { parseOptions } from '../options/list-options.ts';
import { wholeNumber } from '../options/values.ts';
import { paint, printable, printJson, printLine, printNote, showTime } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { DeliveryChanges } from './delivery-changes.ts';
import { explainClientError } from './explain-error.ts';
import { addServerOptions, openSession, type ServerOptions } from './session.ts';

/** Polls each second while deliveries change, and less often while they do not. */
const MIN_INTERVAL_MS = 1_000;
const MAX_INTERVAL_MS = 5_000;
const INTERVAL_GROWTH = 1.25;
const STATUS_WIDTH = 9;

const filterSchema = deliveryCountsQuerySchema.pick({ event: true, networkId: true, webhookId: true });

export function addTail(program: Command): void {
  const tail = program
    .command('tail')
    .description('follow deliveries: one line for each change')
    .option('--lines <n>', 'how many of the newest deliveries to begin with', wholeNumber(0, 100), 10)
    .option('--event <kind>', 'only this kind of event')
    .option('--network-id <id>', 'only this network')
    .option('--webhook-id <id>', 'only deliveries to this webhook');
  addServerOptions(tail, ['tail', 'tail --event LatePayment --json']).action(follow);
}

type TailOptions = ServerOptions & { lines: number; event?: string; networkId?: string; webhookId?: string };

async function follow({ lines, ...options }: TailOptions): Promise<void> {
  const { client, json, own } = openSession(options);
  const changes = new DeliveryChanges(client.deliveries, parseOptions(filterSchema, own));
  const print = (deliveries: readonly Delivery[], timeOf: (delivery: Delivery) => number) => {
    for (const delivery of deliveries) {
      if (json) printJson(delivery);
      else printLine(showDelivery(delivery, timeOf(delivery)));
    }
  };
  const stop = { requested: false };
  const stopped = terminal()
    .nextStopSignal()
    .then(() => {
      stop.requested = true;
    });
  // Shows earlier deliveries with the time of their creation, and later changes with the time of the change.
  print(await changes.first(lines), ({ dateCreated }) => dateCreated * 1000);
  // On standard error, because a program may be reading standard output.
  printNote('Following deliveries; stop with Ctrl-C.');
  let intervalMs = MIN_INTERVAL_MS;
  while (!stop.requested) {
    await Promise.race([Bun.sleep(intervalMs), stopped]);
    if (stop.requested) return;
    const changed = await changes.next(Math.floor(Date.now() / 1000)).catch(reportOutage);
    if (changed !== null) print(changed, Date.now);
    const isBusy = changed !== null && changed.length > 0;
    intervalMs = isBusy ? MIN_INTERVAL_MS : Math.min(intervalMs * INTERVAL_GROWTH, MAX_INTERVAL_MS);
  }
}

/** Notes an outage, because a server that is down or overloaded may recover. Any other error ends the command. */
function reportOutage(error: unknown): null {
  const mayRecover = error instanceof ProblemError && (error.status >= 500 || error.status === 429);
  if (!mayRecover && !(error instanceof ConnectionError) && !(error instanceof TimeLimitError)) throw error;
  printNote(explainClientError(error).split('\n')[0] ?? '');
  return null;
}

function showDelivery(delivery: Delivery, timeMs: number): string {
  const { deliveryId, event, status, attempts, dateNextAttempt, postUrl } = delivery;
  const next = dateNextAttempt === null ? '' : `  next attempt ${showTime(dateNextAttempt * 1000)}`;
  const padding = ' '.repeat(Math.max(0, STATUS_WIDTH - status.length));
  const result = attempts === 0 ? '' : `  ${showLastResult(delivery)}${attempts > 1 ? ` on attempt ${attempts}` : ''}`;
  return [
    `${paint(showTime(timeMs), 'dim')}  ${paintStatus(status)}${padding}  ${printable(event)}${result}${next}`,
    `          ${paint(`${deliveryId}  ${printable(postUrl)}`, 'dim')}`,
  ].join('\n');
}
