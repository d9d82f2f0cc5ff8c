import { expect, test } from 'bun:test';
import { assignSlots, type Slots } from '../../src/dashboard/views/deliveries/use-slots.ts';

const NO_SLOTS: Slots = new Map();

test('an ID that stays keeps its slot, and new ones take the free slots', () => {
  const before = assignSlots(NO_SLOTS, ['c', 'b', 'a']);
  expect([...before.values()]).toEqual([0, 1, 2]);
  const after = assignSlots(before, ['e', 'd', 'c']);
  expect(Object.fromEntries(after)).toEqual({ c: 0, e: 1, d: 2 });
});

test('a page of new IDs takes the slots in order, so that no row moves', () => {
  const before = assignSlots(NO_SLOTS, ['c', 'b', 'a']);
  expect([...assignSlots(before, ['f', 'e', 'd']).values()]).toEqual([0, 1, 2]);
});

test('no two IDs share a slot, however the list grows and shrinks', () => {
  let slots = NO_SLOTS;
  for (const ids of [['a'], ['c', 'b', 'a'], ['d', 'b'], [], ['g', 'f', 'e', 'd']]) {
    slots = assignSlots(slots, ids);
    expect(new Set(slots.values()).size).toBe(ids.length);
  }
});
