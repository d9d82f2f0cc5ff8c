import { expect, test } from 'bun:test';
import { type LookResult, nextLook } from '../../../src/store/deliveries/claim/head-looks.ts';

const NOW_MS = 1_000_000;
const HOUR_MS = 3_600_000;
/** An acceptance that is under way may commit rows that were due this long ago. */
const LAG_MS = 10_000;

const head = (given: Partial<Parameters<typeof nextLook>[0]> = {}) => ({
  generation: 2,
  idle: 0,
  fromDueMs: 0,
  ...given,
});

const found = (given: Partial<LookResult> = {}): LookResult => ({
  isCut: false,
  firstMs: NOW_MS + 500,
  firstDueMs: NOW_MS + 500,
  lastDueMs: NOW_MS + 500,
  firstGeneration: 2,
  ...given,
});

test('a head without anything waiting is left alone for longer each time, and never for more than an hour', () => {
  const waits = [0, 1, 2, 3, 4].map((idle) => nextLook(head({ idle }), null, NOW_MS).nextDueMs - NOW_MS);
  expect(waits).toEqual([5_000, 30_000, 300_000, HOUR_MS, HOUR_MS]);
});

test('a head is looked at when its first row can be claimed, within an hour and not at once again', () => {
  const next = (given: Partial<LookResult>) => nextLook(head({ idle: 3 }), found(given), NOW_MS);
  expect(next({})).toMatchObject({ nextDueMs: NOW_MS + 500, idle: 0 });
  expect(next({ firstMs: NOW_MS + 2 * HOUR_MS })).toMatchObject({ nextDueMs: NOW_MS + HOUR_MS });
  expect(next({ firstMs: NOW_MS - 5 })).toMatchObject({ nextDueMs: NOW_MS + 1 });
});

test('where all rows that were looked at have a lease, the next row may be due before any of these leases ends', () => {
  const leased = found({ isCut: true, firstMs: NOW_MS + 30_000, firstDueMs: NOW_MS - 50, lastDueMs: NOW_MS - 20 });
  expect(nextLook(head(), leased, NOW_MS).nextDueMs).toBe(NOW_MS + 1);
});

test('the mark stays behind the first row, and behind what an acceptance under way may commit', () => {
  const markOf = (firstDueMs: number) => nextLook(head(), found({ firstDueMs }), NOW_MS).fromDueMs;
  expect(markOf(NOW_MS + 500)).toBe(NOW_MS - LAG_MS);
  expect(markOf(NOW_MS - 60_000)).toBe(NOW_MS - 60_000);
  expect(nextLook(head(), null, NOW_MS).fromDueMs).toBe(NOW_MS - LAG_MS);
});

test('there is no mark while rows of an older generation wait, or may be committed after a resume', () => {
  expect(nextLook(head(), found({ firstGeneration: 1 }), NOW_MS).fromDueMs).toBe(0);
  const resumed = (agoMs: number) => head({ fromDueMs: -(NOW_MS - agoMs) });
  expect(nextLook(resumed(LAG_MS - 1), found(), NOW_MS).fromDueMs).toBe(-(NOW_MS - LAG_MS + 1));
  expect(nextLook(resumed(LAG_MS - 1), null, NOW_MS).fromDueMs).toBe(-(NOW_MS - LAG_MS + 1));
  expect(nextLook(resumed(LAG_MS + 1), found(), NOW_MS).fromDueMs).toBe(NOW_MS - LAG_MS);
  expect(nextLook(resumed(LAG_MS + 1), found({ firstGeneration: 1 }), NOW_MS).fromDueMs).toBe(-(NOW_MS - LAG_MS - 1));
});
