import type { Command } from 'commander';
import type {
  NewSource,
  Source,
  SourcePreview,
  SourcePreviewRequest,
  SourceRecentEvents,
  SourceRecentRequest,
  SourceUpdate,
} from '../../../client/chain/sources.ts';
import { sourceListQuerySchema } from '../../../contract/chain/sources.ts';
import { showCount } from '../../../domain/errors.ts';
import { networkName } from '../../../domain/networks.ts';
import { prettyJson } from '../../formats/pretty-json.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { UsageError } from '../../terminal/command-error.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { paint, printable, printJson, printLine, showDate, showNetwork } from '../../terminal/output.ts';
import { printFields, printTable, printTotal } from '../../terminal/table.ts';
import { addServerOptions, openSession, type ServerOptions } from '../session.ts';
import { addAddressCommands } from './addresses.ts';
import {
  addChangeOptions,
  addDefinitionOptions,
  type ChangeOptions,
  type DefinitionOptions,
  readDefinition,
} from './definition-options.ts';

const EXAMPLE_ID = 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';
const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060';
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const PAYEE = '0x52908400098527886E0F7030069857D2E4169EE7';
const ERC20 = `--network 8453 --preset erc20 --contract ${USDC} --where to=${PAYEE}`;

export function addSources(program: Command): void {
  const sources = program.command('sources').description('contracts whose logs are events of the entity');
  const add = addDefinitionOptions(sources.command('add').description('make events of the logs of a contract'))
    .option('--name <name>', 'a name for people')
    .option('--min-amount <decimal>', 'smallest amount that leads to an event')
    .option('--address-book <parameter>', 'take only logs with an address of the book in this parameter, such as to')
    .option('--from-block <number>', 'first block to read (default: the next one)')
    .option('--deliver-history', 'deliver events of blocks from before now too');
  addServerOptions(add, [
    `sources add ${ERC20}`,
    `sources add --network 8453 --preset erc20 --contract ${USDC} --address-book to`,
    `sources add --network 8453 --contract ${PAYEE} --abi 'event Paid(bytes32 id, uint256 amount)' --event Transfer --field transferId=id --amount amount=amount@${USDC}`,
  ]).action(addSource);
  const preview = addDefinitionOptions(
    sources
      .command('preview')
      .description('show the events of a transaction or of the latest blocks; nothing is stored'),
  ).argument('[transactionHash]', 'a transaction that is in a block; without it, the latest blocks');
  addServerOptions(preview, [
    `sources preview ${ERC20}`,
    `sources preview ${HASH} ${ERC20}`,
    `sources preview ${HASH} --network 8453`,
  ]).action(previewSource);
  const list = sources
    .command('list')
    .description('list sources, newest first')
    .option('--network-id <id>', 'only sources on this network')
    .option('--contract <address>', 'only sources of this contract')
    .option('--state <state>', 'only sources in this state: live, catching_up or paused');
  addServerOptions(addListOptions(list), ['sources list --network-id 8453']).action(listSources);
  const show = sources.command('show').description('show a source').argument('<sourceId>', 'id of the source');
  addServerOptions(show, [`sources show ${EXAMPLE_ID}`]).action(showSource);
  const update = addChangeOptions(
    sources.command('update').description('change a source; new settings count from the next block'),
  )
    .argument('<sourceId>', 'id of the source')
    .option('--name <name>', 'a name for people; empty removes it')
    .option('--min-amount <decimal>', 'smallest amount that leads to an event')
    .option('--no-min-amount', 'any amount leads to an event')
    .option('--pause', 'read no more logs for it')
    .option('--resume', 'continue at the block of the pause');
  addServerOptions(update, [
    `sources update ${EXAMPLE_ID} --where to=${PAYEE}`,
    `sources update ${EXAMPLE_ID} --name Shop --pause`,
  ]).action(updateSource);
  const remove = sources
    .command('remove')
    .description('read no more logs for a source; its facts stay')
    .argument('<sourceId>', 'id of the source');
  addServerOptions(remove, [`sources remove ${EXAMPLE_ID}`]).action(removeSource);
  addAddressCommands(sources);
}

type AddOptions = ServerOptions &
  DefinitionOptions & {
    name?: string;
    minAmount?: string;
    addressBook?: string;
    fromBlock?: string;
    deliverHistory?: boolean;
  };

async function addSource(given: AddOptions): Promise<void> {
  const { name, minAmount, addressBook, fromBlock, deliverHistory, ...options } = given;
  const { client, json } = openSession(onlyServer(options));
  const definition = {
    ...(await readDefinition(options)),
    ...(name !== undefined && { name }),
    ...(minAmount !== undefined && { minAmount }),
    ...(addressBook !== undefined && { addressBook }),
    ...(fromBlock !== undefined && { fromBlock: blockOf(fromBlock) }),
    ...(deliverHistory === true && { deliverHistory }),
  };
  const source = await client.sources.create(definition as NewSource);
  if (json) return printJson(source);
  printSource(source);
}

function blockOf(text: string): number | 'latest' {
  if (text === 'latest') return text;
  if (/^[0-9]{1,16}$/.test(text)) return Number(text);
  throw new UsageError('--from-block must be the number of a block, or latest');
}

async function previewSource(
  transactionHash: string | undefined,
  options: ServerOptions & DefinitionOptions,
): Promise<void> {
  const { client, json } = openSession(onlyServer(options));
  const definition = await readDefinition(options);
  if (transactionHash === undefined) {
    const recent = await client.sources.previewRecent(definition as SourceRecentRequest);
    return json ? printJson(recent) : printRecent(recent);
  }
  const preview = await client.sources.preview({ ...definition, transactionHash } as SourcePreviewRequest);
  if (json) return printJson(preview);
  printPreview(preview);
}

/** The options of the server. A session does not accept the options of the definition, some of which are lists. */
function onlyServer({ server, entity, profile, json }: ServerOptions): ServerOptions & OptionValues {
  return {
    ...(server !== undefined && { server }),
    ...(entity !== undefined && { entity }),
    ...(profile !== undefined && { profile }),
    ...(json !== undefined && { json }),
  };
}

function printPreview({ networkId, blockNumber, isSuccess, logs, events, others }: SourcePreview): void {
  const where = `block ${blockNumber} of ${networkName(networkId)}`;
  if (!isSuccess) {
    printLine(`The transaction is in ${where} and has failed: it has no logs.`);
    return;
  }
  printLine(`${events.length} of ${showCount(logs, 'log')} in ${where} would be taken. Nothing is stored.`);
  for (const { logIndex, kind, events: kinds, fields } of events) {
    const delivered =
      kinds.length === 0
        ? ' (no event: its amount is 0)'
        : kinds.length === 1 && kinds[0] === kind
          ? ''
          : ` (${kinds.join(', then ')})`;
    printLine(`\n${paint(`log ${logIndex}`, 'bold')}  ${paint(kind, 'green')}${delivered}`);
    printLine(prettyJson(printable(JSON.stringify(fields))));
  }
  if (others.length === 0) return;
  printLine();
  printTable(
    ['log', 'contract', 'why not'],
    others.map(({ logIndex, contract, reason }) => [String(logIndex), contract, printable(reason)]),
    '',
    { shorten: { 'why not': 20, contract: 12 }, leaveOut: [] },
  );
}

function printRecent({ networkId, fromBlock, toBlock, found, events }: SourceRecentEvents): void {
  const where = `blocks ${fromBlock} to ${toBlock} of ${networkName(networkId)}`;
  printLine(`${showCount(found, 'log')} in ${where} would be taken. Nothing is stored.`);
  if (events.length === 0) return;
  printLine();
  printTable(
    ['block', 'kind', 'amount', 'from', 'to', 'transaction'],
    events.map(({ blockNumber, kind, isDust, fields, transactionHash }) => [
      String(blockNumber),
      isDust ? `${kind} (no event)` : kind,
      ...[fields.amount ?? fields.amountBase, fields.payer, fields.payee].map((value) =>
        printable(String(value ?? '–')),
      ),
      transactionHash,
    ]),
    '',
    { shorten: { from: 8, to: 8, transaction: 10 }, leaveOut: ['kind'] },
  );
}

async function listSources(options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const list = await client.sources.list(parseOptions(sourceListQuerySchema, own));
  if (json) return printJson(list);
  printTable(
    ['source-id', 'network', 'state', 'what', 'contract', 'from block', 'created'],
    list.sources.map((source) => [
      source.sourceId,
      showNetwork(source.networkId),
      paintState(source),
      source.preset ?? source.event ?? '–',
      source.contract,
      String(source.fromBlock),
      showDate(source.dateCreated),
    ]),
    `No sources match. Add one: ${PAYBELL} sources add --help`,
    { shorten: { contract: 12, network: 12 }, leaveOut: ['created', 'from block'] },
  );
  printTotal(list.totalResults, list.sources.length);
}

async function showSource(sourceId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const source = await client.sources.get(sourceId);
  if (json) return printJson(source);
  printSource(source);
}

type UpdateOptions = ServerOptions &
  ChangeOptions & { name?: string; minAmount?: string | false; pause?: boolean; resume?: boolean };

async function updateSource(sourceId: string, options: UpdateOptions): Promise<void> {
  const { name, minAmount, pause, resume } = options;
  if (pause === true && resume === true) throw new UsageError('give --pause or --resume, not both');
  const { client, json } = openSession(onlyServer(options));
  const source = await client.sources.update(sourceId, {
    ...(await readDefinition(options)),
    ...(name !== undefined && { name: name === '' ? null : name }),
    ...(minAmount !== undefined && { minAmount: minAmount === false ? null : minAmount }),
    ...(pause === true && { isPaused: true }),
    ...(resume === true && { isPaused: false }),
  } as SourceUpdate);
  if (json) return printJson(source);
  printSource(source);
}

async function removeSource(sourceId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  await client.sources.delete(sourceId);
  if (json) return printJson({ sourceId });
  printLine(`${sourceId} is removed. Its facts stay: ${PAYBELL} facts`);
}

function printSource(source: Source): void {
  const { networkId, preset, contract, abi, event, where, fields, blocksLeft, pausedReason } = source;
  const left = blocksLeft === null ? '' : ` (${showCount(blocksLeft, 'block')} left)`;
  printFields({
    source: source.sourceId,
    ...(source.name === null ? {} : { name: printable(source.name) }),
    network: showNetwork(networkId),
    contract,
    ...(preset === null ? { abi: abi ?? '–', event: event ?? '–' } : { preset }),
    where: showObject(where),
    fields: showObject(fields),
    ...(source.minAmount === null ? {} : { 'min amount': source.minAmount }),
    ...(source.addressBook === null
      ? {}
      : { 'address book': `${source.addressBook}, ${showCount(source.addressCount, 'address', 'addresses')}` }),
    'from block': String(source.fromBlock),
    ...(source.revision === 1 ? {} : { revision: `${source.revision}, from block ${source.appliesFromBlock} on` }),
    history: source.deliverHistory ? 'delivered' : 'stored, not delivered',
    state: `${paintState(source)}${source.state === 'catching_up' ? left : ''}`,
    ...(pausedReason === null ? {} : { reason: printable(pausedReason) }),
    created: showDate(source.dateCreated),
  });
}

function showObject(value: object): string {
  return Object.keys(value).length === 0 ? 'none' : printable(JSON.stringify(value));
}

function paintState({ state }: Source): string {
  return paint(state, state === 'live' ? 'green' : state === 'paused' ? 'red' : 'yellow');
}
