import { type Command, InvalidArgumentError } from 'commander';
import type { Delivery } from '../../client/deliveries.ts';
import { ConnectionError, ProblemError, TimeLimitError } from '../../client/errors.ts';
import { deliveryListQuerySchema } from '../../contract/deliveries.ts';
import { answerOf, paintStatus } from '../formats/delivery-tables.ts';
import { parseOptions } from '../formats/list-options.ts';
import { paint, printable, printJson, printLine } from '../terminal/output.ts';
import { nextStopSignal } from '../terminal/stop-signal.ts';
import { DeliveryChanges } from './delivery-changes.ts';
import { explainRefusal } from './explain-problem.ts';
import { finishRemote, type Given, openSession } from './session.ts';

/** A look each second while something moves, and ever fewer while nothing does. */
const QUICK_MS = 1_000;
const SLOW_MS = 5_000;
const GROWTH = 1.25;
const STATUS_WIDTH = 9;

const filterSchema = deliveryListQuerySchema.pick({ event: true, networkId: true, webhookId: true });

export function addTail(program: Command): void {
  const tail = program
    .command('tail')
    .description('deliveries as they happen, a line for each change')
    .option('--lines <n>', 'how many of the newest to begin with', parseLines, 10)
    .option('--event <kind>', 'only of this kind of event')
    .option('--network-id <id>', 'only of this network')
    .option('--webhook-id <id>', 'only to this webhook');
  finishRemote(tail, ['tail', 'tail --event LatePayment --json']).action(follow);
}

async function follow({ lines, ...options }: Omit<Given, 'lines'> & { lines: number }): Promise<void> {
  const { client, json, own } = openSession(options as Given);
  const changes = new DeliveryChanges(client.deliveries, parseOptions(filterSchema, own));
  const show = (deliveries: readonly Delivery[], dateOf: (delivery: Delivery) => number) => {
    for (const delivery of deliveries) {
      json ? printJson(delivery) : printLine(showDelivery(delivery, dateOf(delivery)));
    }
  };
  const stop = { asked: false };
  const stopped = nextStopSignal().then(() => {
    stop.asked = true;
  });
  // What was there before stands under the time of its acceptance, what changes from now on under that of the change.
  show(await changes.first(lines), ({ dateCreated }) => dateCreated);
  // Not among the lines that a program may be reading.
  process.stderr.write(`${paint('Following the deliveries until Ctrl-C.', 'dim', process.stderr)}\n`);
  let waitMs = QUICK_MS;
  while (!stop.asked) {
    await Promise.race([Bun.sleep(waitMs), stopped]);
    if (stop.asked) return;
    const changed = await changes.next(Math.floor(Date.now() / 1000)).catch(explainOutage);
    if (changed !== null) show(changed, () => Date.now() / 1000);
    waitMs = changed !== null && changed.length > 0 ? QUICK_MS : Math.min(waitMs * GROWTH, SLOW_MS);
  }
}

/** A server that is down or busy for a while comes back; one that refuses does not change its mind. */
function explainOutage(error: unknown): null {
  const mayPass = error instanceof ProblemError && (error.status >= 500 || error.status === 429);
  if (!mayPass && !(error instanceof ConnectionError) && !(error instanceof TimeLimitError)) throw error;
  process.stderr.write(`${paint(explainRefusal(error).split('\n')[0] ?? '', 'dim', process.stderr)}\n`);
  return null;
}

function showDelivery(delivery: Delivery, shownAtS: number): string {
  const { deliveryId, event, status, attempts, dateNextAttempt, postUrl } = delivery;
  const next = dateNextAttempt === null ? '' : `  next ${timeOf(dateNextAttempt)}`;
  const pad = ' '.repeat(Math.max(0, STATUS_WIDTH - status.length));
  const answer = attempts === 0 ? '' : `  ${answerOf(delivery)}${attempts > 1 ? ` on attempt ${attempts}` : ''}`;
  return [
    `${paint(timeOf(shownAtS), 'dim')}  ${paintStatus(status)}${pad}  ${printable(event)}${answer}${next}`,
    `          ${paint(`${deliveryId}  ${printable(postUrl)}`, 'dim')}`,
  ].join('\n');
}

function timeOf(dateS: number): string {
  return new Date(dateS * 1000).toTimeString().slice(0, 8);
}

function parseLines(text: string): number {
  const lines = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (lines <= 100) return lines;
  throw new InvalidArgumentError('Give a whole number from 0 to 100.');
}
