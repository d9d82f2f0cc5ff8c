import { expect, test } from 'bun:test';
import { startOfLook } from '../../../src/store/deliveries/claim/claim-heads.ts';
import { type LookResult, nextLook } from '../../../src/store/deliveries/claim/head-looks.ts';

const NOW_MS = 1_000_000;
const HOUR_MS = 3_600_000;
/** An acceptance that is under way may commit rows that were due this long ago. */
const LAG_MS = 10_000;

const head = (given: Partial<Parameters<typeof nextLook>[0]> = {}) => ({
  generation: 2,
  idle: 0,
  lookFromMs: NOW_MS - 60_000,
  fullLookMs: NOW_MS + 240_000,
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
  const waits = [0, 1, 2, 3, 4].map(
    (idle) => nextLook(head({ idle, fullLookMs: NOW_MS }), null, NOW_MS).nextDueMs - NOW_MS,
  );
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
  const markOf = (firstDueMs: number) => nextLook(head(), found({ firstDueMs }), NOW_MS).lookFromMs;
  expect(markOf(NOW_MS + 500)).toBe(NOW_MS - LAG_MS);
  expect(markOf(NOW_MS - 60_000)).toBe(NOW_MS - 60_000);
  expect(nextLook(head(), null, NOW_MS).lookFromMs).toBe(NOW_MS - LAG_MS);
});

test('every look is a full one while rows of an older generation wait', () => {
  const next = nextLook(head(), found({ firstGeneration: 1 }), NOW_MS);
  expect(next).toMatchObject({ lookFromMs: 0, fullLookMs: 0 });
  expect(startOfLook({ ...next, generation: 2 }, NOW_MS + 1)).toEqual({ generation: 0, dueMs: 0 });
});

test('a head is looked at from its start every five minutes, and soon after a change that asked for it', () => {
  const fullLookMs = NOW_MS + 60_000;
  expect(nextLook(head({ fullLookMs }), null, NOW_MS)).toMatchObject({ fullLookMs });
  expect(nextLook(head({ fullLookMs: NOW_MS }), null, NOW_MS)).toMatchObject({ fullLookMs: NOW_MS + 300_000 });
  expect(nextLook(head({ fullLookMs: 0 }), null, NOW_MS)).toMatchObject({ fullLookMs: NOW_MS + LAG_MS });
  // Not left alone for longer than until then.
  expect(nextLook(head({ fullLookMs, idle: 3 }), null, NOW_MS)).toMatchObject({ nextDueMs: fullLookMs });
  expect(nextLook(head({ fullLookMs: 0, idle: 3 }), null, NOW_MS)).toMatchObject({ nextDueMs: NOW_MS + LAG_MS });
  expect(nextLook(head({ fullLookMs: NOW_MS, idle: 3 }), null, NOW_MS)).toMatchObject({ nextDueMs: NOW_MS + HOUR_MS });
});

test('a head is looked at from its start once the clock was set back', () => {
  const marks = { generation: 2, lookFromMs: NOW_MS - LAG_MS, fullLookMs: NOW_MS + 300_000 };
  expect(startOfLook(marks, NOW_MS)).toEqual({ generation: 2, dueMs: NOW_MS - LAG_MS });
  expect(startOfLook(marks, NOW_MS - 1)).toEqual({ generation: 0, dueMs: 0 });
  expect(startOfLook({ ...marks, lookFromMs: 0 }, NOW_MS - 1)).toEqual({ generation: 0, dueMs: 0 });
});
