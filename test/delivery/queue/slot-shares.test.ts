import { describe, expect, test } from 'bun:test';
import type { HealthClass } from '../../../src/delivery/queue/destination-health.ts';
import { type EntityUse, noUse, SlotShares } from '../../../src/delivery/queue/slot-shares.ts';

/** Takes slots for that many new destinations of the class, as far as it is allowed, and returns how many. */
function fill(shares: SlotShares, entity: EntityUse, healthClass: HealthClass, most = 100_000): number {
  let taken = 0;
  while (taken < most && shares.allowSlot(entity, healthClass, true)) {
    shares.count(entity, healthClass, 1, 0);
    taken++;
  }
  return taken;
}

/** Entities that each take one slot in turn until none may take another. */
function crowd(shares: SlotShares, entities: number, healthClass: HealthClass): number {
  const uses = Array.from({ length: entities }, noUse);
  let taken = 0;
  for (let before = -1; before < taken; ) {
    before = taken;
    for (const use of uses) taken += fill(shares, use, healthClass, 1);
  }
  return taken;
}

describe('of 8,192 slots', () => {
  test.each<[HealthClass, number]>([
    ['proven', 7_282],
    ['untried', 3_072],
    ['failing', 1_024],
  ])('one entity takes at most this many for %s destinations: %d', (healthClass, most) => {
    expect(fill(new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 }), noUse(), healthClass)).toBe(most);
  });

  test.each<[HealthClass, number]>([
    ['proven', 8_192],
    ['untried', 6_144],
    ['failing', 2_048],
  ])('many entities take at most this many for %s destinations: %d', (healthClass, most) => {
    for (const entities of [2, 10, 100, 1_000, 5_000]) {
      expect(
        crowd(new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 }), entities, healthClass),
      ).toBeLessThanOrEqual(most);
    }
  });

  test('a crowd of entities leaves some for an entity that has none, whatever it is asked for', () => {
    for (const healthClass of ['proven', 'untried', 'failing'] as const) {
      const shares = new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 });
      crowd(shares, 100, healthClass);
      const newcomer = noUse();
      for (const asked of ['proven', 'untried', 'failing'] as const) {
        expect(fill(shares, newcomer, asked, 3)).toBe(3);
      }
    }
  });

  test('the untried and the failing together leave a quarter to the proven', () => {
    const shares = new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 });
    expect(crowd(shares, 100, 'failing') + crowd(shares, 100, 'untried')).toBeLessThanOrEqual(6_144);
    expect(fill(shares, noUse(), 'proven')).toBeGreaterThan(1_800);
  });

  test('proven destinations that all begin to fail at once leave the untried their share', () => {
    const shares = new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 });
    const failed = noUse();
    const taken = fill(shares, failed, 'proven');
    shares.count(failed, 'proven', -taken, 0);
    shares.count(failed, 'failing', taken, 0);
    expect(fill(shares, noUse(), 'untried')).toBeGreaterThan(400);
    expect(fill(shares, noUse(), 'failing')).toBe(0);
  });

  test('a sixteenth is kept for destinations that have none', () => {
    const shares = new SlotShares({ slots: 8_192, queuePlaces: 0, bytes: 0 });
    shares.count(noUse(), 'proven', 8_192 - 512, 0);
    expect(shares.allowSlot(noUse(), 'proven', false)).toBe(false);
    expect(shares.allowSlot(noUse(), 'proven', true)).toBe(true);
  });
});

test('every class and every entity gets a slot out of very few', () => {
  for (let slots = 1; slots <= 16; slots++) {
    for (const healthClass of ['proven', 'untried', 'failing'] as const) {
      const shares = new SlotShares({ slots, queuePlaces: 0, bytes: 0 });
      expect([slots, fill(shares, noUse(), healthClass, 1)]).toEqual([slots, 1]);
      expect(fill(shares, noUse(), healthClass)).toBeLessThan(slots);
    }
  }
});

test('one entity takes half of the queue, and two take a third each', () => {
  const queue = (entities: number) => {
    const shares = new SlotShares({ slots: 0, queuePlaces: 900, bytes: 0 });
    const uses = Array.from({ length: entities }, noUse);
    for (let round = 0; round < 900; round++) {
      for (const use of uses) if (shares.allowQueued(use)) shares.count(use, 'proven', 0, 1);
    }
    return uses.map(({ queued }) => queued);
  };
  expect(queue(1)).toEqual([450]);
  expect(queue(2)).toEqual([300, 300]);
});
