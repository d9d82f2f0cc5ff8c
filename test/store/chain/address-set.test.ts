import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { AddressSet, addressIn } from '../../../src/store/chain/addresses/address-set.ts';

const address = fc
  .array(fc.constantFrom('00000000', 'ffffffff', '00000001', 'deadbeef', '80000000'), { minLength: 5, maxLength: 5 })
  .map((words) => `0x${words.join('')}`);
const wordOf = (one: string) => `0x${one.slice(2).padStart(64, '0')}`;

test('a set of addresses has those that were added, each once and in their order', () => {
  fc.assert(
    fc.property(fc.array(address), fc.array(address), (added, others) => {
      const set = new AddressSet();
      for (const one of added) set.add(one);
      const known = new Set(added);
      expect(set.size).toBe(known.size);
      expect([...set.words()].map(addressIn)).toEqual([...known]);
      for (const one of [...added, ...others]) expect(set.hasWord(wordOf(one))).toBe(known.has(one));
    }),
    { numRuns: 100 },
  );
});

test('a topic that is not an address is not in the set', () => {
  const set = new AddressSet();
  set.add(`0x${'0'.repeat(40)}`);
  expect(set.hasWord(`0x${'0'.repeat(64)}`)).toBe(true);
  for (const word of ['', '0x', `0x${'0'.repeat(63)}`, `0x${'0'.repeat(65)}`, `0x1${'0'.repeat(63)}`]) {
    expect(set.hasWord(word)).toBe(false);
  }
});

test('a set holds ten thousand addresses', () => {
  const set = new AddressSet();
  const addressOf = (number: number) => `0x${(number * 2_654_435_761).toString(16).padStart(40, '0')}`;
  for (let number = 0; number < 10_000; number++) set.add(addressOf(number));
  expect(set.size).toBe(10_000);
  expect(set.hasWord(wordOf(addressOf(9_999)))).toBe(true);
  expect(set.hasWord(wordOf(addressOf(10_000)))).toBe(false);
});
