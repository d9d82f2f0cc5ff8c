/**
 * Exact decimals of any length. Amounts have more digits than a number can hold, so they are compared as text: a sign, the
 * digits without zeros at either end, and where the point is.
 */
export type Decimal = {
  /** -1, 0 or 1. */
  readonly sign: number;
  /** The value is `0.digits` times ten to the power of this. */
  readonly exponent: number;
  readonly digits: string;
};

const ZERO: Decimal = { sign: 0, exponent: 0, digits: '' };

/** Includes the exponent that a JSON number may have. */
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** `12.50`: digits with an optional sign and point, as people and payment systems write amounts. */
const PLAIN_DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;

/**
 * Limit far above the number of digits in any payload, so that values with larger exponents still compare correctly.
 */
const MAX_EXPONENT = 1_000_000_000;

export function isPlainDecimal(text: string): boolean {
  return PLAIN_DECIMAL.test(text);
}

/** Parses a plain decimal or a JSON number. Null for any other text. */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, minus, whole = '', fraction = '', power = '0'] = match;
  const all = whole + fraction;
  const first = firstNonZero(all);
  if (first === all.length) return ZERO;
  const shift = Math.min(MAX_EXPONENT, Math.max(-MAX_EXPONENT, Number(power)));
  return { sign: minus === '-' ? -1 : 1, exponent: whole.length - first + shift, digits: significant(all, first) };
}

/** Below zero when `a` is less than `b`. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign;
  const size = a.exponent - b.exponent || (a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0);
  return a.sign * size;
}

/** Equal for equal values, however they are written. */
export function decimalKey({ sign, exponent, digits }: Decimal): string {
  return `${sign} ${exponent} ${digits}`;
}

function firstNonZero(digits: string): number {
  let index = 0;
  while (digits.charCodeAt(index) === 0x30) index++;
  return index;
}

function significant(digits: string, first: number): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(first, end);
}
