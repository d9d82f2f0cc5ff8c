import { describe, expect, test } from 'bun:test';
import type { FactState } from '../../../../src/domain/chain/facts.ts';
import { baseOf, formatAmount } from '../../../../src/domain/chain/invoices/amounts.ts';
import {
  countsInEvents,
  foldInvoice,
  hasReached,
  type InvoicePayment,
  isDustFor,
  isUnpaid,
  paidRange,
} from '../../../../src/domain/chain/invoices/invoice-state.ts';
import { seededRandom } from '../../../support/random.ts';

const EXPIRES = 1_000;
const TERMS = { amount: 100n, tolerance: 0, dateExpires: EXPIRES };
const OPEN = { isCancelled: false, passedBlock: null };
const PASSED = { isCancelled: false, passedBlock: 50 };

function payment(base: bigint, more: Partial<InvoicePayment> = {}): InvoicePayment {
  const place = { blockNumber: 10, logIndex: 0, blockS: 900 };
  return { base, state: 'seen', isDisputed: false, ...place, ...more };
}

describe('the state of an invoice', () => {
  test.each([
    ['open', OPEN, []],
    ['expired', PASSED, []],
    ['underpaid', OPEN, [99n]],
    ['underpaid', PASSED, [60n, 39n]],
    ['paid', PASSED, [60n, 40n]],
    ['overpaid', OPEN, [60n, 41n]],
    ['cancelled', { isCancelled: true, passedBlock: null }, [1n]],
  ] as const)('is %s', (state, fate, amounts) => {
    const folded = foldInvoice(
      TERMS,
      fate,
      amounts.map((base) => payment(base)),
    );
    const received = amounts.reduce((sum, base) => sum + base, 0n);
    expect(folded).toMatchObject({ state, received, due: received >= 100n ? 0n : 100n - received });
  });

  test('takes the tolerance into account, rounded in favour of the payer', () => {
    expect(paidRange({ ...TERMS, amount: 101n, tolerance: 150 })).toEqual({ least: 99n, most: 103n });
    expect(paidRange({ ...TERMS, amount: 1n, tolerance: 1_000 })).toEqual({ least: 1n, most: 2n });
    const terms = { ...TERMS, tolerance: 1_000 };
    const stateOf = (base: bigint) => foldInvoice(terms, OPEN, [payment(base)]).state;
    expect([89n, 90n, 110n, 111n].map(stateOf)).toEqual(['underpaid', 'paid', 'paid', 'overpaid']);
    expect(foldInvoice(terms, OPEN, [payment(90n)]).due).toBe(0n);
  });

  test('is final once the final payments reach the least amount', () => {
    const final = payment(99n, { state: 'final' });
    expect(foldInvoice(TERMS, OPEN, [final, payment(1n)])).toMatchObject({ state: 'paid', isFinal: false });
    expect(foldInvoice(TERMS, OPEN, [final, payment(1n, { state: 'final' })]).isFinal).toBe(true);
  });

  test('is late if the payment that reached the least amount is in a block after the expiry', () => {
    const inTime = payment(60n, { blockS: EXPIRES });
    const late = payment(40n, { blockNumber: 60, blockS: EXPIRES + 1 });
    expect(foldInvoice(TERMS, PASSED, [late, inTime])).toMatchObject({ state: 'paid', isLate: true });
    expect(foldInvoice(TERMS, PASSED, [payment(100n), late])).toMatchObject({ state: 'overpaid', isLate: false });
    expect(foldInvoice(TERMS, PASSED, [payment(99n, { blockS: EXPIRES + 1 })])).toMatchObject({ isLate: false });
  });

  test('follows the tip for a block whose time no node has stated', () => {
    const without = (blockNumber: number) => [payment(100n, { blockNumber, blockS: null })];
    expect(foldInvoice(TERMS, PASSED, without(49)).isLate).toBe(false);
    expect(foldInvoice(TERMS, PASSED, without(50)).isLate).toBe(true);
    expect(foldInvoice(TERMS, OPEN, without(50)).isLate).toBe(false);
  });

  test('does not depend on the order in which payments arrive', () => {
    const random = seededRandom(38);
    for (let run = 0; run < 500; run++) {
      const payments = Array.from({ length: random.below(6) }, (_, logIndex) =>
        payment(BigInt(1 + random.below(70)), {
          ...{ logIndex, blockNumber: random.below(4), blockS: 998 + random.below(5) },
          state: random.below(2) === 0 ? 'seen' : 'final',
        }),
      );
      const shuffled = payments.toSorted(() => random.below(3) - 1);
      expect(foldInvoice(TERMS, PASSED, shuffled)).toEqual(foldInvoice(TERMS, PASSED, payments));
    }
  });
});

describe('a payment of an invoice', () => {
  const LEVELS = { head: 12, safe: 9, final: 5 };

  test.each([
    ['seen', 12, 'seen', true],
    ['seen', 9, 'safe', true],
    ['seen', 10, 'safe', false],
    ['seen', 10, 3, true],
    ['seen', 11, 3, false],
    ['seen', 4, 'final', false],
    ['final', 4, 'final', true],
    ['lost', 4, 'seen', false],
    ['retracted', 4, 'seen', false],
  ] as const)('that is %s in block %d has the finality %s: %p', (state, blockNumber, finality, expected) => {
    expect(hasReached(payment(1n, { state, blockNumber }), finality, LEVELS)).toBe(expected);
  });

  test('has no finality while nodes disagree about it', () => {
    expect(hasReached(payment(1n, { isDisputed: true }), 'seen', LEVELS)).toBe(false);
  });

  test('counts in events from its publication to its retraction', () => {
    const counts = (state: FactState) => countsInEvents(payment(1n, { state }), 'seen', LEVELS, true);
    expect((['seen', 'lost', 'final', 'retracted'] as const).map(counts)).toEqual([true, true, true, false]);
    expect(countsInEvents(payment(1n, { state: 'lost' }), 'seen', LEVELS, false)).toBe(false);
  });

  test('is dust below a thousandth of the invoice', () => {
    const isDust = (base: bigint) => isDustFor({ amount: 10_000n }, base);
    expect([0n, 9n, 10n].map(isDust)).toEqual([true, true, false]);
    expect(isDustFor({ amount: 5n }, 0n)).toBe(true);
  });

  test('may still prove that an invoice was paid until it is retracted', () => {
    const isLate = (state: FactState) => isUnpaid(TERMS, [payment(100n, { state, isDisputed: true })]);
    expect((['seen', 'lost', 'final', 'retracted'] as const).map(isLate)).toEqual([false, false, false, true]);
  });
});

describe('an amount in the smallest unit', () => {
  test.each([
    ['25', 6, 25_000_000n],
    ['0.000001', 6, 1n],
    ['1.50', 1, 15n],
    ['1.05', 1, null],
    ['0.0000001', 6, null],
    ['123456789012345678901234567890', 18, 123456789012345678901234567890n * 10n ** 18n],
    ['7', 0, 7n],
    ['1e3', 2, null],
  ])('%s with %d decimals', (amount, decimals, base) => {
    expect(baseOf(amount, decimals)).toBe(base);
    if (base !== null) expect(baseOf(formatAmount(base, decimals), decimals)).toBe(base);
  });
});
