import { expect, test } from 'bun:test';
import { BlockRange } from '../../../../../src/chain/evm/follow/blocks/block-range.ts';

test('a range is halved at each failure, down to one block', () => {
  const range = new BlockRange(10);
  const blocks = Array.from({ length: 5 }, () => {
    range.shrink(range.blocks);
    return range.blocks;
  });
  expect(blocks).toEqual([5, 2, 1, 1, 1]);
});

test('a failure at fewer blocks than the range counts for those', () => {
  const range = new BlockRange(1_000);
  range.shrink(8);
  expect(range.blocks).toBe(4);
});

test('a range that was used in full and had few logs is doubled, up to 100,000 blocks', () => {
  const range = new BlockRange(30_000);
  range.adapt(29_999, 0);
  expect(range.blocks).toBe(30_000);
  range.adapt(30_000, 3_000);
  expect(range.blocks).toBe(30_000);
  for (let time = 0; time < 3; time++) range.adapt(range.blocks, 100);
  expect(range.blocks).toBe(100_000);
});

test('a range that was refused is not asked for again before 50 good readings', () => {
  const range = new BlockRange(1_000);
  const sizes = Array.from({ length: 60 }, () => {
    const { blocks } = range;
    if (blocks > 100) range.shrink(blocks);
    else range.adapt(blocks, 0);
    return blocks;
  });
  expect(sizes.slice(10, 50).every((blocks) => blocks >= 75 && blocks <= 100)).toBe(true);
  expect(sizes.slice(50).some((blocks) => blocks > 100)).toBe(true);
});

test('a range with many logs is halved', () => {
  const range = new BlockRange(1_000);
  range.adapt(1_000, 10_001);
  expect(range.blocks).toBe(500);
});

test.each([
  [null, 1_000],
  [0, 1],
  [1e9, 100_000],
])('a stored range of %p begins with %d blocks', (stored, blocks) => {
  expect(new BlockRange(stored).blocks).toBe(blocks);
});
