/** 10^77 is the largest power of ten below 2^256: a token with more decimals than this has no whole unit. */
const MAX_DECIMALS = 77;

/** Parses the result of `decimals()`. Null if it is not a number of decimals. */
export function parseDecimals(data: string): number | null {
  if (!/^0x[0-9a-f]{64}$/i.test(data)) return null;
  const value = BigInt(data);
  return value <= BigInt(MAX_DECIMALS) ? Number(value) : null;
}
