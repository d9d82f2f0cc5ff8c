import type { Invoice } from '../../../client/chain/invoices.ts';
import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { baseOf, formatAmount } from '../../../domain/chain/invoices/amounts.ts';
import type { Display } from '../../components/values/badge.tsx';
import { decimalText, shortText } from '../../components/values/short-text.ts';

/** The state of an invoice in words. */

export const STATE_DISPLAY: Readonly<Record<Invoice['state'], Display>> = {
  open: { label: 'Open', tone: 'neutral', icon: 'clock' },
  underpaid: { label: 'Underpaid', tone: 'warning', icon: 'alert' },
  paid: { label: 'Paid', tone: 'good', icon: 'check' },
  overpaid: { label: 'Overpaid', tone: 'info', icon: 'plus' },
  expired: { label: 'Expired', tone: 'bad', icon: 'clock' },
  cancelled: { label: 'Cancelled', tone: 'neutral', icon: 'cross' },
};

type Priced = Pick<Invoice, 'symbol' | 'token'>;

/** The symbol, or the address if the token states no symbol. */
export function unitOf({ symbol, token }: Priced): string {
  return symbol ?? (token === NATIVE_TOKEN ? 'of the coin' : shortText(token));
}

export function priceText(amount: string, invoice: Priced): string {
  return `${decimalText(amount)} ${unitOf(invoice)}`;
}

/** The exact amount above the expected one; null unless the invoice is overpaid. */
export function overpaidBy({ state, received, amount, decimals }: Invoice): string | null {
  if (state !== 'overpaid') return null;
  const [sum, expected] = [baseOf(received, decimals), baseOf(amount, decimals)];
  return sum === null || expected === null ? null : formatAmount(sum - expected, decimals);
}

/** One sentence: the sum, whether it can still be undone, and how long the address is watched. */
export function sentenceOf(invoice: Invoice): string {
  const { state, received, receivedFinal, due, isFinal, isLate, untilBlock } = invoice;
  const got = priceText(received, invoice);
  const missing = priceText(due, invoice);
  const late = isLate ? ' It came after the expiry.' : '';
  // Final payments can be enough although later ones are not final.
  const final = receivedFinal === received ? 'It' : 'The expected amount';
  const undone = isFinal ? `${final} cannot be undone.` : 'A reorg can still undo it.';
  const watched = untilBlock === null ? ' A late payment still counts.' : ' Later payments do not count.';
  switch (state) {
    case 'open':
      return 'Nothing was received yet.';
    case 'underpaid':
      return `${got} received, ${missing} missing.${watched}`;
    case 'paid':
      return `Paid in full. ${undone}${late}`;
    case 'overpaid':
      return `${got} received, ${priceText(overpaidBy(invoice) ?? '0', invoice)} more than expected. ${undone}${late}`;
    case 'expired':
      return `Nothing was received before the expiry.${watched}`;
    case 'cancelled':
      return 'A request cancelled it. Payments since then have no invoice.';
  }
}

/** The payments to the address that Paybell cannot see. */
export function blindSpotOf({ token }: Pick<Invoice, 'token'>): string {
  return token === NATIVE_TOKEN
    ? 'Paybell sees direct transfers of the coin. It does not see a transfer inside a contract call, such as one from a smart wallet or an exchange.'
    : 'Paybell sees every transfer of this token. Other tokens and the coin of the network do not count.';
}
