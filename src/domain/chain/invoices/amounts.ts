import { type Decimal, isPlainDecimal, parseDecimal } from '../../payload-filter/decimal.ts';

/** Amounts of tokens: decimals for people, and whole numbers of the smallest unit for sums. */

/** The amounts of a token have 256 bits. */
export const MAX_BASE = 2n ** 256n - 1n;

/** An amount in the smallest unit as exact decimal text, without zeros at the end: 1500000 with 6 decimals is `1.5`. */
export function formatAmount(base: bigint, decimals: number): string {
  if (decimals === 0) return base.toString();
  const digits = (base < 0n ? -base : base).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = `${base < 0n ? '-' : ''}${digits.slice(0, -decimals)}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The number of decimals of an amount, without zeros at its end. */
export function decimalsOf({ digits, exponent }: Decimal): number {
  return Math.max(0, digits.length - exponent);
}

/** The amount in the smallest unit; null if the text is not a plain decimal, or has more decimals than the token. */
export function baseOf(amount: string, decimals: number): bigint | null {
  const decimal = isPlainDecimal(amount) ? parseDecimal(amount) : null;
  if (decimal === null || decimalsOf(decimal) > decimals) return null;
  const { sign, digits, exponent } = decimal;
  return BigInt(sign) * BigInt((digits + '0'.repeat(exponent + decimals - digits.length)).padStart(1, '0'));
}
