import { expect, test } from 'bun:test';
import { BoundedMap } from '../../src/bounded-map.ts';

test('drops the entry that was set longest ago when it exceeds its limit', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('c', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['c', 3],
  ]);
});

test('setting a key again makes it the newest, and reading it does not', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  map.get('b');
  map.set('c', 4);
  expect([...map.keys()]).toEqual(['a', 'c']);
});

test('bounds the sum of the weights, and drops as many entries as that takes', () => {
  const map = new BoundedMap<string, string>(10, { weigh: (text) => text.length });
  map.set('a', 'four').set('b', 'four').set('c', 'eight888');
  expect([...map.keys()]).toEqual(['c']);
  map.delete('c');
  map.set('d', '0123456789');
  expect([...map.keys()]).toEqual(['d']);
  map.set('d', 'a').set('e', '012345678');
  expect([...map.keys()]).toEqual(['d', 'e']);
});

test('an entry that is heavier than the whole limit is not kept', () => {
  const map = new BoundedMap<string, string>(3, { weigh: (text) => text.length });
  map.set('a', 'long');
  expect(map.size).toBe(0);
});

test('tells what was evicted, but not what was deleted or replaced', () => {
  const evicted: number[] = [];
  const map = new BoundedMap<string, number>(2, { onEvict: (value) => evicted.push(value) });
  map.set('a', 1).set('a', 2).set('b', 3);
  map.delete('b');
  map.set('c', 4).set('d', 5);
  expect(evicted).toEqual([2]);
});

test('a cleared map has its whole limit again', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).clear();
  map.set('c', 3).set('d', 4);
  expect([...map.keys()]).toEqual(['c', 'd']);
});

test('keeps null as a value', () => {
  const map = new BoundedMap<string, number | null>(1);
  map.set('a', null).set('b', null);
  expect([...map]).toEqual([['b', null]]);
});
