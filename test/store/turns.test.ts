import { expect, test } from 'bun:test';
import { Turns } from '../../src/store/turns.ts';

type Item = { readonly entityId: string; readonly no: number };

function waiting(counts: Readonly<Record<string, number>>): Turns<Item> {
  const turns = new Turns<Item>();
  for (const [entityId, count] of Object.entries(counts)) {
    for (let no = 1; no <= count; no++) turns.push(entityId, { entityId, no });
  }
  return turns;
}

const names = (items: readonly Item[]) => items.map(({ entityId, no }) => `${entityId}${no}`).join(' ');

function serve(turns: Turns<Item>, count: number): string {
  const served: Item[] = [];
  while (served.length < count) {
    const [item] = turns.next(1);
    if (item === undefined) break;
    turns.served(item.entityId, item);
    served.push(item);
  }
  return names(served);
}

test('entities take turns, each in the order of its items', () => {
  expect(serve(waiting({ a: 5, b: 2, c: 1 }), 9)).toBe('a1 b1 c1 a2 b2 a3 a4 a5');
  expect(names(waiting({ a: 5, b: 2, c: 1 }).next(7))).toBe('a1 b1 c1 a2 b2 a3 a4');
  expect(names(waiting({ a: 5, b: 2 }).next(3, 'a'))).toBe('a1 a2 a3');
});

test('an entity that comes later is next after the entities that were served before', () => {
  const turns = waiting({ a: 1_000, b: 1 });
  const group = turns.next(3);
  expect(names(group)).toBe('a1 b1 a2');
  turns.push('c', { entityId: 'c', no: 1 });
  // Only one item of the group had room.
  for (const item of group.slice(0, 1)) turns.served(item.entityId, item);
  expect(serve(turns, 4)).toBe('b1 c1 a2 a3');
});

test('an entity that waits again after it was served comes after entities that were served before it', () => {
  const turns = waiting({ a: 3, b: 3 });
  expect(serve(turns, 1)).toBe('a1');
  turns.push('c', { entityId: 'c', no: 1 });
  expect(serve(turns, 2)).toBe('b1 c1');
  turns.push('c', { entityId: 'c', no: 2 });
  turns.push('d', { entityId: 'd', no: 1 });
  expect(serve(turns, 9)).toBe('d1 a2 b2 c2 a3 b3');
});

test('an entity that was served without waiting comes after the others', () => {
  const turns = waiting({ a: 2, b: 2 });
  turns.noteServed('a');
  turns.noteServed('c');
  turns.push('c', { entityId: 'c', no: 1 });
  expect(serve(turns, 9)).toBe('b1 a1 c1 b2 a2');
});

test('an item that gives up is skipped and changes no turn', () => {
  const turns = new Turns<Item>();
  const items = [1, 2].flatMap((no) => ['a', 'b'].map((entityId) => ({ entityId, no })));
  for (const item of items) turns.push(item.entityId, item);
  const [first] = items;
  if (first !== undefined) turns.remove('a', first);
  expect([turns.sizeOf(), turns.sizeOf('a'), turns.sizeOf('unknown')]).toEqual([3, 1, 0]);
  expect(serve(turns, 9)).toBe('a2 b1 b2');
  expect([turns.sizeOf(), turns.next(1)]).toEqual([0, []]);
});

test('an entity that has filled the queue leaves room for others, and the queue stays bounded', () => {
  const turns = new Turns<Item>();
  const fill = (entityId: string) => {
    let added = 0;
    for (; turns.hasRoom(entityId, 100); added++) turns.push(entityId, { entityId, no: added });
    return added;
  };
  expect(fill('a')).toBe(100);
  expect(['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(fill)).toEqual([34, 25, 20, 17, 4, 0, 0, 0]);
});
