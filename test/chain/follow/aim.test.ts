import { expect, test } from 'bun:test';
import { Aim } from '../../../src/chain/follow/aim.ts';
import { seededRandom } from '../../support/random.ts';

type Network = { readonly blockTimeMs: number; readonly arrivesMs: readonly [number, number]; readonly phase: number };

/** An hour of polls at a network whose blocks reach the node a while after their timestamp. */
function follow({ blockTimeMs, arrivesMs: [least, most], phase }: Network, warmUpMs = 600_000) {
  const random = seededRandom(7);
  const endMs = warmUpMs + 3_600_000;
  const blocks = Array.from({ length: Math.ceil(endMs / blockTimeMs) + 10 }, (_, index) => {
    const timestampMs = index * blockTimeMs;
    return { timestampMs, atMs: timestampMs + least + random.below(most - least) };
  });
  const aim = new Aim();
  const latencies: number[] = [];
  let [polls, read] = [0, -1];
  for (let nowMs = phase * blockTimeMs; nowMs < endMs; ) {
    const before = read;
    while ((blocks[read + 1]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) read++;
    if (nowMs >= warmUpMs) {
      polls++;
      for (let block = before + 1; block <= read; block++) latencies.push(nowMs - (blocks[block]?.atMs ?? nowMs));
    }
    const headS = read < 0 ? null : Math.floor((blocks[read]?.timestampMs ?? 0) / 1_000);
    nowMs += aim.waitMs({ tipHash: String(read), headS, blockTimeMs, dateMs: nowMs });
  }
  latencies.sort((a, b) => a - b);
  return { polls, p50: latencies[Math.floor(latencies.length / 2)] ?? 0 };
}

test.each([
  [{ blockTimeMs: 12_000, arrivesMs: [800, 3_500] }, 1_100, 600],
  [{ blockTimeMs: 2_000, arrivesMs: [200, 700] }, 300, 3_000],
] as const)('polls at %p find half of the blocks within %d ms, with few polls', (network, p50, polls) => {
  for (const phase of [0.1, 0.5, 0.9]) {
    const found = follow({ ...network, phase });
    expect(found.p50).toBeLessThanOrEqual(p50);
    expect(found.polls).toBeLessThanOrEqual(polls);
  }
});

test('a network with several blocks a second is polled once a second', () => {
  const sight = { tipHash: 'a', headS: 5, blockTimeMs: 250, dateMs: 6_000 };
  expect(new Aim().waitMs(sight)).toBe(1_000);
});

test('a least time between polls holds, with and without new blocks', () => {
  for (const [blockTimeMs, leastMs] of [
    [12_000, 6_000],
    [3_000, 6_000],
    [250, 500],
  ] as const) {
    const aim = new Aim(leastMs);
    const waits: number[] = [];
    let dateMs = 0;
    for (let poll = 0; poll < 100; poll++) {
      const block = Math.floor(dateMs / blockTimeMs);
      const headS = Math.floor((block * blockTimeMs) / 1_000);
      const waitMs = aim.waitMs({ tipHash: String(block), headS, blockTimeMs, dateMs });
      waits.push(waitMs);
      dateMs += waitMs;
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(leastMs);
    if (blockTimeMs < leastMs) expect(Math.max(...waits)).toBe(leastMs);
  }
});

test('a network whose blocks stop is polled at its block time', () => {
  const aim = new Aim();
  const waits: number[] = [];
  let dateMs = 0;
  for (let poll = 0; poll < 60; poll++) {
    // A block at first, one that follows a poll without one, and none after it.
    const tipHash = poll < 2 ? 'a' : 'b';
    const waitMs = aim.waitMs({ tipHash, headS: 0, blockTimeMs: 2_000, dateMs });
    waits.push(waitMs);
    dateMs += waitMs;
  }
  expect(waits.at(-1)).toBe(2_000);
});
