import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SequenceTracker } from '../../src/verify/sequence-tracker.ts';

/** What a tracker stands for, with all numbers in memory. */
function modelOf(after: number, came: readonly number[]) {
  const seen = new Set(came);
  const last = Math.max(after, ...came);
  const missing: number[] = [];
  for (let number = after + 1; number <= last; number++) if (!seen.has(number)) missing.push(number);
  return { last, missing, through: (missing[0] ?? last + 1) - 1 };
}

const numbers = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 80 });

describe('a tracker', () => {
  test('names exactly the numbers that did not come, in whatever order and however often the others did', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), numbers, (after, came) => {
        const tracker = new SequenceTracker({ after });
        const seen = new Set<number>();
        for (const number of came) {
          expect(tracker.add(number)).toBe(number > after && !seen.has(number));
          seen.add(number);
        }
        const model = modelOf(after, came);
        expect(tracker.missing()).toEqual(model.missing);
        expect(tracker.last).toBe(model.last);
        expect(tracker.through).toBe(model.through);
        expect(tracker.missing(3)).toEqual(model.missing.slice(0, 3));
      }),
    );
  });

  test('never forgets a missing number and never keeps more gaps than it may', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), numbers, (maxGaps, came) => {
        const tracker = new SequenceTracker({ maxGaps });
        for (const number of came) {
          tracker.add(number);
          expect(tracker.gaps().length).toBeLessThanOrEqual(maxGaps);
        }
        const model = modelOf(0, came);
        const named = new Set(tracker.missing());
        expect(model.missing.filter((number) => !named.has(number))).toEqual([]);
        expect(tracker.through).toBeLessThanOrEqual(model.through);
        // What came again after it was named is missing no longer.
        for (const number of named) tracker.add(number);
        for (let round = 0; tracker.missing().length > 0 && round < came.length; round++) {
          for (const number of tracker.missing()) tracker.add(number);
        }
        expect(tracker.missing()).toEqual([]);
        expect(tracker.through).toBe(model.last);
      }),
    );
  });

  test('counts what is skipped as come', () => {
    fc.assert(
      fc.property(numbers, fc.integer({ min: 0, max: 70 }), (came, skipped) => {
        const tracker = new SequenceTracker();
        for (const number of came) tracker.add(number);
        tracker.skipThrough(skipped);
        const model = modelOf(0, [...came, ...Array.from({ length: skipped }, (_, index) => index + 1)]);
        expect(tracker.missing()).toEqual(model.missing);
        expect(tracker.last).toBe(model.last);
      }),
    );
  });

  test('holds a gap of any length in the same memory, and lists as much of it as was asked for', () => {
    const tracker = new SequenceTracker();
    tracker.add(Number.MAX_SAFE_INTEGER);
    expect(tracker.gaps()).toEqual([{ first: 1, last: Number.MAX_SAFE_INTEGER - 1 }]);
    expect(tracker.missing()).toHaveLength(1_000);
    expect(tracker.missing(2)).toEqual([1, 2]);
  });

  test('refuses what is no sequence number', () => {
    const tracker = new SequenceTracker();
    for (const number of [0, -1, 1.5, Number.NaN, 2 ** 53]) expect(() => tracker.add(number)).toThrow(RangeError);
    expect(() => new SequenceTracker({ after: -1 })).toThrow(RangeError);
    expect(() => new SequenceTracker({ maxGaps: 0 })).toThrow(RangeError);
  });
});
