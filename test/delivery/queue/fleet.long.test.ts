import { expect, test } from 'bun:test';
import { simulate } from '../../../bench/scale/scenarios.ts';

/** `npx bun bench/scale/simulate.ts` at a size that takes a second. */
const SIZE = { instances: 10, shards: 4, destinations: 4_000, perSecond: 100, cap: 16, seed: 1 };

const runs = simulate(SIZE);

test('a fleet loses nothing, whatever is wrong, and the same seed gives the same figures', () => {
  expect(runs.map(({ name, lost }) => [name, lost])).toEqual(runs.map(({ name }) => [name, 0]));
  expect(runs.length).toBeGreaterThan(3);
  expect(simulate(SIZE)).toEqual(runs);
});

test('what is wrong at some destinations or in one shard delays no other', () => {
  const [quiet, ...others] = runs;
  for (const { name, elsewhere } of others) {
    expect({ name, p99Ms: elsewhere.p99Ms }).toSatisfy(({ p99Ms }) => p99Ms <= 5 * (quiet?.elsewhere.p99Ms ?? 0));
  }
});

test('no destination has more requests at a time than its cap, with more instances than that', () => {
  const crowded = simulate({ ...SIZE, instances: 24, destinations: 20 });
  expect(crowded.map(({ lost }) => lost)).toEqual(crowded.map(() => 0));
  // One that hangs has as many as it may.
  expect(Math.max(...crowded.map(({ mostInFlight }) => mostInFlight))).toBe(SIZE.cap);
});

test('a shard that is back has delivered what was kept from it within ten seconds', () => {
  const shard = runs.find(({ name }) => name.startsWith('a shard'));
  expect(shard?.refused).toBeGreaterThan(0);
  expect(shard?.affected?.mostMs).toBeWithin(100, 10_000);
});
