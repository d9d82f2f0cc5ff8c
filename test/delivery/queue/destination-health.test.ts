import { describe, expect, test } from 'bun:test';
import { type AttemptResult, Destinations } from '../../../src/delivery/queue/destination-health.ts';
import { type DestinationKey, destinationKey } from '../../../src/domain/destination.ts';

const HERE = destinationKey('ent_1', 'https://here.example');
/** So long that no line is formed for it. */
const SLOW_MS = 10_000;
const THERE = destinationKey('ent_1', 'https://there.example');

function start(destinations: Destinations, destination: DestinationKey): void {
  destinations.take(destination);
  destinations.begin(destination);
}

function attempt(destinations: Destinations, result: AttemptResult, times = 1): void {
  for (let made = 0; made < times; made++) {
    start(destinations, HERE);
    destinations.end(HERE, result, SLOW_MS);
  }
}

describe('a destination', () => {
  test('has room up to its cap, and gets it back as attempts end', () => {
    const destinations = new Destinations(3);
    expect(destinations.roomAt(HERE)).toBe(3);
    for (let begun = 0; begun < 3; begun++) start(destinations, HERE);
    expect(destinations.roomAt(HERE)).toBe(0);
    expect(destinations.roomAt(THERE)).toBe(3);
    destinations.end(HERE, 'other', SLOW_MS);
    expect(destinations.roomAt(HERE)).toBe(1);
  });

  test('is probed by one post at a time from the fifth failure in a row on, and one success restores it', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'unwell', 4);
    expect([destinations.roomAt(HERE), destinations.unhealthy]).toEqual([16, 0]);
    attempt(destinations, 'unwell');
    expect([destinations.roomAt(HERE), destinations.unhealthy]).toEqual([1, 1]);
    start(destinations, HERE);
    expect(destinations.roomAt(HERE)).toBe(0);
    destinations.end(HERE, 'unwell', SLOW_MS);
    expect(destinations.roomAt(HERE)).toBe(1);
    attempt(destinations, 'success');
    expect([destinations.roomAt(HERE), destinations.unhealthy]).toEqual([16, 0]);
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
    for (let begun = 0; begun < 10; begun++) start(destinations, HERE);
    for (let ended = 0; ended < 5; ended++) destinations.end(HERE, 'unwell', SLOW_MS);
    expect(destinations.roomAt(HERE)).toBe(0);
    for (let ended = 0; ended < 4; ended++) destinations.end(HERE, 'unwell', SLOW_MS);
    expect(destinations.roomAt(HERE)).toBe(0);
    destinations.end(HERE, 'unwell', SLOW_MS);
    expect(destinations.roomAt(HERE)).toBe(1);
  });

  test('that answers fast may have a line of as many as it takes in a tenth of a second, and thirty-one caps at most', () => {
    for (const [durationMs, room] of [
      [1, 512],
      [20, 96],
      [50, 48],
      [100, 32],
      [1_000, 17],
      [SLOW_MS, 16],
    ] as const) {
      const destinations = new Destinations(16);
      start(destinations, HERE);
      destinations.end(HERE, 'success', durationMs);
      expect([durationMs, destinations.roomAt(HERE)]).toEqual([durationMs, room]);
    }
  });

  test('keeps its line short as soon as it becomes slow, and has one post at a time when it is unwell', () => {
    const destinations = new Destinations(16);
    start(destinations, HERE);
    destinations.end(HERE, 'success', 1);
    for (let slow = 0; slow < 3; slow++) {
      start(destinations, HERE);
      destinations.end(HERE, 'success', 1_000);
    }
    expect(destinations.roomAt(HERE)).toBeLessThan(20);
    attempt(destinations, 'unwell', 5);
    expect([destinations.roomAt(HERE), destinations.mayBegin(HERE)]).toEqual([1, true]);
    start(destinations, HERE);
    expect([destinations.roomAt(HERE), destinations.mayBegin(HERE)]).toEqual([0, false]);
  });

  test('that is forgotten among very many starts anew, and none in flight is forgotten', () => {
    const destinations = new Destinations(2);
    start(destinations, HERE);
    for (let other = 0; other < 50_100; other++) {
      const destination = destinationKey('ent_1', `https://host${other}.example`);
      start(destinations, destination);
      destinations.end(destination, 'unwell', SLOW_MS);
    }
    expect(destinations.roomAt(HERE)).toBe(1);
    expect(destinations.roomAt(destinationKey('ent_1', 'https://host0.example'))).toBe(2);
  });

  test('is claimed for again when its line is half empty, and always while it has none', () => {
    const destinations = new Destinations(4);
    expect(destinations.wantedAt(HERE)).toBe(4);
    start(destinations, HERE);
    destinations.end(HERE, 'success', 1);
    expect(destinations.wantedAt(HERE)).toBe(128);
    for (let taken = 0; taken < 66; taken++) destinations.take(HERE);
    expect(destinations.wantedAt(HERE)).toBe(62);
    destinations.take(HERE);
    expect([destinations.wantedAt(HERE), destinations.roomAt(HERE)]).toEqual([0, 61]);
    destinations.leave(HERE);
    expect(destinations.wantedAt(HERE)).toBe(62);
  });

  test('has no more room than all together have, for those under way and for those in line', () => {
    const destinations = new Destinations(4, 6);
    const isFast = (destination: DestinationKey) => {
      start(destinations, destination);
      destinations.end(destination, 'success', 1);
    };
    isFast(HERE);
    isFast(THERE);
    expect([destinations.room, destinations.roomAt(HERE)]).toEqual([6, 10]);
    for (let taken = 0; taken < 8; taken++) destinations.take(HERE);
    // Four of these stand in line.
    expect([destinations.room, destinations.roomAt(HERE), destinations.roomAt(THERE)]).toEqual([2, 2, 2]);
    for (let taken = 0; taken < 2; taken++) destinations.take(THERE);
    expect([destinations.room, destinations.roomAt(HERE), destinations.roomAt(THERE)]).toEqual([0, 2, 0]);
    for (let left = 0; left < 5; left++) destinations.leave(HERE);
    expect([destinations.room, destinations.roomAt(HERE), destinations.roomAt(THERE)]).toEqual([1, 7, 1]);
  });
});
