import { describe, expect, test } from 'bun:test';
import { type AttemptResult, Destinations } from '../../../src/delivery/queue/destination-health.ts';
import { type DestinationKey, destinationKey } from '../../../src/domain/destination.ts';

const HERE = destinationKey('ent_1', 'https://here.example');
/** So long that nothing is queued for it. */
const SLOW_MS = 10_000;
const THERE = destinationKey('ent_1', 'https://there.example');

function start(destinations: Destinations, destination: DestinationKey): void {
  destinations.reserve(destination);
  destinations.start(destination);
}

function attempt(destinations: Destinations, result: AttemptResult, times = 1): void {
  for (let made = 0; made < times; made++) {
    start(destinations, HERE);
    destinations.finish(HERE, result, SLOW_MS);
  }
}

describe('a destination', () => {
  test('has free slots up to its cap, and gets them back as attempts end', () => {
    const destinations = new Destinations(3);
    expect(destinations.freeSlotsAt(HERE)).toBe(3);
    for (let started = 0; started < 3; started++) start(destinations, HERE);
    expect(destinations.freeSlotsAt(HERE)).toBe(0);
    expect(destinations.freeSlotsAt(THERE)).toBe(3);
    destinations.finish(HERE, 'other', SLOW_MS);
    expect(destinations.freeSlotsAt(HERE)).toBe(1);
  });

  test('gets one request at a time from the fifth failure in a row on, and one success restores it', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'unhealthy', 4);
    expect([destinations.freeSlotsAt(HERE), destinations.unhealthy]).toEqual([16, 0]);
    attempt(destinations, 'unhealthy');
    expect([destinations.freeSlotsAt(HERE), destinations.unhealthy]).toEqual([1, 1]);
    start(destinations, HERE);
    expect(destinations.freeSlotsAt(HERE)).toBe(0);
    destinations.finish(HERE, 'unhealthy', SLOW_MS);
    expect(destinations.freeSlotsAt(HERE)).toBe(1);
    attempt(destinations, 'success');
    expect([destinations.freeSlotsAt(HERE), destinations.unhealthy]).toEqual([16, 0]);
  });

  test('counts failures in a row from zero after a success', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'unhealthy', 4);
    attempt(destinations, 'success');
    attempt(destinations, 'unhealthy', 4);
    expect(destinations.freeSlotsAt(HERE)).toBe(16);
  });

  test('keeps its health after a response that concerns one request only', () => {
    const destinations = new Destinations(16);
    attempt(destinations, 'other', 50);
    expect(destinations.freeSlotsAt(HERE)).toBe(16);
    attempt(destinations, 'unhealthy', 5);
    attempt(destinations, 'other', 50);
    expect(destinations.freeSlotsAt(HERE)).toBe(1);
  });

  test('with more in flight than its reduced cap has no free slot until they have ended', () => {
    const destinations = new Destinations(16);
    for (let started = 0; started < 10; started++) start(destinations, HERE);
    for (let ended = 0; ended < 5; ended++) destinations.finish(HERE, 'unhealthy', SLOW_MS);
    expect(destinations.freeSlotsAt(HERE)).toBe(0);
    for (let ended = 0; ended < 4; ended++) destinations.finish(HERE, 'unhealthy', SLOW_MS);
    expect(destinations.freeSlotsAt(HERE)).toBe(0);
    destinations.finish(HERE, 'unhealthy', SLOW_MS);
    expect(destinations.freeSlotsAt(HERE)).toBe(1);
  });

  test('that responds fast may have queued what it takes in a tenth of a second, and thirty-one caps at most', () => {
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
      destinations.finish(HERE, 'success', durationMs);
      expect([durationMs, destinations.freeSlotsAt(HERE)]).toEqual([durationMs, room]);
    }
  });

  test('has a short queue as soon as it becomes slow, and one request at a time when it is unhealthy', () => {
    const destinations = new Destinations(16);
    start(destinations, HERE);
    destinations.finish(HERE, 'success', 1);
    for (let slow = 0; slow < 3; slow++) {
      start(destinations, HERE);
      destinations.finish(HERE, 'success', 1_000);
    }
    expect(destinations.freeSlotsAt(HERE)).toBeLessThan(20);
    attempt(destinations, 'unhealthy', 5);
    expect([destinations.freeSlotsAt(HERE), destinations.mayStart(HERE)]).toEqual([1, true]);
    start(destinations, HERE);
    expect([destinations.freeSlotsAt(HERE), destinations.mayStart(HERE)]).toEqual([0, false]);
  });

  test('that is forgotten among very many is healthy again, and none in flight is forgotten', () => {
    const destinations = new Destinations(2);
    start(destinations, HERE);
    for (let other = 0; other < 50_100; other++) {
      const destination = destinationKey('ent_1', `https://host${other}.example`);
      start(destinations, destination);
      destinations.finish(destination, 'unhealthy', SLOW_MS);
    }
    expect(destinations.freeSlotsAt(HERE)).toBe(1);
    expect(destinations.freeSlotsAt(destinationKey('ent_1', 'https://host0.example'))).toBe(2);
  });

  test('is claimed for when its queue is half empty, and always while it has none', () => {
    const destinations = new Destinations(4);
    expect(destinations.claimableAt(HERE)).toBe(4);
    start(destinations, HERE);
    destinations.finish(HERE, 'success', 1);
    expect(destinations.claimableAt(HERE)).toBe(128);
    for (let taken = 0; taken < 66; taken++) destinations.reserve(HERE);
    expect(destinations.claimableAt(HERE)).toBe(62);
    destinations.reserve(HERE);
    expect([destinations.claimableAt(HERE), destinations.freeSlotsAt(HERE)]).toEqual([0, 61]);
    destinations.release(HERE);
    expect(destinations.claimableAt(HERE)).toBe(62);
  });

  test('has no more free slots than all together have, in flight and queued', () => {
    const destinations = new Destinations(4, 6);
    const isFast = (destination: DestinationKey) => {
      start(destinations, destination);
      destinations.finish(destination, 'success', 1);
    };
    isFast(HERE);
    isFast(THERE);
    expect([destinations.freeSlots, destinations.freeSlotsAt(HERE)]).toEqual([6, 10]);
    for (let taken = 0; taken < 8; taken++) destinations.reserve(HERE);
    // Four of these are queued.
    expect([destinations.freeSlots, destinations.freeSlotsAt(HERE), destinations.freeSlotsAt(THERE)]).toEqual([
      2, 2, 2,
    ]);
    for (let taken = 0; taken < 2; taken++) destinations.reserve(THERE);
    expect([destinations.freeSlots, destinations.freeSlotsAt(HERE), destinations.freeSlotsAt(THERE)]).toEqual([
      0, 2, 0,
    ]);
    for (let left = 0; left < 5; left++) destinations.release(HERE);
    expect([destinations.freeSlots, destinations.freeSlotsAt(HERE), destinations.freeSlotsAt(THERE)]).toEqual([
      1, 7, 1,
    ]);
  });
});
