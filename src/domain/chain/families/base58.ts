const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE = 58n;

const DIGITS: ReadonlyMap<string, bigint> = new Map([...ALPHABET].map((letter, digit) => [letter, BigInt(digit)]));

/** Bytes as text without the letters that people confuse. A zero byte at the beginning is a 1. */
export function encodeBase58(bytes: Uint8Array): string {
  let rest = BigInt(`0x0${bytes.toHex()}`);
  let text = '';
  for (; rest > 0n; rest /= BASE) text = ALPHABET.charAt(Number(rest % BASE)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** Null for a text with another letter. The time grows with the square of the length, so callers bound it. */
export function decodeBase58(text: string): Uint8Array | null {
  let value = 0n;
  for (const letter of text) {
    const digit = DIGITS.get(letter);
    if (digit === undefined) return null;
    value = value * BASE + digit;
  }
  let zeros = 0;
  while (text.charAt(zeros) === '1') zeros++;
  const hex = value === 0n ? '' : value.toString(16);
  return Uint8Array.fromHex('00'.repeat(zeros) + (hex.length % 2 === 0 ? hex : `0${hex}`));
}
