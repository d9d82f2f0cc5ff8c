import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { LogReader } from '../../../../src/chain/evm/decode/log-values.ts';
import { eventOf, library, logOf, word } from '../../../support/chain/logs.ts';

const readerOf = (abi: string) => new LogReader(eventOf(abi), library);

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((each) => `0x${each.toHex()}`);
const bytes = fc.uint8Array({ maxLength: 100 }).map((each) => `0x${each.toHex()}`);
const text = fc.string({ unit: 'binary', maxLength: 50 }).filter((each) => each.isWellFormed());
const integer = (bits: number, isSigned: boolean) =>
  fc.bigInt(
    isSigned
      ? { min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }
      : { min: 0n, max: 2n ** BigInt(bits) - 1n },
  );

const EVERY_TYPE =
  'event A(address indexed a, int96 indexed b, bytes4 indexed c, address d, uint256 e, int8 f, bool g, string h, bytes i, bytes32 j)';
const everyValue = fc.tuple(
  ...[
    hex(20),
    integer(96, true),
    hex(4),
    hex(20),
    integer(256, false),
    integer(8, true),
    fc.boolean(),
    text,
    bytes,
    hex(32),
  ],
);

describe('the values of a log', () => {
  test('are what was encoded, for every type and any value', () => {
    const reader = readerOf(EVERY_TYPE);
    fc.assert(
      fc.property(everyValue, (values) => {
        // viem takes numbers for the small types.
        const encoded = values.map((value, index) => (index === 5 ? Number(value) : value));
        expect(reader.read(logOf(EVERY_TYPE, encoded))).toEqual(values);
      }),
      { numRuns: 300 },
    );
  });

  test('are the same where arrays and tuples are among them', () => {
    const abi = 'event A(address indexed a, uint8 b, address c, (uint8 x, string y)[] d, int16[2] e)';
    const tuples = [
      { x: 1, y: 'one' },
      { x: 255, y: '' },
    ];
    const address = `0x${'ab'.repeat(20)}`;
    const values = readerOf(abi).read(logOf(abi, [address, 7, address, tuples, [-3, 4]]));
    expect(values).toEqual([address, 7n, address, tuples, [-3, 4]]);
  });

  test('of indexed texts, bytes, arrays and tuples are their hashes', () => {
    const abi = 'event A(string indexed a, uint256[] indexed b, (bool x) indexed c)';
    const hashes = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}`);
    expect(readerOf(abi).read(logOf(abi, hashes))).toEqual(hashes);
  });

  test('are none where data ends early, at whichever digit', () => {
    const reader = readerOf(EVERY_TYPE);
    const address = `0x${'1'.repeat(40)}` as const;
    const log = logOf(EVERY_TYPE, [
      address,
      1n,
      '0x01020304',
      address,
      1n,
      1,
      true,
      'text',
      '0x0102',
      `0x${'3'.repeat(64)}`,
    ]);
    expect(reader.read(log)).not.toBeNull();
    const lastWord = log.data.length - 64;
    for (let length = 2; length < lastWord; length += 2) {
      const cut = reader.read({ ...log, data: log.data.slice(0, length) });
      expect({ length, cut }).toEqual({ length, cut: null });
    }
  });

  test('are none with another number of topics: ERC-721 has the first topic of ERC-20', () => {
    const reader = readerOf('event Transfer(address indexed from, address indexed to, uint256 value)');
    const log = logOf('event Transfer(address indexed from, address indexed to, uint256 indexed id)', [
      `0x${'1'.repeat(40)}`,
      `0x${'2'.repeat(40)}`,
      1n,
    ]);
    expect(reader.read(log)).toBeNull();
    expect(reader.read({ ...log, topics: log.topics.slice(0, 2), data: word(1) })).toBeNull();
    expect(reader.read({ ...log, topics: log.topics.slice(0, 3), data: word(1) })).not.toBeNull();
  });

  test.each([
    ['address', `0x${'1'.repeat(64)}`],
    ['bool', word(2)],
    ['uint8', word(256)],
    ['int8', word(128)],
    ['bytes4', `0x01020304${'0'.repeat(55)}1`],
    ['string', word(32)],
    ['string', word(2n ** 256n - 1n)],
    ['string', word(32) + word(2n ** 255n).slice(2)],
    ['string', word(32) + word(1).slice(2)],
    ['bytes', word(2 ** 31) + word(1).slice(2)],
    ['uint256[]', word(32) + word(2n ** 64n).slice(2)],
    ['uint256[2][]', word(32) + word(2 ** 32).slice(2)],
    ['string[]', word(0)],
    ['(string a, bytes b)[]', word(32) + word(10_000).slice(2) + word(0).slice(2).repeat(20)],
  ])('are none where a %s is not one: %s', (type, data) => {
    const abi = `event A(${type} a)`;
    expect(readerOf(abi).read({ topics: [eventOf(abi).topic], data })).toBeNull();
  });

  test('take no longer for data that points at itself', () => {
    const abi = 'event A(string[][] a)';
    // 1,000 arrays that are all the same one, which has 1,000 texts that are all the same one.
    const pointers = (count: number) =>
      word(count).slice(2) +
      word(32 * 1_000)
        .slice(2)
        .repeat(count);
    const data = word(32) + pointers(1_000) + pointers(1_000) + word(32).slice(2) + 'ff'.repeat(32);
    const startMs = performance.now();
    readerOf(abi).read({ topics: [eventOf(abi).topic], data });
    expect(performance.now() - startMs).toBeLessThan(60_000);
  });
});
