import { hexOfId } from '../ids.ts';
import { type Decimal, isPlainDecimal, parseDecimal } from '../payload-filter/decimal.ts';
import { isStoredAddress, storedAddress, storedTransactionId } from './families/families.ts';
import { factIdOfPayment } from './payments.ts';

/** The meaning of a search for payments. Only the form of the text decides, so that a search never guesses. */
export type PaymentSearch =
  | { readonly by: 'transaction'; readonly hash: string }
  | { readonly by: 'address'; readonly address: string }
  | { readonly by: 'payment'; readonly factId: string }
  | { readonly by: 'invoice'; readonly invoiceId: string }
  | { readonly by: 'event' | 'delivery'; readonly hex: string }
  | { readonly by: 'amount'; readonly amount: Decimal }
  /** The exact id of an agreement or a transfer. */
  | { readonly by: 'subject'; readonly id: string };

const DIGITS_OF_ADDRESS = /^[0-9a-f]{40}$/i;
/** The id of a payment, or the id of an event about it, which begins with the id of the fact. */
const PAYMENT = /^((?:pay|fct)_[a-z0-9]{26})(?:_\w*)?$/;

/** The id of an invoice, or the id of an event of the invoice itself. */
const INVOICE = /^(inv_[0-9a-f]{32})(?:_\w*)?$/;

export function readPaymentSearch(text: string): PaymentSearch {
  const hash = storedTransactionId(text);
  if (hash !== null) return { by: 'transaction', hash };
  const address = addressIn(text);
  if (address !== null) return { by: 'address', address };
  const factId = factIdOfPayment(PAYMENT.exec(text)?.[1] ?? '');
  if (factId !== null) return { by: 'payment', factId };
  const invoiceId = INVOICE.exec(text)?.[1];
  if (invoiceId !== undefined) return { by: 'invoice', invoiceId };
  const eventHex = hexOfId('evt', text);
  if (eventHex !== null) return { by: 'event', hex: eventHex };
  const deliveryHex = hexOfId('dlv', text);
  if (deliveryHex !== null) return { by: 'delivery', hex: deliveryHex };
  const amount = isPlainDecimal(text) ? parseDecimal(text) : null;
  return amount === null ? { by: 'subject', id: text } : { by: 'amount', amount };
}

/** The stored form of an address; null for another text. Hex digits need no prefix. */
function addressIn(text: string): string | null {
  const stored = storedAddress(DIGITS_OF_ADDRESS.test(text) ? `0x${text}` : text);
  return isStoredAddress(stored) ? stored : null;
}
