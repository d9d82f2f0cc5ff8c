import { expect, test } from 'bun:test';
import { dayAfter, secondsOf, yesterday } from '../../src/dashboard/views/reconciliation/days.ts';
import {
  byDifference,
  differenceText,
  missingAmount,
  type Totals,
} from '../../src/dashboard/views/reconciliation/differences.ts';

function totals(fields: Partial<Totals>): Totals {
  return {
    ...{ networkId: 1, event: 'LatePayment', token: null, events: 1, withoutAmount: 0, final: 0 },
    ...{ sent: 1, acknowledged: 1, amount: '0', acknowledgedAmount: '0', ...fields },
  };
}

const figures = (...rows: Totals[]) => ({
  ...{ day: '2026-01-31', endpointId: null, isOver: true, sha256: '', totals: rows, tokens: [], undatedPayments: 0 },
  events: rows.reduce((sum, { events }) => sum + events, 0),
  acknowledged: rows.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
});

test('what differs is one sentence, which tells what was sent from what was not', () => {
  expect(differenceText(figures(totals({})))).toBeNull();
  const one = totals({ events: 1, sent: 0, acknowledged: 0 });
  expect(differenceText(figures(one))).toBe('1 of 1 event was not acknowledged: 1 was not sent.');
  const many = totals({ events: 1_200, sent: 1_199, acknowledged: 1_190 });
  expect(differenceText(figures(many, totals({})))).toMatch(
    /^10 of 1.201 events were not .*: 9 were sent, 1 was not sent\.$/,
  );
});

test('rows that differ come first, and what is missing is exact', () => {
  const differs = totals({ event: 'TransferFinalized', events: 2, acknowledged: 1 });
  expect(byDifference([totals({}), differs]).map(({ event }) => event)).toEqual(['TransferFinalized', 'LatePayment']);
  const missing = (amount: string, acknowledgedAmount: string) => missingAmount(totals({ amount, acknowledgedAmount }));
  expect(missing('1234567.000000000000000001', '0.5')).toBe('1234566.500000000000000001');
  expect(missing('0.1', '0.3')).toBe('-0.2');
  expect(missing('5', '-0.5')).toBe('5.5');
  expect(missing('5', '5')).toBeNull();
});

test('days are those of UTC, and a text that is none is counted from yesterday', () => {
  const nowMs = Date.UTC(2026, 2, 1, 0, 30);
  expect(yesterday(nowMs)).toBe('2026-02-28');
  expect(dayAfter('2026-02-28', 1)).toBe('2026-03-01');
  expect(dayAfter('soon', 1)).toBe(dayAfter(yesterday(), 1));
  expect(secondsOf('2026-03-01')).toEqual({ since: 1_772_323_200, until: 1_772_409_600 });
});
