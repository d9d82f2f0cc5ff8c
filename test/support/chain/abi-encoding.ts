/**
 * Arguments of a call as the ABI lays them out. It is written here and not taken from the library that decodes logs, so
 * that the tests of decoding do not compare the library with itself.
 */

export type Argument = string | number | bigint | boolean;

const WORD_BYTES = 32;

/** `types` as in a signature: `address,uint256`. Returns hex without 0x. */
export function encodeArguments(types: string, values: readonly Argument[]): string {
  const names = types === '' ? [] : types.split(',');
  if (names.length !== values.length) throw new Error(`(${types}) takes ${names.length} arguments`);
  const heads: string[] = [];
  let tail = '';
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? 0;
    if (name === 'string' || name === 'bytes') {
      heads.push(word(BigInt(names.length * WORD_BYTES + tail.length / 2)));
      tail += encodeBytes(name === 'string' ? Buffer.from(String(value)).toString('hex') : withoutPrefix(value));
    } else if (/^bytes[0-9]+$/.test(name)) {
      heads.push(withoutPrefix(value).padEnd(2 * WORD_BYTES, '0'));
    } else {
      heads.push(word(BigInt(value)));
    }
  }
  return heads.join('') + tail;
}

function encodeBytes(hex: string): string {
  const words = Math.ceil(hex.length / 2 / WORD_BYTES);
  return word(BigInt(hex.length / 2)) + hex.padEnd(words * 2 * WORD_BYTES, '0');
}

/** A number of 256 bits; a negative one as its two's complement. */
function word(value: bigint): string {
  return BigInt.asUintN(256, value)
    .toString(16)
    .padStart(2 * WORD_BYTES, '0');
}

const withoutPrefix = (value: Argument) => String(value).replace(/^0x/, '');
