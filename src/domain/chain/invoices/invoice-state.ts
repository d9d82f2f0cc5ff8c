import type { FactState } from '../facts.ts';
import { type Finality, type Levels, reachedBlock } from '../finality.ts';

/**
 * An invoice is an expected payment. Its state is computed from its payments, and is not stored.
 *
 * | state       | meaning                                                                            |
 * |-------------|------------------------------------------------------------------------------------|
 * | `open`      | nothing was received, and the blocks that were read are not past the expiry        |
 * | `expired`   | nothing was received, and they are                                                 |
 * | `underpaid` | something was received, and less than the least amount                             |
 * | `paid`      | the amount was received, give or take the tolerance                                |
 * | `overpaid`  | more was received than that                                                        |
 * | `cancelled` | a request cancelled it; later payments have no invoice                             |
 */
export const INVOICE_STATES = ['open', 'underpaid', 'paid', 'overpaid', 'expired', 'cancelled'] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

/** `address`: every payment to the address counts. `exact`: only payments of exactly the amount count. */
export const INVOICE_MATCHES = ['address', 'exact'] as const;
export type InvoiceMatch = (typeof INVOICE_MATCHES)[number];

export const MAX_TOLERANCE_PERCENT = 10;
/** Hundredths of a percent in 1. */
const SHARES = 10_000n;
/** A payment below a thousandth of the invoice is dust: anyone can send one to any address. */
const DUST_DIVISOR = 1_000n;

/** The terms of an invoice that decide its state. Amounts are in the smallest unit. */
export type InvoiceTerms = {
  readonly amount: bigint;
  /** In hundredths of a percent. */
  readonly tolerance: number;
  /** In Unix seconds. */
  readonly dateExpires: number;
};

/** Changes of an invoice other than payments. */
export type InvoiceFate = {
  readonly isCancelled: boolean;
  /** The first tip after the expiry; null before that. */
  readonly passedBlock: number | null;
};

/** A payment of an invoice, with its current block. */
export type InvoicePayment = {
  readonly base: bigint;
  readonly state: FactState;
  readonly isDisputed: boolean;
  readonly blockNumber: number;
  readonly logIndex: number;
  /** Timestamp of its block; null if no node stated it. */
  readonly blockS: number | null;
};

/** The amounts between which an invoice is paid, rounded in favour of the payer. */
export function paidRange({ amount, tolerance }: InvoiceTerms): { readonly least: bigint; readonly most: bigint } {
  const margin = amount * BigInt(tolerance);
  const least = amount - roundUp(margin, SHARES);
  return { least: least > 0n ? least : 1n, most: amount + roundUp(margin, SHARES) };
}

function roundUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor;
}

/** Whether a payment is too small to count. */
export function isDustFor({ amount }: Pick<InvoiceTerms, 'amount'>, base: bigint): boolean {
  return base === 0n || base * DUST_DIVISOR < amount;
}

/** Whether a payment is part of the chain and has the finality in its current block. */
export function hasReached(
  { state, isDisputed, blockNumber }: InvoicePayment,
  finality: Finality,
  levels: Levels,
): boolean {
  if (isDisputed || (state !== 'seen' && state !== 'final')) return false;
  // Below finality, a payment stays `seen` until enough nodes have shown it.
  if (finality === 'final') return state === 'final';
  const reached = reachedBlock(finality, levels);
  return reached !== null && blockNumber <= reached;
}

/**
 * Whether a payment counts in the events of a finality. A payment that was published at the finality counts until it is
 * retracted, even while its block is gone. Only the event of its retraction takes it out of the sum again.
 */
export function countsInEvents(
  payment: InvoicePayment,
  finality: Finality,
  levels: Levels,
  isPublished: boolean,
): boolean {
  return payment.state !== 'retracted' && (isPublished || hasReached(payment, finality, levels));
}

/** Whether a payment may still prove that an invoice was paid, so that it is too early to call the invoice late. */
function mayCount({ state }: InvoicePayment): boolean {
  return state === 'seen' || state === 'final' || state === 'lost';
}

export type FoldedInvoice = {
  readonly state: InvoiceState;
  readonly received: bigint;
  readonly due: bigint;
  /** Whether the payment that reached the least amount is in a block later than the expiry. */
  readonly isLate: boolean;
  /** Whether the payments that are final reach the least amount. */
  readonly isFinal: boolean;
};

/** The state of an invoice by the payments that count. Their order does not matter. */
export function foldInvoice(
  terms: InvoiceTerms,
  { isCancelled, passedBlock }: InvoiceFate,
  counted: readonly InvoicePayment[],
): FoldedInvoice {
  const { least, most } = paidRange(terms);
  let received = 0n;
  let final = 0n;
  let isLate = false;
  for (const payment of counted.toSorted(byPlace)) {
    const before = received;
    received += payment.base;
    if (payment.state === 'final') final += payment.base;
    if (before < least && received >= least) isLate = isAfterExpiry(payment, terms, passedBlock);
  }
  const state = isCancelled ? 'cancelled' : stateOf(received, least, most, passedBlock !== null);
  const isPaid = received >= least;
  const due = isPaid ? 0n : terms.amount - received;
  return { state, received, due, isLate: isPaid && isLate, isFinal: final >= least };
}

function stateOf(received: bigint, least: bigint, most: bigint, hasPassed: boolean): InvoiceState {
  if (received === 0n) return hasPassed ? 'expired' : 'open';
  if (received < least) return 'underpaid';
  return received > most ? 'overpaid' : 'paid';
}

function byPlace(a: InvoicePayment, b: InvoicePayment): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex || (a.base < b.base ? -1 : 1);
}

function isAfterExpiry(
  { blockS, blockNumber }: InvoicePayment,
  { dateExpires }: InvoiceTerms,
  passedBlock: number | null,
): boolean {
  if (blockS !== null) return blockS > dateExpires;
  // The block `passedBlock` is itself after the expiry.
  return passedBlock !== null && blockNumber >= passedBlock;
}

/** Whether the payments cannot reach the least amount. Call this after the blocks up to the expiry are read. */
export function isUnpaid(terms: InvoiceTerms, payments: readonly InvoicePayment[]): boolean {
  const possible = payments.reduce((sum, payment) => (mayCount(payment) ? sum + payment.base : sum), 0n);
  return possible < paidRange(terms).least;
}
