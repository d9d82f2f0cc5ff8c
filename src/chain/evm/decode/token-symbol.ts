import { cleanSymbol } from '../../../domain/chain/tokens.ts';

/** Paybell does not read longer symbols, because a contract can return megabytes. */
const MAX_SYMBOL_BYTES = 256;
const WORD = 64;
/** The position of the text in the result, and the number of its bytes. */
const TEXT = /^0x0{62}20([0-9a-f]{64})([0-9a-f]*)$/i;
/** Some early tokens return 32 bytes, padded with zeros. */
const FIXED = /^0x([0-9a-f]{64})$/i;

/** The symbol in the result of `symbol()`, cleaned. Null if the result is not a text. */
export function parseSymbol(data: string): string | null {
  const fixed = FIXED.exec(data)?.[1];
  if (fixed !== undefined) return readText(fixed.replace(/(?:00)+$/, ''));
  const [, length = '', digits = ''] = TEXT.exec(data.slice(0, 2 + 2 * WORD + 2 * MAX_SYMBOL_BYTES)) ?? [];
  const bytes = length === '' ? 0n : BigInt(`0x${length}`);
  if (bytes === 0n || bytes > BigInt(MAX_SYMBOL_BYTES) || digits.length < Number(bytes) * 2) return null;
  return readText(digits.slice(0, Number(bytes) * 2));
}

function readText(hex: string): string | null {
  try {
    return cleanSymbol(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(hex, 'hex')));
  } catch {
    return null;
  }
}
