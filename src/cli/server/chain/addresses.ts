import type { Command } from 'commander';
import type { AddressChange, NewAddress } from '../../../client/chain/sources.ts';
import { addressListQuerySchema, MAX_ADDRESSES } from '../../../contract/chain/addresses.ts';
import { showCount } from '../../../domain/errors.ts';
import { readLines } from '../../formats/input-lines.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { CommandError, UsageError } from '../../terminal/command-error.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { printJson, printLine, showDate, showText } from '../../terminal/output.ts';
import { printTable, printTotal } from '../../terminal/table.ts';
import { terminal } from '../../terminal/terminal.ts';
import { addServerOptions, openSession, type ServerOptions } from '../session.ts';

const EXAMPLE_ID = 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';
const EXAMPLE_ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
const FILE_HELP =
  'file with one address per line, with its agreement and its reference after commas if it has them; - is standard input';

/** The commands `sources addresses add|remove|list`. */
export function addAddressCommands(sources: Command): void {
  const book = sources.command('addresses').description('the address book of a source');
  const add = book
    .command('add')
    .description('add addresses to the book of a source')
    .argument('<sourceId>', 'id of the source')
    .argument('[addresses...]', 'addresses without an agreement or a reference')
    .option('--file <file>', FILE_HELP);
  addServerOptions(add, [
    `sources addresses add ${EXAMPLE_ID} ${EXAMPLE_ADDRESS}`,
    `sources addresses add ${EXAMPLE_ID} --file addresses.csv`,
  ]).action(addToBook);
  const remove = book
    .command('remove')
    .description('remove addresses from the book of a source')
    .argument('<sourceId>', 'id of the source')
    .argument('[addresses...]', 'addresses to remove')
    .option('--file <file>', FILE_HELP);
  addServerOptions(remove, [`sources addresses remove ${EXAMPLE_ID} ${EXAMPLE_ADDRESS}`]).action(removeFromBook);
  const list = book
    .command('list')
    .description('list the address book of a source, newest first')
    .argument('<sourceId>', 'id of the source')
    .option('--address <address>', 'only this address')
    .option('--agreement-id <id>', 'only addresses of this agreement')
    .option('--reference <text>', 'only addresses with this reference');
  addServerOptions(addListOptions(list), [`sources addresses list ${EXAMPLE_ID}`]).action(listBook);
}

type BookOptions = ServerOptions & { file?: string };

async function addToBook(sourceId: string, addresses: string[], options: BookOptions & OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const entries = await readEntries(addresses, options.file);
  const total = await inParts(entries, (some) => client.sources.addAddresses(sourceId, some));
  if (json) return printJson(total);
  const changed = total.changed === 0 ? '' : `, ${total.changed} changed`;
  const from = total.fromBlock === null ? '' : ` Payments count from block ${total.fromBlock} on.`;
  printLine(`${showCount(total.added, 'address', 'addresses')} added${changed}.${from}`);
  printLine(`The book has ${showCount(total.addressCount, 'address', 'addresses')}.`);
}

async function removeFromBook(sourceId: string, given: string[], options: BookOptions & OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const entries = await readEntries(given, options.file);
  const total = await inParts(entries, (some) =>
    client.sources.removeAddresses(
      sourceId,
      some.map(({ address }) => address),
    ),
  );
  if (json) return printJson(total);
  printLine(
    `${showCount(total.removed, 'address', 'addresses')} removed. The book has ${showCount(total.addressCount, 'address', 'addresses')}.`,
  );
}

async function listBook(sourceId: string, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const list = await client.sources.listAddresses(sourceId, parseOptions(addressListQuerySchema, own));
  if (json) return printJson(list);
  printTable(
    ['address', 'agreement', 'reference', 'from block', 'added'],
    list.addresses.map(({ address, agreementId, reference, fromBlock, dateCreated }) => [
      address,
      showText(agreementId),
      showText(reference),
      String(fromBlock),
      showDate(dateCreated),
    ]),
    `No addresses match. Add some: ${PAYBELL} sources addresses add --help`,
    { shorten: { address: 12, reference: 12, agreement: 12 }, leaveOut: ['added', 'from block'] },
  );
  printTotal(list.totalResults, list.addresses.length);
}

/**
 * A request has at most 1,000 addresses. If a request fails, the earlier requests count, and the command can be
 * repeated.
 */
async function inParts(
  entries: readonly NewAddress[],
  send: (some: readonly NewAddress[]) => Promise<AddressChange>,
): Promise<AddressChange> {
  const total = {
    added: 0,
    changed: 0,
    removed: 0,
    addressCount: 0,
    fromBlock: null as number | null,
    untilBlock: null as number | null,
  };
  for (let start = 0; start < entries.length; start += MAX_ADDRESSES) {
    const part = await send(entries.slice(start, start + MAX_ADDRESSES));
    total.added += part.added;
    total.changed += part.changed;
    total.removed += part.removed;
    total.addressCount = part.addressCount;
    total.fromBlock = part.fromBlock;
    total.untilBlock = part.untilBlock;
  }
  return total;
}

async function readEntries(addresses: readonly string[], file: string | undefined): Promise<NewAddress[]> {
  if (file !== undefined && addresses.length > 0) throw new UsageError('give --file or addresses, not both');
  const entries = file === undefined ? addresses.map((address) => ({ address })) : await readFile(file);
  if (entries.length === 0) throw new UsageError('give at least one address, or --file');
  return entries;
}

async function readFile(file: string): Promise<NewAddress[]> {
  const source = file === '-' ? terminal().stdin : Bun.file(file);
  const entries: NewAddress[] = [];
  try {
    for await (const line of readLines(source.stream())) {
      if ('error' in line) throw new UsageError(`line ${line.line} of ${file} ${line.error}`);
      if (line.text.trim() !== '') entries.push(entryOf(line.text));
    }
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`cannot read ${file}`);
  }
  return entries;
}

/** Everything after the second comma belongs to the reference. */
function entryOf(line: string): NewAddress {
  const [address = '', agreementId = '', ...rest] = line.split(',').map((part) => part.trim());
  const reference = rest.join(',');
  return { address, ...(agreementId !== '' && { agreementId }), ...(reference !== '' && { reference }) };
}
