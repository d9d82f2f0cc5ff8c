import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  compareDecimals,
  decimalKey,
  isPlainDecimal,
  parseDecimal,
} from '../../../src/domain/payload-filter/decimal.ts';

const SCALE = 200;

/** A decimal with a sign, zeros at both ends and an exponent, and its exact value times 10^200. */
const decimals = fc
  .record({
    minus: fc.boolean(),
    whole: fc.stringMatching(/^0{0,3}[0-9]{1,30}$/),
    fraction: fc.stringMatching(/^[0-9]{0,30}0{0,3}$/),
    power: fc.option(fc.integer({ min: -60, max: 60 }), { nil: null, freq: 2 }),
  })
  .map(({ minus, whole, fraction, power }) => {
    const text = `${minus ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}${power === null ? '' : `e${power}`}`;
    const value = BigInt(whole + fraction) * 10n ** BigInt(SCALE - fraction.length + (power ?? 0));
    return { text, value: minus ? -value : value };
  });

function parsed(text: string) {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`${text} was not parsed`);
  return decimal;
}

test('decimals compare as their exact values do, and equal ones have one key', () => {
  fc.assert(
    fc.property(decimals, decimals, (a, b) => {
      const [first, second] = [parsed(a.text), parsed(b.text)];
      const expected = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
      expect(Math.sign(compareDecimals(first, second))).toBe(expected);
      expect(decimalKey(first) === decimalKey(second)).toBe(expected === 0);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['99.999999999999999999', '100'],
  ['0.1', '0.10000000000000000001'],
  ['-100', '-99.999999999999999999'],
  ['9007199254740992', '9007199254740993'],
  ['115792089237316195423570985008687907853269984665640564039457584007913129639934', `${2n ** 256n - 1n}`],
  ['-1e999999999999', '-1e999'],
  ['1e-999999999999', '0.000001'],
  ['9', '1e99999999999999999999'],
])('%s is less than %s', (less, more) => {
  expect(compareDecimals(parsed(less), parsed(more))).toBeLessThan(0);
  expect(compareDecimals(parsed(more), parsed(less))).toBeGreaterThan(0);
});

test.each(['0', '-0', '0.000', '0e5', '-0.0e-99999999999999'])('%s is zero', (text) => {
  expect(compareDecimals(parsed(text), parsed('0'))).toBe(0);
});

test.each(['', ' 1', '1 ', '+1', '.5', '5.', '1,000', '0x10', 'NaN', 'Infinity', '1_000', '١'])(
  '%p is no decimal',
  (text) => {
    expect(parseDecimal(text)).toBeNull();
    expect(isPlainDecimal(text)).toBe(false);
  },
);

test('an exponent is part of a JSON number and not of a plain decimal', () => {
  expect(isPlainDecimal('1e3')).toBe(false);
  expect(compareDecimals(parsed('1e3'), parsed('1000'))).toBe(0);
});
