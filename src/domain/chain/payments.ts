import { type Decimal, parseDecimal } from '../payload-filter/decimal.ts';
import { isFactId } from './fact-id.ts';
import { TRANSFER } from './facts.ts';
import { isHexAddress, storedAddress } from './families/families.ts';

/** A payment is a fact about a transfer: a log of kind `Transfer`, or an event about one that waits for its transaction. */

const PAYMENT_KINDS: ReadonlySet<string> = new Set([TRANSFER, 'TransferProcessed', 'TransferFinalized']);

/** The webhooks of one payment that the API shows. */
export const MAX_WEBHOOKS_SHOWN = 100;

const FACT_PREFIX = 'fct_';
const PAYMENT_PREFIX = 'pay_';

export function paymentIdOf(factId: string): string {
  return PAYMENT_PREFIX + factId.slice(FACT_PREFIX.length);
}

/** Accepts the id of the payment and the id of its fact. Null for any other text. */
export function factIdOfPayment(id: string): string | null {
  const factId = id.startsWith(PAYMENT_PREFIX) ? FACT_PREFIX + id.slice(PAYMENT_PREFIX.length) : id;
  return isFactId(factId) ? factId : null;
}

/** The searchable part of a payment. */
export type PaymentColumns = {
  readonly isPayment: 0 | 1;
  readonly payer: string | null;
  readonly payee: string | null;
  readonly token: string | null;
  /** An `amountKey`. */
  readonly amount: string | null;
};

const NOT_A_PAYMENT: PaymentColumns = { isPayment: 0, payer: null, payee: null, token: null, amount: null };

/** Reads the payment in the fields of a payload. */
export function paymentColumns(kind: string, fields: Readonly<Record<string, unknown>>): PaymentColumns {
  if (!PAYMENT_KINDS.has(kind)) return NOT_A_PAYMENT;
  const amount = decimalOf(fields.amount);
  return {
    isPayment: 1,
    payer: partyOf(fields.payer),
    payee: partyOf(fields.payee),
    token: partyOf(fields.token),
    amount: amount === null ? null : amountKey(amount),
  };
}

/** Only texts and whole numbers are exact, because JSON rounds numbers with a fraction. */
function decimalOf(value: unknown): Decimal | null {
  if (Number.isSafeInteger(value)) return parseDecimal(String(value));
  return typeof value === 'string' && value.length <= MAX_PARTY_LENGTH && !EXPONENT.test(value)
    ? parseDecimal(value)
    : null;
}

const MAX_PARTY_LENGTH = 256;
/** Only JSON numbers have an exponent. */
const EXPONENT = /e/i;
const UNUSABLE = /[\p{Cc}\ufffd]/u;

/** An account as it is stored and compared: addresses in their stored form, other names as they are written. */
export function partyOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MAX_PARTY_LENGTH) return null;
  // Most parties are addresses in hex, which have no other characters.
  if (isHexAddress(value)) return value.toLowerCase();
  return value.isWellFormed() && !UNUSABLE.test(value) ? storedAddress(value) : null;
}

/** 2^256 has 78 digits. */
const MAX_WHOLE = 78;
/** Twice the decimals that a token can have. */
const MAX_FRACTION = 154;

/**
 * Text that sorts as the amounts do, exactly: the number of digits before the point, then the amount itself. 25.5 is
 * `0225.5`. Null for negative amounts and for amounts that no token can have.
 */
export function amountKey({ sign, exponent, digits }: Decimal): string | null {
  if (sign < 0 || exponent > MAX_WHOLE || digits.length - exponent > MAX_FRACTION) return null;
  const whole = exponent <= 0 ? '0' : digits.slice(0, exponent).padEnd(exponent, '0');
  const fraction = exponent <= 0 ? '0'.repeat(sign === 0 ? 0 : -exponent) + digits : digits.slice(exponent);
  const point = fraction === '' ? '' : `.${fraction}`;
  return `${whole.length < 10 ? '0' : ''}${whole.length}${whole}${point}`;
}

/** The decimal of an `amountKey`. */
export function amountOfKey(key: string): string {
  return key.slice(2);
}
