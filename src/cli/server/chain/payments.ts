import type { Command } from 'commander';
import type { Payment, PaymentDetail, PaymentList } from '../../../client/chain/payments.ts';
import { paymentListQuerySchema } from '../../../contract/chain/payments.ts';
import { showCount } from '../../../domain/errors.ts';
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
/** Hex digits that are neither a transaction hash nor an address, so the search was for an agreement or a transfer. */
const CUT_HEX = /^0x(?![0-9a-f]{40}$|[0-9a-f]{64}$)/i;
const EXAMPLE_ID = 'pay_hpnyyoxuwgdt73orfpqwrp4iso';

export function addPayments(program: Command): void {
  const payments = program
    .command('payments')
    .description('find payments by transaction, account, amount, agreement or transfer')
    .argument('[q]', 'a transaction hash, an address, an amount, or the id of an agreement, a transfer or an event')
    .option('--state <state>', 'only payments in this state: waiting, seen, safe, final, lost or retracted')
    .option('--network-id <id>', 'only payments of this network')
    .option('--payer <address>', 'only payments from this account')
    .option('--payee <address>', 'only payments to this account')
    .option('--token <address>', 'only payments in this token')
    .option('--min-amount <amount>', 'only payments of at least this amount, with --token')
    .option('--max-amount <amount>', 'only payments of at most this amount, with --token');
  addServerOptions(addListOptions(payments), ['payments', `payments ${HASH}`, 'payments --state seen']).action(
    showPayments,
  );
  const show = payments
    .command('show')
    .description('show the timeline of a payment and the status of each webhook')
    .argument('<id>', 'the id of a payment');
  addServerOptions(show, [`payments show ${EXAMPLE_ID}`]).action(showPayment);
}

async function showPayments(q: string | undefined, options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  const query = parseOptions(paymentListQuerySchema, own);
  const list = await client.payments.list({ ...query, ...(q !== undefined && { q }) });
  if (json) return printJson(list);
  const [first] = list.payments;
  // If a search finds a single payment, shows that payment.
  if (q !== undefined && first !== undefined && list.totalResults === 1) {
    return printDetail(await client.payments.get(first.paymentId));
  }
  printPayments(list, q);
}

/** Reads the options of both commands, because `payments` has the same options as `show` and takes them. */
async function showPayment(id: string, _: OptionValues, command: Command): Promise<void> {
  const { client, json } = openSession(command.optsWithGlobals<OptionValues>());
  const payment = await client.payments.get(id);
  if (json) return printJson(payment);
  printDetail(payment);
}

function printPayments({ totalResults, isTotalExact, payments }: PaymentList, q: string | undefined): void {
  printTable(
    ['payment-id', 'network', 'state', 'amount', 'token', 'payer', 'payee', 'agreement', 'delivered', 'seen'],
    payments.map((payment) => [
      payment.paymentId,
      showNetwork(payment.networkId),
      paintState(payment),
      amountOf(payment),
      showText(payment.token.address),
      showText(payment.payer),
      showText(payment.payee),
      printable(payment.agreementId ?? payment.transferId ?? '–'),
      deliveredOf(payment),
      showDate(payment.dateCreated),
    ]),
    q !== undefined && CUT_HEX.test(q)
      ? 'No payments match. A transaction hash is 0x and 64 hex digits, an address 0x and 40: check that it is complete.'
      : `No payments match. Logs of agreements are in: ${PAYBELL} facts`,
    {
      shorten: { token: 12, payer: 12, payee: 12, agreement: 10, network: 8 },
      leaveOut: ['seen', 'token', 'agreement', 'payer', 'payee', 'network'],
    },
  );
  printTotal(totalResults, payments.length, isTotalExact);
}

function printDetail(payment: PaymentDetail): void {
  printFields({
    payment: payment.paymentId,
    state: `${paintState(payment)}${confirmationsOf(payment)}`,
    amount: amountOf(payment),
    token: showText(payment.token.address),
    payer: showText(payment.payer),
    payee: showText(payment.payee),
    network: showNetwork(payment.networkId),
    transaction: payment.transactionHash,
    block: showBlock(payment.blockNumber),
    transfer: showText(payment.transferId),
    agreement: showText(payment.agreementId),
    waits: waitOf(payment),
  });
  printLine();
  printTable(
    ['when', 'what', 'block', 'webhook', 'event-id'],
    payment.timeline.map(({ date, what, blockNumber, webhookId, eventId }) => [
      showDate(date),
      what,
      showBlock(blockNumber),
      webhookId ?? '–',
      showText(eventId),
    ]),
    'No steps.',
    { shorten: { 'event-id': 16, webhook: 12 }, leaveOut: ['event-id'] },
  );
  printLine();
  printTable(
    ['webhook', 'event', 'finality', 'status', 'reason'],
    payment.webhooks.map(({ webhookId, event, finality, status, reason }) => [
      webhookId,
      event,
      finality,
      paint(
        status,
        status === 'delivered' ? 'green' : status === 'failed' || status === 'retracted' ? 'red' : 'yellow',
      ),
      showText(reason),
    ]),
    'No webhook is registered for its events.',
    { shorten: { webhook: 12 }, leaveOut: ['finality'] },
  );
}

/** A symbol that is not on the list gets a question mark, because the token chose it. */
function amountOf({ amount, amountBase, token: { symbol, isListed } }: Payment): string {
  const unit = symbol === null ? '' : ` ${printable(symbol)}${isListed ? '' : '?'}`;
  if (amount !== null) return `${printable(amount)}${unit}`;
  return amountBase === null ? '–' : `${printable(amountBase)} base${unit}`;
}

function deliveredOf({ deliveries: { delivered, waiting, failed } }: Payment): string {
  const all = delivered + waiting + failed;
  return all === 0 ? '–' : `${delivered} of ${all}${failed === 0 ? '' : `, ${failed} failed`}`;
}

function confirmationsOf({ confirmations, isDisputed, isDust, isHistory }: Payment): string {
  const notes = [
    confirmations === null ? '' : showCount(confirmations, 'confirmation', 'confirmations'),
    isDisputed ? 'nodes disagree' : '',
    isDust ? '0 or below the least amount, not delivered' : '',
    isHistory ? 'history, not delivered' : '',
  ].filter((note) => note !== '');
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function waitOf({ waitsFor }: Payment): string {
  if (waitsFor === null) return '–';
  const { finality, dateExpected, webhooks } = waitsFor;
  const when = dateExpected === null ? '' : `, expected ${showDate(dateExpected)}`;
  return `${showCount(webhooks, 'webhook', 'webhooks')} for ${printable(finality)}${when}`;
}

function paintState({ state }: Payment): string {
  const colour =
    state === 'final'
      ? 'green'
      : state === 'seen' || state === 'safe'
        ? 'cyan'
        : state === 'retracted'
          ? 'red'
          : 'yellow';
  return paint(state, colour);
}
