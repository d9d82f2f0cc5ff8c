import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { makeId } from '../../src/domain/ids.ts';

const LATEST_MS = 2 ** 48 - 1;
const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 });

test('an id is its prefix and a UUIDv7 in hex without dashes', () => {
  fc.assert(
    fc.property(fc.nat({ max: LATEST_MS }), tenBytes, (nowMs, random) => {
      expect(makeId('wh', nowMs, random)).toMatch(/^wh_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    }),
  );
});

test('an id made in a later millisecond sorts later, whatever the randomness', () => {
  fc.assert(
    fc.property(fc.nat({ max: LATEST_MS - 1 }), tenBytes, tenBytes, (nowMs, one, other) => {
      expect(makeId('evt', nowMs, one) < makeId('evt', nowMs + 1, other)).toBe(true);
    }),
  );
});

test('the same clock and randomness make the same id, and other randomness another', () => {
  const ones = new Uint8Array(10).fill(1);
  expect(makeId('key', 1, ones)).toBe(makeId('key', 1, ones));
  expect(makeId('key', 1, ones)).not.toBe(makeId('key', 1, new Uint8Array(10).fill(2)));
});

test('too little randomness is an error and not a weak id', () => {
  expect(() => makeId('wh', 1, new Uint8Array(9))).toThrow(RangeError);
});
