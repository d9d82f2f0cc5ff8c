import { DomainError } from '../../../src/domain/errors.ts';
import { cancelInvoice } from '../../../src/store/chain/invoices/cancel.ts';
import { createInvoices } from '../../../src/store/chain/invoices/create.ts';
import { AMOUNTS, ruleAmountOf } from '../fleet/amounts.ts';
import { NETWORK_ID, paymentOf } from '../fleet/evm/amounts.ts';
import { addressOfInvoice, amountOfBase, prepareInvoice, READINGS } from '../fleet/evm/invoices.ts';
import type { InvoicedChain } from '../fleet/network.ts';
import { changeNow } from '../fleet/settings.ts';
import { openSpan } from '../model/history.ts';
import type { InvoiceModel } from '../model/model.ts';
import type { Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions, Operation } from './operation.ts';

/** Invoices, and the payments to their addresses. */

/** The contract that stands for the token of invoices. Sources of the simulation follow others. */
const INVOICE_CONTRACT = 100;
/** All invoices for exact amounts share it. */
const SHARED_ADDRESS = 0;
const EXACT_SHARE = 0.25;
const REUSED_SHARE = 0.15;
const REPEATED_SHARE = 0.15;
/** Payers who wait for the invoice: their payment is in the block after its answer, which a poll may be about to read. */
const WAITING_PAYER_SHARE = 0.4;
/** Invoices that someone still pays, cancels or asks for again. */
const RECENT = 4;
const RECENT_SHARE = 0.8;
/** By the time of the network, which passes one second a block. */
const SHORTEST_S = 1;
const LONGEST_S = 25;
/** The API takes no sooner expiry than this after the request. */
const LEAST_NOTICE_S = 60;
const TOLERANCES = [0, 0, 1, 2.5];
/** A watch of no days ends with the expiry. */
const WATCH_DAYS = [7, 7, 7, 0];
const LIMITS = { invoices: 1_000, sources: 1_000, book: { ofEntity: 1_000, ofNetwork: 1_000 } };

/** Parts of the amount: in full, in parts, at the end of the tolerance, too much, and dust. */
const PARTS_PER_MILLE = [1_000, 1_000, 500, 500, 300, 990, 1_200, 0.5];

/** The network of every run that has these operations. */
function invoicedChain({ invoiced }: Simulation['network']): InvoicedChain {
  if (invoiced === null) throw new Error('the network has no invoices');
  return invoiced;
}

function newInvoice(simulation: Simulation, draw: Random, index: number): InvoiceModel {
  const { model, network } = simulation;
  const isExact = draw.chance(EXACT_SHARE);
  const earlier = draw.pick(model.invoices.filter(({ prepared }) => prepared.terms.match === 'address'));
  const reused = draw.chance(REUSED_SHARE) ? earlier : undefined;
  const amount = draw.pick(AMOUNTS) ?? 0;
  const terms = {
    reference: `i${index}`,
    match: isExact ? ('exact' as const) : ('address' as const),
    // Exact amounts differ, and an address has invoices for one amount, so that a payment has one amount for rules.
    amount: isExact ? amount + index + 1 : amount,
    address: addressOfInvoice(isExact ? SHARED_ADDRESS : index + 1),
    tolerancePercent: isExact ? 0 : (draw.pick(TOLERANCES) ?? 0),
    dateExpires: invoicedChain(network).timeS + Math.floor(draw.between(SHORTEST_S, LONGEST_S)),
    watchDays: draw.pick(WATCH_DAYS) ?? 0,
  };
  const place =
    isExact || reused === undefined
      ? {}
      : { address: reused.prepared.address, amount: Number(reused.prepared.terms.amount) };
  return {
    ...{ name: terms.reference, prepared: prepareInvoice({ ...terms, ...place }), creation: openSpan(world.nowMs) },
    ...{ answer: null, cancellation: null },
  };
}

/** Creates an invoice, or repeats a request whose answer may have been lost. */
function invoice(simulation: Simulation, draw: Random, { index }: Operation) {
  const { model } = simulation;
  const repeated = draw.chance(REPEATED_SHARE) ? draw.pick(model.invoices.slice(-RECENT)) : undefined;
  const wanted = repeated ?? newInvoice(simulation, draw, index);
  if (repeated === undefined) model.invoices.push(wanted);
  const onAnswer = draw.chance(WAITING_PAYER_SHARE)
    ? () => transfer(simulation, `p${index}`, wanted, wanted.prepared.base)
    : () => undefined;
  create(simulation, draw, wanted, repeated === undefined ? { onAnswer } : { isRepeated: true });
  return { payment: wanted.name };
}

function create(
  simulation: Simulation,
  draw: Random,
  wanted: InvoiceModel,
  { isRepeated = false, onAnswer }: { readonly isRepeated?: boolean; readonly onAnswer?: () => void },
): void {
  const { model, network, entityId } = simulation;
  const { prepared, creation } = wanted;
  const withdraw = () => {
    if (!isRepeated) model.invoices.splice(model.invoices.indexOf(wanted), 1);
  };
  simulation.request(
    draw,
    async ({ db }) => {
      const results = await createInvoices(db, {
        ...{ entityId, networkId: NETWORK_ID, invoices: [prepared], readings: READINGS, head: network.head },
        ...{ limits: LIMITS, nowS: prepared.terms.dateExpires - LEAST_NOTICE_S },
      });
      const [result] = results ?? [];
      if (result === undefined) throw new Error('an invoice has neither an id nor an error');
      if (result instanceof DomainError) throw result;
      creation.endMs = Math.min(creation.endMs, world.nowMs);
      wanted.answer ??= { invoiceId: result.invoiceId, fromBlock: result.fromBlock, head: network.head };
      world.note(`invoice ${wanted.name} from ${result.fromBlock}`);
      onAnswer?.();
    },
    { onRejected: withdraw },
  );
}

function pickInvoice({ model }: Simulation, draw: Random): InvoiceModel | undefined {
  return draw.pick(draw.chance(RECENT_SHARE) ? model.invoices.slice(-RECENT) : model.invoices);
}

function cancel(simulation: Simulation, draw: Random) {
  const wanted = pickInvoice(simulation, draw);
  if (wanted === undefined || wanted.answer === null || wanted.cancellation !== null) return null;
  const { invoiceId } = wanted.answer;
  const cancellation = openSpan(world.nowMs);
  wanted.cancellation = cancellation;
  simulation.request(
    draw,
    async ({ db }) => {
      // Retention may have removed it.
      if (!(await cancelInvoice(db, simulation.entityId, invoiceId, changeNow()))) wanted.cancellation = null;
    },
    {
      span: cancellation,
      onRejected: () => {
        wanted.cancellation = null;
      },
    },
  );
  return { payment: wanted.name };
}

/** Also before the invoice is there, after its expiry and after its cancellation. */
function pay(simulation: Simulation, draw: Random, { index }: Operation) {
  const wanted = pickInvoice(simulation, draw);
  if (wanted === undefined) return null;
  const perMille = draw.pick(PARTS_PER_MILLE) ?? 0;
  transfer(simulation, `p${index}`, wanted, (wanted.prepared.base * BigInt(perMille * 10)) / 10_000n);
  return { payment: `p${index}` };
}

function transfer({ model, network }: Simulation, name: string, { prepared }: InvoiceModel, base: bigint): void {
  const { address, terms } = prepared;
  const transaction = invoicedChain(network).transfer(address, base);
  const fields = paymentOf(amountOfBase(base));
  model.payments.push({
    ...{ name, transaction, contract: INVOICE_CONTRACT, minedAtMs: world.nowMs, heldEventId: null },
    ruleAmount: ruleAmountOf(NETWORK_ID, fields),
    transfer: { address, base, invoicedRuleAmount: ruleAmountOf(NETWORK_ID, fields, paymentOf(terms.amount)) },
  });
  network.append([transaction]);
}

export const INVOICE_ACTIONS: Actions = {
  invoice: { weight: 4, begin: invoice },
  'pay-invoice': { weight: 8, begin: pay },
  'cancel-invoice': { weight: 1, begin: cancel },
};
