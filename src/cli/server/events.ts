import type { Command } from 'commander';
import { z } from 'zod';
import { eventListQuerySchema } from '../../contract/events/accepted-event.ts';
import { sampleEvent } from '../../contract/events/samples.ts';
import { MAX_EVENT_BYTES } from '../../contract/events/size.ts';
import { exactText, wholeNumber } from '../../contract/list-query.ts';
import { summaryOf } from '../../domain/chain/payload-summary.ts';
import { showCount } from '../../domain/errors.ts';
import { EVENT_KINDS, isEventKind, RETRACTION } from '../../domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { newId } from '../../store/new-id.ts';
import { showSummary } from '../formats/delivery-tables.ts';
import { prettyJson } from '../formats/pretty-json.ts';
import { addListOptions, type OptionValues, parseOptions } from '../options/list-options.ts';
import { MOMENT, parseMoment } from '../options/values.ts';
import { CommandError, UsageError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { paint, printable, printJson, printLine, showDate } from '../terminal/output.ts';
import { printFields, printTable, printTotal } from '../terminal/table.ts';
import { terminal } from '../terminal/terminal.ts';
import { addServerOptions, openSession } from './session.ts';

const DEFAULT_NETWORK_ID = 8453;

export function addEvents(program: Command): void {
  const events = program.command('events').description('send events, and list those that were accepted');
  const send = events
    .command('send')
    .description('send one event: JSON from a file or standard input, byte for byte, or a sample')
    .argument('[file]', 'file with the JSON of one event; - is standard input')
    .option('--sample <kind>', `send a sample of this kind: ${EVENT_KINDS.join(', ')}`)
    .option('--network-id <id>', `network of the sample (default: ${DEFAULT_NETWORK_ID})`);
  addServerOptions(send, ['events send --sample TransferFinalized', 'events send event.json']).action(sendEvent);
  const list = events
    .command('list')
    .description('list events, newest first')
    .option('--search <id>', 'only events with this id, or with this transfer or agreement')
    .option('--event-id <id>', 'only this event')
    .option('--event <kind>', 'only this kind of event')
    .option('--network-id <id>', 'only this network')
    .option('--unmatched', 'only events that reached no webhook')
    .option('--since <when>', `only from this moment on: ${MOMENT}`, parseMoment)
    .option('--until <when>', 'only before this moment', parseMoment);
  addServerOptions(addListOptions(list), [
    'events list --event LatePayment --since 2026-01-31',
    'events list --unmatched --since 1h',
    'events list --search trf_8412',
  ]).action(listEvents);
  const show = events
    .command('show')
    .description('show an event with its body')
    .argument('<eventId>', 'id of the event');
  addServerOptions(show, ['events show transfer-1']).action(showEvent);
}

async function sendEvent(file: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const body = own.sample === undefined ? await readBody(file, own) : writeSample(file, own);
  const accepted = await client.events.publishText(body);
  if (json) return printJson(accepted);
  const { eventId, deliveries, supersededBy } = accepted;
  printLine(`Accepted ${eventId} for ${showCount(deliveries, 'webhook')}.`);
  if (supersededBy !== undefined) {
    printLine(paint(`It was superseded by ${printable(supersededBy)}, so no webhook gets it.`, 'dim'));
  } else if (deliveries === 0) {
    printLine(paint(explainNoWebhook(body), 'dim'));
  }
}

/** Why an accepted event reached no webhook, with the command that registers one. */
function explainNoWebhook(body: string): string {
  const { event, networkId } = z.object({ event: z.string(), networkId: z.int() }).parse(JSON.parse(body));
  if (event === RETRACTION) return 'No webhook may have received the event that it retracts.';
  const options = `--networks ${networkId} --events ${printable(event)}`;
  return `No webhook is registered for it: ${PAYBELL} webhooks create <postUrl> ${options}`;
}

const sampleSchema = z.strictObject({
  sample: exactText({ description: '' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: '' }),
});

function writeSample(file: string | undefined, own: OptionValues): string {
  if (file !== undefined) throw new UsageError('give either a file or --sample, not both');
  const { sample = '', networkId = DEFAULT_NETWORK_ID } = parseOptions(sampleSchema, own);
  if (!isEventKind(sample)) throw new UsageError(`--sample must be one of ${EVENT_KINDS.join(', ')}`);
  return JSON.stringify(sampleEvent(sample, networkId, newId('evt'), Math.floor(Date.now() / 1000)));
}

async function readBody(file: string | undefined, { networkId }: OptionValues): Promise<string> {
  if (networkId !== undefined) throw new UsageError('--network-id needs --sample');
  if (file === undefined && terminal().keyboard !== null) {
    throw new UsageError('give a file, or - for standard input, or --sample <kind>');
  }
  const source = file === undefined || file === '-' ? terminal().stdin : Bun.file(file);
  const bytes = await source.bytes().catch(() => {
    throw new CommandError(`cannot read ${file}`);
  });
  if (bytes.length > MAX_EVENT_BYTES) throw new CommandError(`an event has at most ${MAX_EVENT_BYTES} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError('the event is not valid UTF-8');
  }
}

async function listEvents(options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const { unmatched, search, ...filters } = own;
  const given = {
    ...filters,
    ...(unmatched === true && { matched: 'false' }),
    ...(search !== undefined && { q: search }),
  };
  const query = parseOptions(eventListQuerySchema, given, { q: 'search' });
  const { totalResults, events } = await client.events.list(query);
  if (json) return printJson({ totalResults, events });
  printTable(
    ['event-id', 'event', 'payment', 'network', 'created', 'webhooks', 'bytes'],
    events.map(({ eventId, event, networkId, dateCreated, deliveries, body }) => [
      eventId,
      event,
      showSummary(summaryOf(body, networkId)),
      String(networkId),
      showDate(dateCreated),
      String(deliveries),
      String(Buffer.byteLength(body)),
    ]),
    'No events match.',
    { shorten: { payment: 12, event: 20 }, leaveOut: ['bytes', 'webhooks', 'network', 'payment', 'created'] },
  );
  printTotal(totalResults, events.length);
}

async function showEvent(eventId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const event = await client.events.get(eventId);
  if (json) return printJson(event);
  printFields({
    event: `${event.event} ${event.eventId} on network ${event.networkId}`,
    created: showDate(event.dateCreated),
    webhooks: event.matched ? String(event.deliveries) : 'none: it reached no webhook',
  });
  printLine();
  printLine(prettyJson(printable(event.body)));
}
