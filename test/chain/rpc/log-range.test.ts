import { describe, expect, test } from 'bun:test';
import { LogRange, sizeBetween } from '../../../src/chain/rpc/log-range.ts';

const DAY_MS = 86_400_000;

function newRange(atMs = 1_000) {
  const clock = { ms: atMs };
  return { range: new LogRange(() => clock.ms), clock };
}

/** Asks for blocks of a node with a limit, and returns the sizes of all calls. */
function ask(range: LogRange, limit: number, calls: number, wanted = 1_000): number[] {
  return Array.from({ length: calls }, () => {
    const blocks = range.cap(wanted);
    if (blocks > limit) range.noteRefusal(blocks);
    else range.noteSuccess(blocks, 0);
    return blocks;
  });
}

describe('the blocks of one call', () => {
  test.each([5, 10, 64, 100, 500, 999])('come near a limit of %d blocks within ten calls, and stay', (limit) => {
    const { range } = newRange();
    const sizes = ask(range, limit, 40);
    expect(sizes.slice(10).filter((blocks) => blocks > limit)).toEqual([]);
    expect(sizes.at(-1)).toBeGreaterThanOrEqual(limit * 0.75);
    expect(new Set(sizes.slice(10)).size).toBe(1);
  });

  test('are not limited by a node that refused none, nor by the refusal of one block', () => {
    const { range } = newRange();
    expect(range.cap(100_000)).toBe(100_000);
    range.noteRefusal(1);
    expect(range.cap(100_000)).toBe(100_000);
    expect(range.limit).toBeNull();
  });

  test('are tried once more after 50 good readings, and then not for a day', () => {
    const { range, clock } = newRange();
    const sizes = ask(range, 100, 500);
    const refused = sizes.flatMap((blocks, call) => (blocks > 100 ? [call] : []));
    expect(refused.filter((call) => call >= 10 && call < 50)).toEqual([]);
    expect(refused.filter((call) => call >= 80)).toEqual([]);
    expect(range.limit?.untilMs).toBe(clock.ms + DAY_MS);
    clock.ms += DAY_MS;
    expect(range.cap(1_000)).toBe(1_000);
  });

  test('are not limited by a refusal of too many results', () => {
    const { range } = newRange();
    range.noteRefusal(1_000);
    expect(range.cap(1_000)).toBe(250);
    range.noteSuccess(250, 300);
    expect(range.cap(1_000)).toBe(1_000);
  });

  test('fall below a size that worked, if the node refuses it later', () => {
    const { range } = newRange();
    range.noteSuccess(1_000, 0);
    expect(ask(range, 100, 20).at(-1)).toBeLessThanOrEqual(100);
  });

  test('are known after a restart, for the rest of the day', () => {
    const before = newRange();
    ask(before.range, 100, 20);
    const { limit } = before.range;
    if (limit === null) throw new Error('There is a limit');
    const { range } = newRange();
    range.restore(limit);
    expect(ask(range, 100, 20).filter((blocks) => blocks > 100)).toEqual([]);
    const late = newRange(9_000);
    late.range.restore({ ...limit, untilMs: 9_000 });
    expect(late.range.cap(1_000)).toBe(1_000);
    const backwards = newRange(9_000);
    backwards.range.restore({ ...limit, untilMs: 9_000 + 3 * DAY_MS });
    expect(backwards.range.limit?.untilMs).toBe(9_000 + DAY_MS);
  });
});

test.each([
  [null, 1_000, 250],
  [null, 2, 1],
  [62, 125, 93],
  [93, 109, 93],
  [1, 2, 1],
  [1, 4, 2],
])('the size between %p and %d is %d', (good, refused, size) => {
  expect(sizeBetween(good, refused)).toBe(size);
});
