import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { nextDelayMs, parseRetryAfter, RETRY_AFTER_MAX_MS } from '../../src/domain/retry.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SCHEDULE = [0, 5_000, 300_000, DAY_MS];
const middle = () => 0.5;

describe('the next delay', () => {
  test('is the step of the schedule that follows the attempts made', () => {
    const delays = [0, 1, 2, 3].map((attemptsMade) =>
      nextDelayMs({ schedule: SCHEDULE, attemptsMade, retryAfterMs: null, random: middle }),
    );
    expect(delays).toEqual(SCHEDULE);
  });

  test('is null once the schedule is exhausted, whatever the receiver asks for', () => {
    expect(nextDelayMs({ schedule: SCHEDULE, attemptsMade: 4, retryAfterMs: null, random: middle })).toBeNull();
    expect(nextDelayMs({ schedule: SCHEDULE, attemptsMade: 4, retryAfterMs: 1000, random: middle })).toBeNull();
    expect(nextDelayMs({ schedule: [], attemptsMade: 0, retryAfterMs: null, random: middle })).toBeNull();
  });

  test('stays within 20 % of its step', () => {
    // Throws with a counterexample.
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const delayMs = nextDelayMs({ schedule: SCHEDULE, attemptsMade: 2, retryAfterMs: null, random: () => random });
        return delayMs !== null && delayMs >= 240_000 && delayMs <= 360_000;
      }),
    );
  });

  test('reaches both ends of its spread', () => {
    const at = (random: number) =>
      nextDelayMs({ schedule: SCHEDULE, attemptsMade: 1, retryAfterMs: null, random: () => random });
    expect(at(0)).toBe(4_000);
    expect(at(0.999999)).toBe(6_000);
  });

  test('is what retry-after asks for when that is longer', () => {
    expect(nextDelayMs({ schedule: SCHEDULE, attemptsMade: 1, retryAfterMs: 60_000, random: middle })).toBe(60_000);
  });

  test('is not shortened by retry-after', () => {
    expect(nextDelayMs({ schedule: SCHEDULE, attemptsMade: 2, retryAfterMs: 1_000, random: middle })).toBe(300_000);
  });

  test('follows retry-after for a day at most', () => {
    expect(nextDelayMs({ schedule: SCHEDULE, attemptsMade: 1, retryAfterMs: 9 * DAY_MS, random: middle })).toBe(DAY_MS);
  });
});

describe('retry-after', () => {
  const nowMs = Date.UTC(2026, 9, 21, 7, 28, 0);

  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['1000000000000', RETRY_AFTER_MAX_MS],
    ['9'.repeat(400), RETRY_AFTER_MAX_MS],
    ['Wed, 21 Oct 2026 07:29:00 GMT', 60_000],
    ['Wednesday, 21-Oct-26 07:29:00 GMT', 60_000],
    ['Wed Oct 21 07:29:00 2026', 60_000],
    ['Fri, 21 Oct 2039 07:28:00 GMT', RETRY_AFTER_MAX_MS],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ])('%j is %d ms', (header, expectedMs) => {
    expect(parseRetryAfter(header, nowMs)).toBe(expectedMs);
  });

  test.each([
    null,
    '',
    'soon',
    '-5',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '5, 6',
    '2026-10-21T07:29:00Z',
    'May',
    'Wed, 32 Oct 2026 07:29:00 GMT',
    'Wed, 21 Oct 2026 07:29:00 +0200',
  ])('%j is ignored', (header) => {
    expect(parseRetryAfter(header, nowMs)).toBeNull();
  });
});
