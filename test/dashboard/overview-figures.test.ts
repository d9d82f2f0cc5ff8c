import { expect, test } from 'bun:test';
import { axisWidth, timeRange } from '../../src/dashboard/views/overview/charts/axis.ts';
import {
  attemptRate,
  bytesText,
  deliveryRate,
  rateText,
  shareText,
} from '../../src/dashboard/views/overview/figures.ts';

test('a chart with one sample covers the minute before it, and one with none the last minute', () => {
  expect(timeRange([1_000], 5_000)).toEqual([940, 1_000]);
  expect(timeRange([], 5_000)).toEqual([4_940, 5_000]);
  expect(timeRange([1_000, 1_005], 5_000)).toEqual([945, 1_005]);
  expect(timeRange([1_000, 5_000], 6_000)).toEqual([1_000, 5_000]);
});

test('the axis is wider for longer labels', () => {
  const narrow = axisWidth(['0', '10']);
  expect(axisWidth(null)).toBe(narrow);
  expect(axisWidth(['0', '1,000,000'])).toBeGreaterThan(9 * 6);
  expect(axisWidth(['0', '1,000,000'])).toBeGreaterThan(narrow);
});

test('attempts that all fail are a rate of zero while no delivery has completed', () => {
  const outage = { delivered: 0, failed: 0, attempts: 40, failedAttempts: 40 };
  expect(attemptRate(outage)).toBe(0);
  expect(deliveryRate(outage)).toBeNull();
  expect(attemptRate({ ...outage, attempts: 0, failedAttempts: 0 })).toBeNull();
});

test('a rate is 0 % or 100 % only if it is exactly that', () => {
  expect(rateText(1)).toStartWith('100');
  expect(rateText(0.999_99)).not.toStartWith('100');
  expect(rateText(0)).toMatch(/^0\s*%/);
  expect(rateText(0.000_001)).not.toMatch(/^0\s*%/);
  expect(rateText(null)).toBe('–');
});

test('bytes are shown in the unit that fits', () => {
  expect(bytesText(0)).toBe('0 bytes');
  expect(bytesText(1_023)).toContain('bytes');
  expect(bytesText(1.5 * 1024 ** 3)).toMatch(/^1[.,]5 GiB$/);
});

test('a limit is at 100 % only when it is reached', () => {
  expect(shareText(86.9, 100)).toMatch(/^86\s*%/);
  expect(shareText(999, 1_000)).toMatch(/^99\s*%/);
  expect(shareText(1_000, 1_000)).toMatch(/^100\s*%/);
  expect(shareText(1_200, 1_000)).toMatch(/^100\s*%/);
});
