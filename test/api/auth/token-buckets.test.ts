import { beforeEach, describe, expect, test } from 'bun:test';
import { TokenBuckets } from '../../../src/api/auth/rate-limits.ts';

let nowMs = 0;
const clock = () => nowMs;

beforeEach(() => {
  nowMs = 5_000;
});

describe('a bucket of 10 a second and 20 at once', () => {
  let buckets: TokenBuckets;

  beforeEach(() => {
    buckets = new TokenBuckets({ perSecond: 10, burst: 20 }, clock);
  });

  test('gives 20 at once and no more', () => {
    const granted = Array.from({ length: 25 }, () => buckets.take('a').granted);
    expect(granted).toEqual([...Array(20).fill(1), ...Array(5).fill(0)]);
  });

  test('gives one more every tenth of a second', () => {
    buckets.take('a', 20);
    nowMs += 99;
    expect(buckets.take('a').granted).toBe(0);
    nowMs += 1;
    expect(buckets.take('a').granted).toBe(1);
    expect(buckets.take('a').granted).toBe(0);
  });

  test('gives ten a second in the long run, however often it is asked', () => {
    buckets.take('a', 20);
    let granted = 0;
    for (let step = 0; step < 10_000; step++) {
      nowMs += 7;
      granted += buckets.take('a').granted;
    }
    expect(granted).toBe(700);
  });

  test('is never fuller than 20', () => {
    buckets.take('a', 20);
    nowMs += 3_600_000;
    expect(buckets.take('a', 100).granted).toBe(20);
  });

  test('says what remains, when it is full and when to come again', () => {
    expect(buckets.take('a', 5)).toEqual({ granted: 5, remaining: 15, retryAfterS: 0, fullInS: 1 });
    expect(buckets.take('a', 100)).toEqual({ granted: 15, remaining: 0, retryAfterS: 1, fullInS: 2 });
    expect(buckets.look('a')).toEqual({ granted: 0, remaining: 0, retryAfterS: 1, fullInS: 2 });
  });

  test('takes nothing for a look or a refusal', () => {
    buckets.take('a', 20);
    for (let times = 0; times < 50; times++) buckets.take('a');
    nowMs += 100;
    expect(buckets.look('a').remaining).toBe(1);
    expect(buckets.take('a').granted).toBe(1);
  });

  test('is one for each key', () => {
    buckets.take('a', 20);
    expect(buckets.take('b', 20).granted).toBe(20);
  });
});

test('no more buckets are kept than were asked for: full ones are swept, then the one taken from longest ago is dropped', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 2 }, clock, 100);
  for (let key = 0; key < 100; key++) buckets.take(`early-${key}`);
  nowMs += 1_000;
  buckets.take('busy', 2);
  expect(buckets.size).toBe(1);
  for (let key = 0; key < 1_000; key++) buckets.take(`late-${key}`, 2);
  expect(buckets.size).toBeLessThanOrEqual(100);
  expect(buckets.take('late-999').granted).toBe(0);
});

test('a slow rate says how long to wait', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1 }, clock);
  buckets.take('a');
  expect(buckets.take('a')).toEqual({ granted: 0, remaining: 0, retryAfterS: 1, fullInS: 1 });
});
