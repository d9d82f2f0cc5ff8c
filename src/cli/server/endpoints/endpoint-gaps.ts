import { type Command, InvalidArgumentError } from 'commander';
import type { Paybell } from '../../../client/paybell.ts';
import type { FeedEntry } from '../../../contract/endpoints/feed.ts';
import { showCount } from '../../../domain/errors.ts';
import type { OptionValues } from '../../options/list-options.ts';
import { printJson, printLine, printNote, showDate } from '../../terminal/output.ts';
import { printTable } from '../../terminal/table.ts';
import { addServerOptions, openSession } from '../session.ts';

/** `endpoints gaps`: the sequence numbers that the receiver of an endpoint has not received, and why. */
export function addEndpointGaps(endpoints: Command, exampleId: string): void {
  const gaps = endpoints
    .command('gaps')
    .description('list the numbers of an endpoint whose deliveries have not arrived, and why')
    .argument('<endpointId>', 'id of the endpoint')
    .option('--after <number>', 'only numbers above this one', parseNumber, 0);
  addServerOptions(gaps, [`endpoints gaps ${exampleId}`, `endpoints gaps ${exampleId} --after 8400`]).action(showGaps);
}

type Gap = Omit<FeedEntry, 'body'>;
type Gaps = { endpointId: string; firstSequence: number; lastSequence: number; gaps: Gap[] };

async function showGaps(endpointId: string, { after, ...options }: OptionValues & { after: number }): Promise<void> {
  const { client, json } = openSession(options);
  const found = await findGaps(client, endpointId, after);
  if (json) return printJson(found);
  const { firstSequence, lastSequence, gaps } = found;
  printTable(
    ['number', 'status', 'event', 'created', 'event-id', 'delivery-id'],
    gaps.map(({ sequence, status, event, dateCreated, eventId, deliveryId }) => [
      String(sequence),
      status,
      event ?? '–',
      showDate(dateCreated),
      eventId ?? '–',
      deliveryId ?? '–',
    ]),
    'Every number has arrived.',
    { shorten: { 'event-id': 12, event: 12 }, leaveOut: ['created', 'delivery-id'] },
  );
  const from = Math.max(after + 1, firstSequence);
  if (firstSequence > after + 1) printNote(`Numbers below ${firstSequence} are past the retention period.`);
  if (gaps.length > 0 && lastSequence >= from) {
    printLine(`${showCount(gaps.length, 'number')} of ${from} to ${lastSequence} not delivered.`);
  }
}

/** Finds the gaps up to the last number at the start. */
async function findGaps({ endpoints }: Paybell, endpointId: string, after: number): Promise<Gaps> {
  const first = await endpoints.readFeed(endpointId, { after });
  const found = { endpointId, firstSequence: first.firstSequence, lastSequence: first.lastSequence, gaps: [] as Gap[] };
  for (let page = first; page.deliveries.length > 0; ) {
    for (const { body: _, ...entry } of page.deliveries) if (entry.status !== 'delivered') found.gaps.push(entry);
    const last = page.deliveries.at(-1)?.sequence ?? found.lastSequence;
    if (last >= found.lastSequence) break;
    page = await endpoints.readFeed(endpointId, { after: last });
  }
  return found;
}

function parseNumber(text: string): number {
  if (!/^[0-9]{1,16}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}
