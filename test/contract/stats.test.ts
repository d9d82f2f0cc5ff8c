import { describe, expect, test } from 'bun:test';
import { type StatsQuery, statsRange } from '../../src/contract/stats.ts';

const NOW_S = 1_763_168_400 + 90;

function range(given: Partial<StatsQuery>) {
  const all = { interval: 'hour', since: undefined, until: undefined, destination: undefined } as const;
  return statsRange({ ...all, ...given }, NOW_S);
}

describe('the range', () => {
  test.each([
    ['minute', 60, 60],
    ['hour', 3_600, 24],
    ['day', 86_400, 30],
  ] as const)('by %s defaults to the last ones, including the current one', (interval, intervalS, count) => {
    const found = range({ interval });
    expect(found).toMatchObject({ intervalS });
    if ('name' in found) throw new Error(found.message);
    expect(found.startS % intervalS).toBe(0);
    expect((found.endS - found.startS) / intervalS).toBe(count);
    expect(found.endS).toBeGreaterThan(NOW_S);
    expect(found.endS - intervalS).toBeLessThanOrEqual(NOW_S);
  });

  test('is widened to whole intervals', () => {
    expect(range({ since: 3_601, until: 7_201 })).toEqual({ intervalS: 3_600, startS: 3_600, endS: 10_800 });
    expect(range({ since: 3_600, until: 7_200 })).toEqual({ intervalS: 3_600, startS: 3_600, endS: 7_200 });
  });

  test('of one destination is widened to the hours that the minutes touch', () => {
    const destination = 'https://example.com:443';
    const hours = { intervalS: 3_600, startS: 3_600, endS: 10_800 };
    expect(range({ interval: 'minute', since: 7_140, until: 7_260, destination })).toEqual(hours);
    expect(range({ interval: 'hour', since: 3_600, until: 10_800, destination })).toEqual(hours);
    expect(range({ interval: 'minute', since: 0, until: 86_401, destination })).toMatchObject({ name: 'since' });
  });

  test('has at most 1,440 intervals', () => {
    expect(range({ interval: 'minute', since: 0, until: 86_400 })).toMatchObject({ startS: 0, endS: 86_400 });
    expect(range({ interval: 'minute', since: 0, until: 86_401 })).toMatchObject({ name: 'since' });
    expect(range({ interval: 'minute', since: 0 })).toMatchObject({ name: 'since' });
  });

  test('ends after it begins', () => {
    for (const until of [0, 3_600]) expect(range({ since: 3_600, until })).toMatchObject({ name: 'since' });
    expect(range({ since: NOW_S + 10 })).toMatchObject({ name: 'since', message: 'must be before until' });
  });
});
