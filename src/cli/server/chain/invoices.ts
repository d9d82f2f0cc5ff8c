import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Invoice, InvoiceDetail, NewInvoice } from '../../../client/chain/invoices.ts';
import { parseDurationMs } from '../../../config/values.ts';
import { invoiceListQuerySchema } from '../../../contract/chain/invoices.ts';
import { newInvoiceSchema } from '../../../contract/chain/new-invoice.ts';
import { explainAbsence } from '../../../contract/parse-input.ts';
import { showCount } from '../../../domain/errors.ts';
import { readLines } from '../../formats/input-lines.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { collect, MOMENT, parseMoment, wholeNumber } from '../../options/values.ts';
import { CommandError, UsageError } from '../../terminal/command-error.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { paint, printable, printJson, printLine, showDate, showNetwork, showText } from '../../terminal/output.ts';
import { printFields, printTable, printTotal } from '../../terminal/table.ts';
import { terminal } from '../../terminal/terminal.ts';
import { addServerOptions, openSession, type ServerOptions } from '../session.ts';

const EXAMPLE_ID = 'inv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';

/** The commands `invoices create|list|show|cancel|check`. */
export function addInvoices(program: Command): void {
  const invoices = program.command('invoices').description('payments that are expected');
  addCreate(invoices);
  const list = invoices
    .command('list')
    .description('list invoices, newest first')
    .argument('[q]', 'an address, a transaction hash, a reference, or the id of an invoice, a transfer or an agreement')
    .option('--network-id <id>', 'only invoices of this network')
    .option('--token <address>', 'only invoices in this token')
    .option('--watch <state>', 'on: only invoices whose address is watched; ended: only the others')
    .option('--since <time>', `only invoices created since then: ${MOMENT}`, parseMoment)
    .option('--until <time>', `only invoices created before then: ${MOMENT}`, parseMoment);
  addServerOptions(addListOptions(list), ['invoices list', 'invoices list "order 8412"']).action(listInvoices);
  const one = (name: string, description: string) =>
    invoices.command(name).description(description).argument('<invoiceId>', 'id of the invoice');
  addServerOptions(one('show', 'show an invoice with its payments'), [`invoices show ${EXAMPLE_ID}`]).action(
    (id: string, options: OptionValues) => withInvoice(options, (client) => client.invoices.get(id)),
  );
  addServerOptions(one('cancel', 'cancel an invoice that is not paid'), [`invoices cancel ${EXAMPLE_ID}`]).action(
    (id: string, options: OptionValues) => withInvoice(options, (client) => client.invoices.cancel(id)),
  );
  addServerOptions(one('check', 'ask a node for the balance of the address'), [`invoices check ${EXAMPLE_ID}`]).action(
    (id: string, options: OptionValues) => withInvoice(options, (client) => client.invoices.check(id)),
  );
}

function addCreate(invoices: Command): void {
  const create = invoices
    .command('create')
    .description('expect a payment to an address')
    .option('--network-id <id>', 'network of the payment', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--token <address>', 'address of the token, or native')
    .option('--address <address>', 'address that the payer pays')
    .option('--amount <decimal>', 'amount that is expected')
    .option('--expires <time>', 'due after a duration such as 24h, or at Unix seconds', parseExpiry)
    .option('--match <match>', 'address: every payment counts; exact: only payments of the amount')
    .option('--tolerance-percent <percent>', 'how far the sum may be off, 0 to 10', Number)
    .option('--watch-days <days>', 'days after the expiry in which late payments count', wholeNumber(0, 90))
    .option('--agreement-id <id>', 'agreement of the payment')
    .option('--transfer-id <id>', 'transfer of the payment')
    .option('--reference <text>', 'your own id of the invoice')
    .option('--metadata <name=text>', 'your own text; may be repeated', collect)
    .option('--file <file>', 'create the invoices of an NDJSON file; - is standard input');
  addServerOptions(create, [
    `invoices create --network-id 8453 --token ${USDC} --address ${ADDRESS} --amount 25 --expires 24h --reference "order 8412"`,
    'invoices create --file invoices.ndjson',
  ]).action(createInvoices);
}

/** A duration from now, or Unix seconds. */
function parseExpiry(text: string): number {
  if (/^[0-9]{1,16}$/.test(text)) return Number(text);
  const ms = parseDurationMs(text);
  if (ms !== null) return Math.floor((Date.now() + ms) / 1000);
  throw new InvalidArgumentError('Give a duration such as 24h, or Unix seconds.');
}

type CreateOptions = ServerOptions & {
  networkId?: number;
  token?: string;
  address?: string;
  amount?: string;
  expires?: number;
  match?: string;
  tolerancePercent?: number;
  watchDays?: number;
  agreementId?: string;
  transferId?: string;
  reference?: string;
  metadata?: string[];
  file?: string;
};

async function createInvoices(options: CreateOptions): Promise<void> {
  const { server, entity, profile, json, file, expires, metadata, ...given } = options;
  const connection = {
    ...(server !== undefined && { server }),
    ...(entity !== undefined && { entity }),
    ...(profile !== undefined && { profile }),
  };
  const { client } = openSession(connection);
  if (file !== undefined) {
    if (Object.keys(given).length > 0) throw new UsageError('give --file or the options of one invoice, not both');
    return createFromFile(client, file, json === true);
  }
  const invoice = await client.invoices.create(
    checked({
      ...given,
      ...(expires !== undefined && { dateExpires: expires }),
      ...(metadata !== undefined && { metadata: textsOf(metadata) }),
    }),
  );
  if (json === true) return printJson(invoice);
  printInvoice(invoice);
}

const OPTION_OF: Readonly<Record<string, string>> = { dateExpires: 'expires' };

/** Checks an invoice by the rules of the API. Errors have the names of the options. */
function checked(given: object): NewInvoice {
  const result = newInvoiceSchema.safeParse(given);
  if (result.success) return given as NewInvoice;
  const errors = result.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '');
    return `--${(OPTION_OF[name] ?? name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${explainAbsence(issue, given)}`;
  });
  throw new UsageError(errors.join('\n      '));
}

function textsOf(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new UsageError('--metadata must be a name, = and a text');
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

type Client = ReturnType<typeof openSession>['client'];

async function createFromFile(client: Client, file: string, json: boolean): Promise<void> {
  const invoices = await readInvoices(file);
  const { results } = await client.invoices.createBatch(invoices);
  if (json) return printJson({ results });
  const rejected = results.flatMap((result, at) => (result.invoiceId === null ? { line: at + 1, ...result } : []));
  printTable(
    ['line', 'status', 'code', 'detail'],
    rejected.map(({ line, status, code, detail }) => [String(line), String(status), code ?? '–', showText(detail)]),
    'Every line has its invoice.',
  );
  const created = results.filter(({ status }) => status === 201).length;
  const known = results.length - rejected.length - created;
  printLine(`${showCount(created, 'invoice')} created, ${known} known before, ${rejected.length} rejected.`);
  if (rejected.length > 0) throw new CommandError(`${showCount(rejected.length, 'line')} of ${file} rejected`);
}

async function readInvoices(file: string): Promise<NewInvoice[]> {
  const source = file === '-' ? terminal().stdin : Bun.file(file);
  const invoices: NewInvoice[] = [];
  try {
    for await (const line of readLines(source.stream())) {
      if ('error' in line) throw new UsageError(`line ${line.line} of ${file} ${line.error}`);
      if (line.text.trim() !== '') invoices.push(parseLine(line.text, line.line, file));
    }
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(`cannot read ${file}`);
  }
  if (invoices.length === 0) throw new UsageError(`${file} has no invoice`);
  return invoices;
}

function parseLine(text: string, line: number, file: string): NewInvoice {
  try {
    return JSON.parse(text) as NewInvoice;
  } catch {
    throw new UsageError(`line ${line} of ${file} is not JSON`);
  }
}

async function listInvoices(q: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const query = parseOptions(invoiceListQuerySchema, { ...own, ...(q !== undefined && { q }) });
  const list = await client.invoices.list(query);
  if (json) return printJson(list);
  printTable(
    ['invoice-id', 'state', 'amount', 'received', 'token', 'address', 'network', 'reference', 'due'],
    list.invoices.map((invoice) => [
      invoice.invoiceId,
      paintState(invoice),
      invoice.amount,
      invoice.received,
      tokenOf(invoice),
      invoice.address,
      showNetwork(invoice.networkId),
      showText(invoice.reference),
      showDate(invoice.dateExpires),
    ]),
    `No invoices match. Create one: ${PAYBELL} invoices create --help`,
    { shorten: { address: 12, reference: 12, network: 8 }, leaveOut: ['network', 'address', 'due', 'reference'] },
  );
  printTotal(list.totalResults, list.invoices.length);
}

async function withInvoice(options: OptionValues, work: (client: Client) => Promise<InvoiceDetail>): Promise<void> {
  const { client, json } = openSession(options);
  const invoice = await work(client);
  if (json) return printJson(invoice);
  printInvoice(invoice);
}

function printInvoice(invoice: InvoiceDetail): void {
  const unit = tokenOf(invoice);
  printFields({
    invoice: invoice.invoiceId,
    state: `${paintState(invoice)}${notesOf(invoice)}`,
    expected: `${invoice.amount} ${unit}`,
    received: `${invoice.received} ${unit} (${invoice.receivedFinal} final)`,
    missing: `${invoice.due} ${unit}`,
    address: invoice.address,
    token: printable(invoice.token),
    network: showNetwork(invoice.networkId),
    due: showDate(invoice.dateExpires),
    watched: watchOf(invoice),
    reference: showText(invoice.reference),
    transfer: printable(invoice.transferId),
    unexplained: invoice.unexplainedBalance === null ? '–' : `${invoice.unexplainedBalance} ${unit}`,
  });
  printLine();
  printTable(
    ['payment-id', 'state', 'amount', 'block', 'transaction'],
    invoice.payments.map(({ paymentId, state, amount, amountBase, blockNumber, transactionHash }) => [
      paymentId,
      state,
      amount ?? amountBase ?? '–',
      blockNumber === null ? '–' : String(blockNumber),
      transactionHash,
    ]),
    'No payments yet. Paybell does not see transfers inside contract calls that leave no log.',
    { shorten: { transaction: 16 }, leaveOut: ['transaction', 'block'] },
  );
}

function watchOf({ untilBlock, fromBlock, dateWatchedUntil }: Invoice): string {
  if (untilBlock !== null) return `blocks ${fromBlock} to ${untilBlock}`;
  return `from block ${fromBlock} until ${showDate(dateWatchedUntil)}`;
}

/** A symbol that is not on the list gets a question mark, because the token chose it. */
function tokenOf({ symbol, isListed, token }: Invoice): string {
  return symbol === null ? printable(token) : `${printable(symbol)}${isListed ? '' : '?'}`;
}

function notesOf({ isFinal, isLate, match }: Invoice): string {
  const notes = [isFinal ? 'final' : '', isLate ? 'late' : '', match === 'exact' ? 'exact amount only' : ''];
  const given = notes.filter((note) => note !== '');
  return given.length === 0 ? '' : ` (${given.join('; ')})`;
}

function paintState({ state }: Invoice): string {
  const colour =
    state === 'paid'
      ? 'green'
      : state === 'open'
        ? 'cyan'
        : state === 'expired' || state === 'cancelled'
          ? 'red'
          : 'yellow';
  return paint(state, colour);
}
