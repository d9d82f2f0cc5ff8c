import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bookLine, canonicalAmount, compareBooks } from '../../../src/domain/reconciliation/book.ts';
import { DecimalSum } from '../../../src/domain/reconciliation/decimal-sum.ts';

function sum(...amounts: string[]): string {
  const total = new DecimalSum();
  for (const amount of amounts) total.add(amount);
  return total.toString();
}

describe('a sum of amounts', () => {
  test('is exact, with as many decimals as are needed', () => {
    expect(sum()).toBe('0');
    expect(sum('0.1', '0.2')).toBe('0.3');
    expect(sum('25.00', '0.50')).toBe('25.5');
    expect(sum('1', '-0.000000000000000001')).toBe('0.999999999999999999');
    expect(sum('-1.5', '0.25')).toBe('-1.25');
    expect(sum(`${2n ** 256n - 1n}`, '1')).toBe(String(2n ** 256n));
  });

  test('does not depend on the order', () => {
    const amount = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 0, max: 18 }), fc.boolean())
      .map(([units, decimals, isNegative]) => {
        const digits = units.toString().padStart(decimals + 1, '0');
        const point = digits.length - decimals;
        return `${isNegative ? '-' : ''}${digits.slice(0, point)}${decimals === 0 ? '' : `.${digits.slice(point)}`}`;
      });
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 10 }), (amounts) => {
        expect(sum(...amounts.toReversed())).toBe(sum(...amounts));
        expect(sum(...amounts, ...amounts.map(negated))).toBe('0');
      }),
    );
  });
});

const negated = (amount: string) => (amount.startsWith('-') ? amount.slice(1) : `-${amount}`);

test.each([
  ['25.00', '25'],
  ['007.10', '7.1'],
  ['-0.0', '0'],
  [25, '25'],
  [0.1, null],
  ['1e3', null],
  ['', null],
  ['1.', null],
  ['9'.repeat(161), null],
  [null, null],
  [{}, null],
])('the amount %p is %p in a book', (amount, expected) => {
  expect(canonicalAmount(amount)).toBe(expected);
});

test('a line is the same however an address and an amount are written', () => {
  const line = bookLine({ eventId: 'a', event: 'TransferFinalized', token: '0xAbC1', amount: '1.50' });
  expect(line).toBe('a\tTransferFinalized\t0xabc1\t1.5\n');
  expect(bookLine({ eventId: 'a', event: 'TransferFinalized', token: '0xabc1', amount: '1.5' })).toBe(line);
  expect(bookLine({ eventId: 'a', event: 'X', token: 'USDC', amount: null })).toBe('a\tX\tUSDC\t\n');
});

test('two books differ in exactly the events that one lacks, has twice, has otherwise, or does not know to be acknowledged', () => {
  const entry = (eventId: string, amount = '1') => ({ eventId, event: 'LatePayment', token: 'USDC', amount });
  const ours = (eventId: string, progress: 'acknowledged' | 'sent' | 'waiting' | 'failed' | 'nothing') => ({
    ...entry(eventId),
    progress,
  });
  const paybell = [
    ours('same', 'acknowledged'),
    ours('lost', 'acknowledged'),
    ours('tried', 'sent'),
    ours('gave-up', 'failed'),
    ours('later', 'waiting'),
    ours('unmatched', 'nothing'),
    ours('response-lost', 'sent'),
    ours('other-amount', 'acknowledged'),
    ours('repeated', 'acknowledged'),
  ];
  const yours = [
    entry('same', '1.0'),
    entry('response-lost'),
    entry('other-amount', '2'),
    entry('repeated'),
    entry('repeated'),
    entry('invented'),
  ];
  const named = compareBooks(paybell, yours).map(({ eventId, difference }) => [eventId, difference]);
  expect(Object.fromEntries(named)).toEqual({
    lost: 'missing',
    tried: 'missing',
    'gave-up': 'missing',
    'response-lost': 'unacknowledged',
    'other-amount': 'different',
    repeated: 'twice',
    invented: 'unknown',
  });
  expect(named).toHaveLength(7);
});
