import type { Command } from 'commander';
import type { Fact, FactDetail, FactList } from '../../../client/chain/facts.ts';
import type { Paybell } from '../../../client/paybell.ts';
import { factListQuerySchema } from '../../../contract/chain/facts.ts';
import { storedTransactionId } from '../../../domain/chain/families/families.ts';
import { showCount } from '../../../domain/errors.ts';
import { prettyJson } from '../../formats/pretty-json.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import {
  paint,
  printable,
  printJson,
  printLine,
  showBlock,
  showDate,
  showNetwork,
  showText,
} from '../../terminal/output.ts';
import { printFields, printTable, printTotal } from '../../terminal/table.ts';
import { addServerOptions, openSession } from '../session.ts';

const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060';

export function addFacts(program: Command): void {
  const facts = program
    .command('facts')
    .description('what networks said about payments, and what was delivered for it')
    .argument('[id]', 'a transaction hash, or the id of a transfer, an agreement or a fact')
    .option('--state <state>', 'only facts in this state: waiting, seen, lost, retracted or final')
    .option('--network-id <id>', 'only facts of this network');
  addServerOptions(addListOptions(facts), ['facts', `facts ${HASH}`, 'facts --state retracted']).action(showFacts);
}

async function showFacts(id: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const query = parseOptions(factListQuerySchema, own);
  const only = id?.startsWith('fct_') ? id : null;
  if (only !== null) return printDetail(await client.facts.get(only), json);
  const list = await find(client, id, query);
  const [first] = list.facts;
  // The text names one payment, so its history is shown.
  if (id !== undefined && first !== undefined && list.totalResults === 1) {
    return printDetail(await client.facts.get(first.factId), json);
  }
  if (json) return printJson(list);
  printFacts(list);
}

type FactQuery = Parameters<Paybell['facts']['list']>[0];

async function find({ facts }: Paybell, id: string | undefined, query: FactQuery): Promise<FactList> {
  if (id === undefined) return facts.list(query);
  const transactionHash = storedTransactionId(id);
  if (transactionHash !== null) {
    const list = await facts.list({ ...query, transactionHash });
    if (list.totalResults > 0) return list;
  }
  const list = await facts.list({ ...query, transferId: id });
  return list.totalResults > 0 ? list : facts.list({ ...query, agreementId: id });
}

function printFacts({ totalResults, facts }: FactList): void {
  printTable(
    ['fact-id', 'network', 'state', 'kind', 'amount', 'block', 'transfer', 'agreement', 'seen', 'transaction'],
    facts.map((fact) => [
      fact.factId,
      showNetwork(fact.networkId),
      paintState(fact),
      fact.kind,
      amountOf(fact),
      showBlock(fact.blockNumber),
      showText(fact.transferId),
      showText(fact.agreementId),
      showDate(fact.dateCreated),
      fact.transactionHash,
    ]),
    `No facts match. What is read from a network: ${PAYBELL} sources list`,
    {
      shorten: { transaction: 12, agreement: 10, transfer: 10, network: 8 },
      leaveOut: ['agreement', 'seen', 'block', 'transfer', 'network', 'transaction'],
    },
  );
  printTotal(totalResults, facts.length);
}

function printDetail(fact: FactDetail, json: boolean): void {
  if (json) {
    printJson(fact);
    return;
  }
  printFields({
    fact: fact.factId,
    network: showNetwork(fact.networkId),
    state: `${paintState(fact)}${fact.isDisputed ? ' (disputed: as many nodes deny it as show it)' : ''}`,
    kind: `${fact.kind}${fact.isSilent ? ' (history, not delivered)' : ''}`,
    transaction: fact.transactionHash,
    block: showBlock(fact.blockNumber),
    source: fact.sourceId ?? '– (a posted event, held for its transaction)',
    transfer: showText(fact.transferId),
    agreement: showText(fact.agreementId),
  });
  printLine(prettyJson(printable(JSON.stringify(fact.fields))));
  printLine();
  printTable(
    ['when', 'state', 'revision', 'block', 'block hash'],
    fact.history.map(({ dateCreated, state, revision, blockNumber, blockHash }) => [
      showDate(dateCreated),
      state,
      String(revision),
      showBlock(blockNumber),
      blockHash ?? '–',
    ]),
    'No history.',
    { shorten: { 'block hash': 12 }, leaveOut: ['block hash'] },
  );
  printLine();
  printTable(
    ['event', 'finality', 'deliveries', 'event-id'],
    fact.events.map(({ event, finality, totalDeliveries, deliveries, eventId }) => [
      event,
      finality,
      totalDeliveries === 0
        ? 'none'
        : `${showCount(totalDeliveries, 'delivery', 'deliveries')}: ${statuses(deliveries)}`,
      eventId ?? 'about to be accepted',
    ]),
    fact.isSilent ? 'No events: it is history.' : 'No events yet: no webhook wants one at the finality that it has.',
    { shorten: { 'event-id': 16 }, leaveOut: [] },
  );
}

function statuses(deliveries: FactDetail['events'][number]['deliveries']): string {
  const counts = new Map<string, number>();
  for (const { status } of deliveries) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}

function amountOf({ fields }: Fact): string {
  const { amount, amountBase } = fields;
  if (typeof amount === 'string') return printable(amount);
  return typeof amountBase === 'string' ? `${printable(amountBase)} base` : '–';
}

function paintState({ state }: Fact): string {
  const colour = state === 'final' ? 'green' : state === 'seen' ? 'cyan' : state === 'retracted' ? 'red' : 'yellow';
  return paint(state, colour);
}
