import { describe, expect, test } from 'bun:test';
import { DestinationRings } from '../../../src/delivery/queue/destination-rings.ts';
import type { DestinationKey } from '../../../src/domain/post-url.ts';

const key = (name: string) => `${name[0]} ${name}` as DestinationKey;

/** Adds destinations by names such as a1, whose first letter is the entity. */
function rings(...names: readonly string[]): DestinationRings {
  const rings = new DestinationRings();
  for (const name of names) rings.add(key(name), 'proven', true);
  return rings;
}

/** Offers until there is nothing more, and returns those that were taken. */
function takeAll(from: DestinationRings, isTaken: (name: string) => boolean = () => true): string {
  const names: string[] = [];
  const take = (destination: DestinationKey) => {
    const name = destination.slice(2);
    if (isTaken(name)) names.push(name);
    return isTaken(name);
  };
  while (from.offer('proven', take) !== null);
  return names.join(' ');
}

describe('a ring of waiting destinations', () => {
  test('gives entities turns, and the destinations of each', () => {
    expect(takeAll(rings('a1', 'a2', 'a3', 'b1', 'c1', 'c2'))).toBe('a1 b1 c1 a2 c2 a3');
  });

  test('counts what it holds', () => {
    const ring = rings('a1', 'a2', 'b1');
    expect(ring.size).toBe(3);
    takeAll(ring, (name) => name === 'a1');
    expect(ring.size).toBe(2);
  });

  test('gives every other turn to an entity that has just joined', () => {
    const ring = rings('a1', 'a2', 'b1', 'c1');
    ring.add(key('x1'), 'proven', false);
    ring.add(key('y1'), 'proven', false);
    expect(takeAll(ring)).toBe('x1 a1 y1 b1 c1 a2');
  });

  test('passes over an entity that was refused until it is admitted, and forgets none of its destinations', () => {
    const ring = rings('a1', 'a2', 'b1', 'b2', 'c1');
    expect(takeAll(ring, (name) => !name.startsWith('a') && !name.startsWith('c'))).toBe('b1 b2');
    expect([ring.size, takeAll(ring)]).toEqual([3, '']);
    ring.admit('a', 0);
    expect(takeAll(ring)).toBe('a2 a1');
    ring.admit('x', 1);
    expect([takeAll(ring), ring.size]).toEqual(['c1', 0]);
  });

  test('admits those first that were refused first, each once', () => {
    const ring = rings('a1', 'b1', 'c1');
    takeAll(ring, () => false);
    ring.admit('a', 0);
    takeAll(ring, () => false);
    ring.admit('x', 2);
    expect(takeAll(ring)).toBe('a1 b1');
    ring.admit('x', 2);
    expect(takeAll(ring)).toBe('c1');
  });

  test('has nothing to do with the rings of other classes', () => {
    const ring = rings('a1');
    ring.add(key('a2'), 'failing', true);
    expect(takeAll(ring)).toBe('a1');
    expect(ring.size).toBe(1);
  });
});
