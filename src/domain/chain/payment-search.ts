import { hexOfId } from '../ids.ts';
import { type Decimal, isPlainDecimal, parseDecimal } from '../payload-filter/decimal.ts';
import { factIdOfPayment } from './payments.ts';

/** The meaning of a search for payments. The form of the text decides alone, so that a search never guesses. */
export type PaymentSearch =
  | { readonly by: 'transaction'; readonly hash: string }
  | { readonly by: 'address'; readonly address: string }
  | { readonly by: 'payment'; readonly factId: string }
  | { readonly by: 'event' | 'delivery'; readonly hex: string }
  | { readonly by: 'amount'; readonly amount: Decimal }
  /** The exact id of an agreement or a transfer. */
  | { readonly by: 'subject'; readonly id: string };

const TRANSACTION = /^(?:0x)?([0-9a-f]{64})$/i;
const ADDRESS = /^(?:0x)?([0-9a-f]{40})$/i;
/** The id of a payment, or the id of an event about it, which begins with the id of the fact. */
const PAYMENT = /^((?:pay|fct)_[a-z0-9]{26})(?:_\w*)?$/;

/** The transaction that a text names, in lower case with its prefix; null for any other text. */
export function transactionHashIn(text: string): string | null {
  const digits = TRANSACTION.exec(text)?.[1];
  return digits === undefined ? null : `0x${digits.toLowerCase()}`;
}

export function readPaymentSearch(text: string): PaymentSearch {
  const hash = transactionHashIn(text);
  if (hash !== null) return { by: 'transaction', hash };
  const address = ADDRESS.exec(text)?.[1];
  if (address !== undefined) return { by: 'address', address: `0x${address.toLowerCase()}` };
  const factId = factIdOfPayment(PAYMENT.exec(text)?.[1] ?? '');
  if (factId !== null) return { by: 'payment', factId };
  const eventHex = hexOfId('evt', text);
  if (eventHex !== null) return { by: 'event', hex: eventHex };
  const deliveryHex = hexOfId('dlv', text);
  if (deliveryHex !== null) return { by: 'delivery', hex: deliveryHex };
  const amount = isPlainDecimal(text) ? parseDecimal(text) : null;
  return amount === null ? { by: 'subject', id: text } : { by: 'amount', amount };
}
