import {
  foldInvoice,
  type InvoicePayment,
  isDustFor,
  paidRange,
} from '../../../../src/domain/chain/invoices/invoice-state.ts';
import { factEventId } from '../../../../src/store/chain/publish/fact-payload.ts';
import type { ModelBlock, ModelChain } from '../../../support/chain/model-chain.ts';
import { amountOfBase } from '../../fleet/evm/invoices.ts';
import { MAX_REORG_DEPTH } from '../../fleet/evm/network.ts';
import { isAnswered } from '../../model/history.ts';
import { INVOICED, type InvoiceModel, LATE, PAID, type PaymentModel } from '../../model/model.ts';
import type { Evidence } from '../evidence.ts';
import type { Law, Verdict } from '../law.ts';
import type { FactView, InvoiceView } from '../view.ts';

export const invoices: Law = {
  id: 'L15',
  says: 'At every finality, an invoice has the sum of its payments on the chain, and it is late only if too little came in time.',
  check: (evidence, verdict) => {
    const { view } = evidence.findings;
    const byReference = new Map(view.invoices.map((row) => [row.reference, row]));
    for (const invoice of evidence.model.invoices) {
      const row = byReference.get(invoice.name);
      requireKept(evidence, verdict, invoice, row);
      if (row === undefined) continue;
      const own = paymentsOf(evidence, row);
      requirePayments(evidence, verdict, invoice, row, own);
      requireSums(evidence, verdict, invoice, row, own);
      requireVersions(evidence, verdict, row, own);
      requireOneEvent(evidence, verdict, invoice, row, INVOICED, true);
      requireLate(evidence, verdict, invoice, row, own);
    }
  },
};

/** A payment that the store gave to the invoice. */
type OwnPayment = {
  readonly fact: FactView;
  readonly payment: PaymentModel | undefined;
  /** Null for a payment that is gone. */
  readonly block: number | null;
};

/** The last block that Paybell has read for the address, whichever reorg came last. */
function lastRead({ untilBlock }: InvoiceView): number {
  return untilBlock === null ? Number.POSITIVE_INFINITY : untilBlock - 2 * MAX_REORG_DEPTH;
}

/** Without dust, which an invoice does not count. A payment that was retracted may return after the end of the watch. */
function paymentsOf(evidence: Evidence, row: InvoiceView): OwnPayment[] {
  const { findings, model } = evidence;
  return findings.view.facts.flatMap((fact): OwnPayment[] => {
    if (fact.invoiceId !== row.invoiceId || fact.isSilent) return [];
    const payment = model.payments.find(({ transaction }) => transaction.hash === fact.transactionHash);
    const block = payment === undefined ? null : evidence.blockOf(payment);
    const isUnread = fact.state === 'retracted' && (block ?? 0) > lastRead(row);
    return [{ fact, payment, block: isUnread ? null : block }];
  });
}

/** What an answer said stays true. */
function requireKept(
  { findings: { view } }: Evidence,
  verdict: Verdict,
  { name, answer, cancellation }: InvoiceModel,
  row: InvoiceView | undefined,
): void {
  if (answer === null || view.removedInvoices.has(answer.invoiceId)) return;
  verdict.require(row?.invoiceId === answer.invoiceId, () => `${name} is gone, or is another invoice`);
  if (row === undefined) return;
  const { fromBlock, isCancelled } = row;
  const isPromised = fromBlock === answer.fromBlock && fromBlock <= answer.head + 1;
  verdict.require(isPromised, () => `${name} takes payments from ${fromBlock}, and was answered at ${answer.head}`);
  if (cancellation === null || !isAnswered(cancellation)) return;
  verdict.require(isCancelled, () => `${name} was cancelled and is not`);
}

function requirePayments(
  evidence: Evidence,
  verdict: Verdict,
  invoice: InvoiceModel,
  row: InvoiceView,
  own: readonly OwnPayment[],
): void {
  const { name } = invoice;
  for (const { fact, payment, block } of own) {
    const state = block === null ? 'retracted' : 'final';
    const what = payment?.name ?? fact.factId;
    verdict.require(
      payment !== undefined && mayTake(evidence, invoice, row, payment),
      () => `${name} has ${what}, which is not its payment`,
    );
    verdict.require(fact.state === state, () => `${what} of ${name} is ${fact.state} instead of ${state}`);
  }
  const taken = new Set(own.map(({ payment }) => payment));
  for (const payment of evidence.model.payments) {
    if (!mustTake(evidence, invoice, row, payment)) continue;
    verdict.require(taken.has(payment), () => `${name} from ${row.fromBlock} lacks ${payment.name} on the chain`);
  }
}

function matches({ prepared }: InvoiceModel, { transfer }: PaymentModel): boolean {
  if (transfer === undefined || transfer.address !== prepared.address) return false;
  if (isDustFor({ amount: prepared.base }, transfer.base)) return false;
  return prepared.terms.match === 'address' || transfer.base === prepared.base;
}

/** The chain of every run that has invoices. */
function chainOf({ network: { invoiced } }: Evidence['simulation']): ModelChain {
  if (invoiced === null) throw new Error('the network has no invoices');
  return invoiced.chain;
}

function blocksEver({ simulation }: Evidence, { transaction }: PaymentModel): number[] {
  return (chainOf(simulation).blocksOf.get(transaction.hash) ?? []).map(({ number }) => number);
}

/**
 * A reorg may move a payment that the invoice has to a block that it would not take payments from. A cancelled invoice that retention
 * removed may have been created again, and the new one is not cancelled.
 */
function mayTake(
  evidence: Evidence,
  invoice: InvoiceModel,
  { fromBlock, untilBlock, isCancelled }: InvoiceView,
  payment: PaymentModel,
): boolean {
  const cancelledAtMs = isCancelled ? invoice.cancellation?.endMs : undefined;
  const isAfterCancellation = cancelledAtMs !== undefined && payment.minedAtMs > cancelledAtMs;
  const isWatched = (block: number) => block >= fromBlock && block <= (untilBlock ?? block);
  return matches(invoice, payment) && !isAfterCancellation && blocksEver(evidence, payment).some(isWatched);
}

/** Near the end of the watch, a reorg decides. A payment that another invoice of the address may have taken first is that one's. */
function mustTake(evidence: Evidence, invoice: InvoiceModel, row: InvoiceView, payment: PaymentModel): boolean {
  const block = evidence.blockOf(payment);
  if (block === null || row.isCancelled || !matches(invoice, payment)) return false;
  return leastBlock(evidence, invoice, payment) >= row.fromBlock && block <= lastRead(row);
}

/** The block that decides whether the invoice takes the payment: it may belong to an earlier invoice for the same address. */
function leastBlock(evidence: Evidence, invoice: InvoiceModel, payment: PaymentModel): number {
  const isShared = evidence.model.invoices.some((other) => other !== invoice && matches(other, payment));
  return isShared
    ? Math.min(...blocksEver(evidence, payment))
    : (evidence.blockOf(payment) ?? Number.POSITIVE_INFINITY);
}

function sumOf(payments: readonly OwnPayment[]): bigint {
  return payments.reduce((sum, { payment }) => sum + (payment?.transfer?.base ?? 0n), 0n);
}

function standing(own: readonly OwnPayment[]): OwnPayment[] {
  return own.filter(({ block }) => block !== null);
}

/** The state as the API shows it, by the blocks of the chain. Everything is final in the end. */
function requireSums(
  evidence: Evidence,
  verdict: Verdict,
  { name, prepared }: InvoiceModel,
  { invoiceId, passedBlock, isCancelled }: InvoiceView,
  own: readonly OwnPayment[],
): void {
  const shown = evidence.findings.invoices.get(invoiceId);
  const { blocks } = chainOf(evidence.simulation);
  const { base, terms } = prepared;
  const payments = standing(own).map(({ payment, block }): InvoicePayment => {
    const logIndex = blocks[block ?? 0]?.logs.findIndex(
      ({ transactionHash }) => transactionHash === payment?.transaction.hash,
    );
    return {
      ...{ base: payment?.transfer?.base ?? 0n, state: 'final', isDisputed: false },
      ...{ blockNumber: block ?? 0, logIndex: logIndex ?? 0, blockS: blocks[block ?? 0]?.timestampS ?? 0 },
    };
  });
  const folded = foldInvoice(
    { amount: base, tolerance: toleranceOf(terms), dateExpires: terms.dateExpires },
    { isCancelled, passedBlock },
    payments,
  );
  const isLate = areTimesTrue(evidence) ? folded.isLate : shown?.isLate;
  const expected = [folded.state, folded.received, folded.received, folded.due, isLate, folded.isFinal];
  const found = [shown?.state, shown?.received, shown?.receivedFinal, shown?.due, shown?.isLate, shown?.isFinal];
  const textOf = (values: readonly unknown[]) =>
    values.map((one) => (typeof one === 'bigint' ? amountOfBase(one) : one)).join(' ');
  verdict.require(
    textOf(found) === textOf(expected),
    () => `${name} is ${textOf(found)}, and ${textOf(expected)} by the chain`,
  );
}

/**
 * The newest version at each finality has the sum of the payments that were published at it. It may also have counted payments that
 * had reached the finality while no webhook wanted their events at it. If retention has removed the event of a payment, Paybell makes
 * no retraction of it, so that the payment may still be counted.
 */
function requireVersions(
  { findings: { view } }: Evidence,
  verdict: Verdict,
  { invoiceId, reference }: InvoiceView,
  own: readonly OwnPayment[],
): void {
  const events = view.invoiceEvents.filter((event) => event.invoiceId === invoiceId);
  for (const [finality, all] of Map.groupBy(events, (event) => event.finality)) {
    const versions = all.map(({ version }) => version);
    verdict.require(
      new Set(versions).size === versions.length,
      () => `${reference} has versions ${versions} at ${finality}`,
    );
    const newest = all.find(({ version }) => version === Math.max(...versions));
    const ids = new Set(all.map(({ eventId }) => eventId));
    const eventIdOf = ({ fact: { factId, revision } }: OwnPayment) => factEventId(factId, revision, PAID, finality);
    const isPublished = (one: OwnPayment) => ids.has(eventIdOf(one));
    const least = sumOf(standing(own).filter(isPublished));
    const isForgotten = (one: OwnPayment) => one.block === null && view.removedEvents.has(eventIdOf(one));
    const others = own.filter((one) => !isPublished(one) || isForgotten(one));
    verdict.require(
      subsetSums(others).some((sum) => amountOfBase(least + sum) === newest?.received),
      () =>
        `${reference} at ${finality} is ${newest?.received} in ${newest?.eventId}, and ${amountOfBase(least)} on the chain`,
    );
  }
}

function subsetSums(payments: readonly OwnPayment[]): bigint[] {
  const sums = [0n];
  for (const one of payments) sums.push(...sums.map((sum) => sum + sumOf([one])));
  return sums;
}

/** An event of the invoice itself exists once, if a webhook was there for it all the time, and reaches each such webhook. */
function requireOneEvent(
  evidence: Evidence,
  verdict: Verdict,
  { name, creation }: InvoiceModel,
  { invoiceId }: InvoiceView,
  event: string,
  isDue: boolean,
): void {
  const { invoiceEvents } = evidence.findings.view;
  const made = invoiceEvents.filter((one) => one.invoiceId === invoiceId && one.event === event).length;
  const webhooks = evidence.model.lastingSince(event, creation.startMs);
  const least = isDue && webhooks.length > 0 ? 1 : 0;
  verdict.require(made >= least && made <= (isDue ? 1 : 0), () => `${name} has ${made} ${event} instead of ${least}`);
  for (const webhook of made === 1 ? webhooks : []) {
    const deliveries = evidence.deliveriesOf(`${invoiceId}_${event}`, webhook.webhookId);
    verdict.require(deliveries.length === 1, () => `${webhook.name} has ${deliveries.length} ${event} of ${name}`);
  }
}

/**
 * A poll reads the newest blocks for new addresses, and decides about an expiry with the block after it. Among several nodes,
 * another one shows the blocks first, after six of them.
 */
const SPARE_BLOCKS = 12;

/** Blocks decide: a tip after the expiry, and a branch on which too little had come by that tip. */
function requireLate(
  evidence: Evidence,
  verdict: Verdict,
  invoice: InvoiceModel,
  row: InvoiceView,
  own: readonly OwnPayment[],
): void {
  const { name, prepared } = invoice;
  const { passedBlock, lateBlock, isCancelled, untilBlock } = row;
  const chain = chainOf(evidence.simulation);
  const { dateExpires } = prepared.terms;
  const timeOf = (block: number) => chain.blocks[block]?.timestampS ?? 0;
  requireOneEvent(evidence, verdict, invoice, row, LATE, lateBlock !== null);
  for (const block of areTimesTrue(evidence) ? [passedBlock, lateBlock] : []) {
    verdict.require(block === null || timeOf(block) > dateExpires, () => `${name} expired before ${dateExpires}`);
  }
  const isPassed = timeOf(chain.head - SPARE_BLOCKS) > dateExpires;
  verdict.require(
    passedBlock !== null || !isPassed || isCancelled || untilBlock !== null,
    () => `${name} has not expired`,
  );
  if (passedBlock !== null && !isCancelled) {
    const isUnpaid = sumOf(standing(own)) < leastOf(invoice);
    verdict.require(lateBlock !== null || !isUnpaid, () => `${name} is not paid and was not called late`);
  }
  if (lateBlock !== null) {
    const taken = Math.min(lateBlock, untilBlock ?? lateBlock) + 1;
    const isTrue = chain.views.some(
      ({ blocks, length }) =>
        length > lateBlock && receivedBy(evidence, invoice, row, blocks.slice(0, taken)) < leastOf(invoice),
    );
    verdict.require(isTrue, () => `${name} was called late at ${lateBlock} although it was paid`);
  }
}

/** Nobody contradicts a lone node about the times of its blocks. */
function areTimesTrue({ simulation: { network, occurrences } }: Evidence): boolean {
  return network.providers.length > 1 || occurrences.every(({ name }) => name !== 'node-lives-in-the-future');
}

function leastOf({ prepared: { base, terms } }: InvoiceModel): bigint {
  return paidRange({ ...terms, amount: base, tolerance: toleranceOf(terms) }).least;
}

function toleranceOf({ tolerancePercent }: InvoiceModel['prepared']['terms']): number {
  return Math.round(tolerancePercent * 100);
}

/** The sum of the payments in the blocks of a branch. */
function receivedBy(
  evidence: Evidence,
  invoice: InvoiceModel,
  { fromBlock }: InvoiceView,
  blocks: readonly ModelBlock[],
): bigint {
  const hashes = new Set(blocks.slice(fromBlock).flatMap(({ transactions }) => transactions.map(({ hash }) => hash)));
  return evidence.model.payments
    .filter((payment) => hashes.has(payment.transaction.hash) && matches(invoice, payment))
    .filter((payment) => leastBlock(evidence, invoice, payment) >= fromBlock)
    .reduce((sum, { transfer }) => sum + (transfer?.base ?? 0n), 0n);
}
