import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { figuresOf, latencySlot, longestSums, SLOTS } from '../../src/domain/stats.ts';

describe('the longest sums of a range', () => {
  const DAY_S = 86_400;

  test('are days, then hours, then minutes, from the first to the last', () => {
    const found = longestSums({ intervalS: 60, startS: DAY_S - 3_660, endS: 3 * DAY_S + 60 });
    expect(found).toEqual([
      { seconds: 60, startS: DAY_S - 3_660, endS: DAY_S - 3_600 },
      { seconds: 3_600, startS: DAY_S - 3_600, endS: DAY_S },
      { seconds: DAY_S, startS: DAY_S, endS: 3 * DAY_S },
      { seconds: 60, startS: 3 * DAY_S, endS: 3 * DAY_S + 60 },
    ]);
  });

  test('cover every range without a gap, and in few sums', () => {
    const minutes = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(minutes, fc.integer({ min: 1, max: 1_440 }), (first, count) => {
        const startS = first * 60;
        const endS = startS + count * 60;
        const found = longestSums({ intervalS: 60, startS, endS });
        expect([found[0]?.startS, found.at(-1)?.endS]).toEqual([startS, endS]);
        for (const [index, span] of found.entries()) {
          expect([span.startS % span.seconds, span.endS % span.seconds]).toEqual([0, 0]);
          if (index > 0) expect(span.startS).toBe(found[index - 1]?.endS as number);
        }
        const sums = found.reduce((sum, span) => sum + (span.endS - span.startS) / span.seconds, 0);
        expect(sums).toBeLessThanOrEqual(2 * 59 + 2 * 23 + 1);
      }),
    );
  });
});

describe('the time to receipt', () => {
  test('is null where nothing was delivered', () => {
    const tally = new Map<number, number>([
      [SLOTS.accepted, 3],
      [SLOTS.failed, 1],
    ]);
    const timeToReceiptMs = { p50: null, p95: null, p99: null };
    const figures = { accepted: 3, delivered: 0, failed: 1, attempts: 1, failedAttempts: 1 };
    expect(figuresOf(tally)).toEqual({ ...figures, timeToReceiptMs });
  });

  test('is within a tenth of the true one, however the times are spread', () => {
    const times = fc.array(fc.double({ min: 20, max: 1e8, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(times, (all) => {
        const tally = new Map<number, number>();
        for (const ms of all) tally.set(latencySlot(ms), (tally.get(latencySlot(ms)) ?? 0) + 1);
        const { delivered, timeToReceiptMs } = figuresOf(tally);
        expect(delivered).toBe(all.length);
        const sorted = all.toSorted((a, b) => a - b);
        for (const [share, found] of [
          [0.5, timeToReceiptMs.p50],
          [0.95, timeToReceiptMs.p95],
          [0.99, timeToReceiptMs.p99],
        ] as const) {
          const truth = sorted[Math.ceil(all.length * share) - 1] ?? 0;
          // Half a millisecond for the rounding to whole ones.
          expect(Math.abs((found ?? 0) - truth)).toBeLessThanOrEqual(truth * 0.1 + 0.5);
        }
      }),
    );
  });

  test('has a place for what took no time and for what took for ever', () => {
    expect(latencySlot(0)).toBe(0);
    expect(latencySlot(-5)).toBe(0);
    expect(latencySlot(1)).toBe(0);
    expect(latencySlot(1e15)).toBe(latencySlot(1e12));
  });
});
