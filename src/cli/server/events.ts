import type { Command } from 'commander';
import { z } from 'zod';
import { eventListQuerySchema } from '../../contract/deliveries.ts';
import { sampleEvent } from '../../contract/event-samples.ts';
import { MAX_EVENT_BYTES } from '../../contract/events.ts';
import { exactText, wholeNumber } from '../../contract/list-query.ts';
import { EVENT_KINDS } from '../../domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { newId } from '../../store/new-id.ts';
import { parseMoment } from '../formats/dates.ts';
import { addListOptions, parseOptions } from '../formats/list-options.ts';
import { prettyJson } from '../formats/pretty-json.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import {
  paint,
  printable,
  printFields,
  printJson,
  printLine,
  printTable,
  printTotal,
  showDate,
} from '../terminal/output.ts';
import { finishRemote, type Given, openSession } from './session.ts';

export function addEvents(program: Command): void {
  const events = program.command('events').description('what was accepted, and sending more');
  const send = events
    .command('send')
    .description('send one event: the JSON of a file or of standard input, byte for byte, or a sample')
    .argument('[file]', 'JSON of one event; - is standard input')
    .option('--sample <kind>', `send the sample of this kind: ${EVENT_KINDS.join(', ')}`)
    .option('--network-id <id>', 'network of the sample (default: 8453)');
  finishRemote(send, ['events send --sample TransferFinalized', 'events send event.json']).action(sendOne);
  const list = events
    .command('list')
    .description('list events, newest first')
    .option('--event-id <id>', 'only this one')
    .option('--event <kind>', 'only of this kind')
    .option('--network-id <id>', 'only of this network')
    .option('--since <when>', 'only from then on: a date such as 2026-01-31T12:00Z, or Unix seconds', parseMoment)
    .option('--until <when>', 'only before then', parseMoment);
  finishRemote(addListOptions(list), ['events list --event LatePayment --since 2026-01-31']).action(listThem);
  const show = events.command('show').description('one event with its body').argument('<eventId>');
  finishRemote(show, ['events show transfer-1']).action(showOne);
}

async function sendOne(file: string | undefined, options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const body = own.sample === undefined ? await readBody(file, own) : sampleOf(file, own);
  const accepted = await client.events.publishText(body);
  if (json) return printJson(accepted);
  const { eventId, deliveries } = accepted;
  printLine(`${eventId} is accepted and goes to ${deliveries} ${deliveries === 1 ? 'webhook' : 'webhooks'}.`);
  if (deliveries === 0) printLine(paint(`Nobody asked for it: ${PAYBELL} webhooks create <postUrl>`, 'dim'));
}

const sampleSchema = z.strictObject({
  sample: exactText({ description: '' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: '' }),
});

function sampleOf(file: string | undefined, own: Given): string {
  if (file !== undefined) throw new CommandError('give a file or --sample, not both', EXIT.usage);
  const { sample = '', networkId = 8453 } = parseOptions(sampleSchema, own);
  if (!(EVENT_KINDS as readonly string[]).includes(sample)) {
    throw new CommandError(`--sample must be one of ${EVENT_KINDS.join(', ')}`, EXIT.usage);
  }
  return JSON.stringify(sampleEvent(sample, networkId, newId('evt'), Math.floor(Date.now() / 1000)));
}

async function readBody(file: string | undefined, { networkId }: Given): Promise<string> {
  if (networkId !== undefined) throw new CommandError('--network-id goes with --sample', EXIT.usage);
  if (file === undefined && process.stdin.isTTY) {
    throw new CommandError('give a file, or - for standard input, or --sample <kind>', EXIT.usage);
  }
  const source = file === undefined || file === '-' ? Bun.stdin : Bun.file(file);
  const bytes = await source.bytes().catch(() => {
    throw new CommandError(`${file} cannot be read`);
  });
  if (bytes.length > MAX_EVENT_BYTES) throw new CommandError(`an event has at most ${MAX_EVENT_BYTES} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError('an event is JSON in UTF-8, and this is not UTF-8');
  }
}

async function listThem(options: Given): Promise<void> {
  const { client, json, own } = openSession(options);
  const { totalResults, events } = await client.events.list(parseOptions(eventListQuerySchema, own));
  if (json) return printJson({ totalResults, events });
  printTable(
    ['event-id', 'event', 'network', 'created', 'webhooks', 'bytes'],
    events.map(({ eventId, event, networkId, dateCreated, deliveries, body }) => [
      eventId,
      event,
      String(networkId),
      showDate(dateCreated),
      String(deliveries),
      String(Buffer.byteLength(body)),
    ]),
    'No such events.',
  );
  printTotal(totalResults, events.length);
}

async function showOne(eventId: string, options: Given): Promise<void> {
  const { client, json } = openSession(options);
  const found = await client.events.get(eventId);
  if (json) return printJson(found);
  printFields({
    event: `${found.event} ${found.eventId} on network ${found.networkId}`,
    created: showDate(found.dateCreated),
    webhooks: String(found.deliveries),
  });
  printLine();
  printLine(prettyJson(printable(found.body)));
}
