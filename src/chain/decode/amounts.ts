/** 10^77 is the largest power of ten below 2^256: a token with more decimals than this has no whole unit. */
const MAX_DECIMALS = 77;

/** An amount of the smallest unit as exact decimal text, without zeros at the end: 1500000 of 6 decimals is `1.5`. */
export function formatAmount(base: bigint, decimals: number): string {
  if (decimals === 0) return base.toString();
  const digits = (base < 0n ? -base : base).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = `${base < 0n ? '-' : ''}${digits.slice(0, -decimals)}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** What a call of `decimals()` returned, or null where it is no number of decimals. */
export function parseDecimals(data: string): number | null {
  if (!/^0x[0-9a-f]{64}$/i.test(data)) return null;
  const value = BigInt(data);
  return value <= BigInt(MAX_DECIMALS) ? Number(value) : null;
}
