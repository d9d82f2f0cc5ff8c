import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeBase58, encodeBase58 } from '../../../../src/domain/chain/families/base58.ts';

// The test vectors of draft-msporny-base58-03.
test.each([
  [new TextEncoder().encode('Hello World!'), '2NEpo7TZRRrLZSi2U'],
  [
    new TextEncoder().encode('The quick brown fox jumps over the lazy dog.'),
    'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
  ],
  [Uint8Array.fromHex('0000287fb4cd'), '11233QC4'],
  [new Uint8Array(), ''],
  [new Uint8Array(32), '1'.repeat(32)],
])('%p is %s', (bytes, text) => {
  expect(encodeBase58(bytes)).toBe(text);
  expect(decodeBase58(text)).toEqual(bytes);
});

test.each(['0', 'O', 'I', 'l', 'a b', 'é', '+'])('a text with %j is not base58', (letter) => {
  expect(decodeBase58(`2NEpo${letter}`)).toBeNull();
});

test('every list of bytes comes back from its text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      expect(decodeBase58(encodeBase58(bytes))).toEqual(bytes);
    }),
  );
});
