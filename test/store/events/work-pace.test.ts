import { expect, test } from 'bun:test';
import { WorkPace } from '../../../src/store/events/work-pace.ts';

/** A clock on which each item of work takes so many milliseconds, and which notes the items between two rests. */
function pacedBy(itemMs: number) {
  let ms = 0;
  const stretches: number[] = [0];
  const pace = new WorkPace({
    nowMs: () => ms,
    rest: async () => {
      stretches.push(0);
      ms += 100;
    },
  });
  const work = () => {
    ms += itemMs;
    stretches[stretches.length - 1] = (stretches.at(-1) ?? 0) + 1;
  };
  return { pace, work, stretches };
}

test.each([
  [0.5, 20],
  [3, 4],
  [25, 1],
])('work of %p ms an item rests after every %d items', async (itemMs, items) => {
  const { pace, work, stretches } = pacedBy(itemMs);
  await pace.forEach(Array.from({ length: 10 * items }), work);
  expect(stretches).toEqual([...Array.from({ length: 10 }, () => items), 0]);
});

test('one pace counts the work of several loops together', async () => {
  const { pace, work, stretches } = pacedBy(3);
  for (let loop = 0; loop < 4; loop++) await pace.forEach([1, 2], work);
  expect(stretches).toEqual([4, 4, 0]);
});
