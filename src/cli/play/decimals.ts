/** Amounts stay decimal texts, because sums of binary fractions would be wrong by cents. */

export const DECIMAL_AMOUNT = /^[0-9]{1,30}(\.[0-9]{1,18})?$/;

/** The exact sum, with as many decimals as the amount with the most decimals. */
export function sumAmounts(amounts: readonly string[]): string {
  const decimals = Math.max(0, ...amounts.map((amount) => fractionOf(amount).length));
  const total = amounts.reduce((sum, amount) => sum + scaled(amount, decimals), 0n);
  const digits = String(total).padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** In the smallest unit of a token with six decimals, or with as many as the amount has. */
export function toBaseUnits(amount: string): string {
  return String(scaled(amount, Math.max(TOKEN_DECIMALS, fractionOf(amount).length)));
}

const TOKEN_DECIMALS = 6;

function fractionOf(amount: string): string {
  return amount.split('.')[1] ?? '';
}

function scaled(amount: string, decimals: number): bigint {
  if (!DECIMAL_AMOUNT.test(amount)) throw new RangeError(`${amount} is not a decimal amount`);
  return BigInt(amount.split('.')[0] + fractionOf(amount).padEnd(decimals, '0'));
}
