import { expect, test } from 'bun:test';
import {
  finalEntry,
  type HistoryEntry,
  historyOf,
  parseHistory,
  withEntry,
} from '../../../src/store/chain/facts/fact-history.ts';

const entry = (atMs: number, blockNumber: number): HistoryEntry => ({
  ...{ atMs, state: 'seen', revision: 1, blockNumber, blockHash: `0x${'ab'.repeat(32)}`, logIndex: 3, isDisputed: 0 },
});

test('a history has its entries in their order, and each has what it leaves out from the one before', () => {
  const history = withEntry(historyOf(entry(1, 10)), { ...entry(2, 11), isDisputed: 1 }) + finalEntry(3);
  expect(parseHistory(history)).toEqual([
    entry(1, 10),
    { ...entry(2, 11), isDisputed: 1 },
    { ...entry(3, 11), state: 'final' },
  ]);
  expect(parseHistory('')).toEqual([]);
  expect(parseHistory(withEntry('', entry(1, 10)))).toEqual([entry(1, 10)]);
});

test('a fact that comes and goes for ever keeps its latest entries, whole', () => {
  let history = historyOf(entry(0, 0)) + finalEntry(0);
  for (let n = 1; n <= 2_000; n++) history = withEntry(history, entry(n, n));
  expect(history.length).toBeLessThan(60_000);
  const latest = parseHistory(history).slice(-100);
  expect(latest).toEqual(Array.from({ length: 100 }, (_, at) => entry(1_901 + at, 1_901 + at)));
});
