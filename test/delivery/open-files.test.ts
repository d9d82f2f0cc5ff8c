import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { fileBudget } from '../../src/delivery/open-files.ts';

const DEFAULTS = loadConfig({});

test.each([
  [256, 103, 25],
  [1_024, 535, 133],
  [4_096, 2_378, 594],
  [65_536, 8_192, 1_024],
  [Number.POSITIVE_INFINITY, 8_192, 1_024],
])('a limit of %d files allows %d requests at a time and %d kept connections', (limit, slots, kept) => {
  expect(fileBudget(DEFAULTS, limit)).toEqual({ limit, slots, kept });
});

test('requests and kept connections leave files for everything else, at every limit', () => {
  const settings = loadConfig({ DELIVERY_CONCURRENCY: '65336' });
  for (let limit = 200; limit <= 70_000; limit += 97) {
    const { slots, kept } = fileBudget(settings, limit);
    expect(limit - slots - kept).toBeGreaterThanOrEqual(96);
  }
});

test('without a known limit, DELIVERY_CONCURRENCY applies', () => {
  expect(fileBudget(DEFAULTS, null)).toMatchObject({ slots: 8_192 });
});

test('the smallest limit leaves a slot', () => {
  expect(fileBudget(DEFAULTS, 20).slots).toBeGreaterThan(0);
});

test.skipIf(process.platform !== 'linux')('the limit of this process is known', () => {
  expect(fileBudget(DEFAULTS).limit).toBeGreaterThan(0);
});
