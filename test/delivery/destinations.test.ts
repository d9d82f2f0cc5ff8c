import { describe, expect, test } from 'bun:test';
import { type AttemptResult, Destinations } from '../../src/delivery/destinations.ts';

const HERE = 'ent_1 https://here.example:443';
const THERE = 'ent_1 https://there.example:443';

function attempt(destinations: Destinations, result: AttemptResult, times = 1): void {
  for (let made = 0; made < times; made++) {
    destinations.begin(HERE);
    destinations.end(HERE, result);
  }
}

describe('a destination', () => {
  test('has room up to its cap, and gets it back as attempts end', () => {
    const destinations = new Destinations(3);
    expect(destinations.roomAt(HERE)).toBe(3);
    for (let begun = 0; begun < 3; begun++) destinations.begin(HERE);
    expect(destinations.roomAt(HERE)).toBe(0);
    expect(destinations.roomAt(THERE)).toBe(3);
    destinations.end(HERE, 'other');
    expect(destinations.roomAt(HERE)).toBe(1);
  });

  test('is probed by one post at a time from the fifth failure in a row on, and one success restores it', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'unwell', 4);
    expect([destinations.roomAt(HERE), destinations.unwell]).toEqual([16, 0]);
    attempt(destinations, 'unwell');
    expect([destinations.roomAt(HERE), destinations.unwell]).toEqual([1, 1]);
    destinations.begin(HERE);
    expect(destinations.roomAt(HERE)).toBe(0);
    destinations.end(HERE, 'unwell');
    expect(destinations.roomAt(HERE)).toBe(1);
    attempt(destinations, 'success');
    expect([destinations.roomAt(HERE), destinations.unwell]).toEqual([16, 0]);
  });

  test('begins its row of failures anew after a success', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'unwell', 4);
    attempt(destinations, 'success');
    attempt(destinations, 'unwell', 4);
    expect(destinations.roomAt(HERE)).toBe(16);
  });

  test('is neither hurt nor healed by an answer that speaks of one post only', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'other', 50);
    expect(destinations.roomAt(HERE)).toBe(16);
    attempt(destinations, 'unwell', 5);
    attempt(destinations, 'other', 50);
    expect(destinations.roomAt(HERE)).toBe(1);
  });

  test('with more in flight than the cap it fell to has no room until they have ended', () => {
    const destinations = new Destinations(16);
    for (let begun = 0; begun < 10; begun++) destinations.begin(HERE);
    for (let ended = 0; ended < 5; ended++) destinations.end(HERE, 'unwell');
    expect(destinations.roomAt(HERE)).toBe(0);
    for (let ended = 0; ended < 4; ended++) destinations.end(HERE, 'unwell');
    expect(destinations.roomAt(HERE)).toBe(0);
    destinations.end(HERE, 'unwell');
    expect(destinations.roomAt(HERE)).toBe(1);
  });

  test('that is forgotten among very many starts anew, and none in flight is forgotten', () => {
    const destinations = new Destinations(2);
    destinations.begin(HERE);
    for (let other = 0; other < 50_100; other++) {
      destinations.begin(`ent_1 https://${other}.example:443`);
      destinations.end(`ent_1 https://${other}.example:443`, 'unwell');
    }
    expect(destinations.roomAt(HERE)).toBe(1);
    expect(destinations.roomAt('ent_1 https://0.example:443')).toBe(2);
  });
});
