import { expect, test } from 'bun:test';
import { type Slots, takeSlots } from '../../src/dashboard/views/deliveries/use-slots.ts';

const NOTHING: Slots = new Map();

test('what stays keeps its slot, and what is new takes those of what has gone', () => {
  const before = takeSlots(NOTHING, ['c', 'b', 'a']);
  expect([...before.values()]).toEqual([0, 1, 2]);
  const after = takeSlots(before, ['e', 'd', 'c']);
  expect(Object.fromEntries(after)).toEqual({ c: 0, e: 1, d: 2 });
});

test('a whole page of new ones takes the slots in their order, so that no row moves', () => {
  const before = takeSlots(NOTHING, ['c', 'b', 'a']);
  expect([...takeSlots(before, ['f', 'e', 'd']).values()]).toEqual([0, 1, 2]);
});

test('no two ever share a slot, however the list grows and shrinks', () => {
  let slots = NOTHING;
  for (const ids of [['a'], ['c', 'b', 'a'], ['d', 'b'], [], ['g', 'f', 'e', 'd']]) {
    slots = takeSlots(slots, ids);
    expect(new Set(slots.values()).size).toBe(ids.length);
  }
});
