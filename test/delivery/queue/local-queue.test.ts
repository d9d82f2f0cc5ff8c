import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptResult } from '../../../src/delivery/queue/destination-health.ts';
import { FleetShare } from '../../../src/delivery/queue/fleet-share.ts';
import { LocalQueue, type LocalQueueOptions } from '../../../src/delivery/queue/local-queue.ts';
import type { DestinationKey } from '../../../src/domain/post-url.ts';

const HERE = 'ent_1 https://here.example:443' as DestinationKey;
const THERE = 'ent_2 https://there.example:443' as DestinationKey;
/** So slow that no queue is formed for it. */
const SLOW_MS = 10_000;

type Delivery = { destination: DestinationKey; name?: string; size?: number };

const CAPACITY = { slots: 1_000, queuePlaces: 1_000, bytes: 1_000 };
const sizeOf = ({ size = 0 }: Delivery) => size;

function newQueue(given: Partial<LocalQueueOptions<Delivery>> = {}) {
  return new LocalQueue<Delivery>({ ...CAPACITY, destinationCap: 16, sizeOf, ...given });
}

/** Reserves and enqueues, and starts what may start. Returns how many were reserved. */
function hold(queue: LocalQueue<Delivery>, destination: DestinationKey, most = 1): number {
  const reserved = queue.reserve(destination, most);
  for (let count = 0; count < reserved; count++) queue.enqueue({ destination });
  startAll(queue, destination);
  return reserved;
}

function startAll(queue: LocalQueue<Delivery>, destination: DestinationKey): number {
  let started = 0;
  while (queue.start(destination) !== null) started++;
  return started;
}

function attempt(queue: LocalQueue<Delivery>, result: AttemptResult, times = 1, durationMs = SLOW_MS): void {
  for (let made = 0; made < times; made++) {
    expect(hold(queue, HERE)).toBe(1);
    queue.finish({ destination: HERE }, result, durationMs);
  }
}

describe('a pause', () => {
  test('keeps deliveries from one destination until it ends, and from no other', () => {
    let nowMs = 0;
    const queue = newQueue({ nowMs: () => nowMs });
    expect([hold(queue, HERE), hold(queue, THERE)]).toEqual([1, 1]);
    queue.pause(HERE, 1_000);
    for (const destination of [HERE, THERE]) queue.finish({ destination }, 'other', 0);
    expect([hold(queue, HERE), hold(queue, THERE)]).toEqual([0, 1]);
    expect([queue.pacedForMs(HERE), queue.pacedForMs(THERE), queue.pausedForMs]).toEqual([1_000, 0, 0]);
    nowMs = 1_000;
    expect([hold(queue, HERE), queue.pacedForMs(HERE)]).toEqual([1, 0]);
    queue.checkSums();
  });

  test('keeps deliveries from all destinations until it ends', () => {
    let nowMs = 0;
    const queue = newQueue({ nowMs: () => nowMs });
    queue.pause(null, 1_000);
    expect([hold(queue, HERE), hold(queue, THERE), queue.pausedForMs]).toEqual([0, 0, 1_000]);
    nowMs = 1_000;
    expect([hold(queue, HERE), hold(queue, THERE), queue.pausedForMs]).toEqual([1, 1, 0]);
    queue.checkSums();
  });

  test.each([HERE, null])('gives back the deliveries that wait in the queue of the destination: %p', (paused) => {
    let nowMs = 0;
    const queue = newQueue({ nowMs: () => nowMs, destinationCap: 1 });
    attempt(queue, 'success', 3, 1);
    expect(hold(queue, HERE, 5)).toBe(5);
    queue.pause(paused, 1_000);
    queue.finish({ destination: HERE }, 'other', 0);
    expect(queue.takeOverdue(HERE)).toHaveLength(4);
    nowMs = 1_000;
    expect(hold(queue, HERE)).toBe(1);
    queue.checkSums();
  });
});

describe('a destination', () => {
  test('has one attempt in flight until the first success, then up to its cap, and gets the room back', () => {
    const queue = newQueue({ destinationCap: 3 });
    expect([hold(queue, HERE, 9), queue.inFlight]).toEqual([1, 1]);
    queue.finish({ destination: HERE }, 'success', SLOW_MS);
    attempt(queue, 'success');
    expect([hold(queue, HERE, 9), queue.inFlight]).toEqual([3, 3]);
    expect(hold(queue, THERE, 9)).toBe(1);
    queue.finish({ destination: HERE }, 'other', SLOW_MS);
    expect(hold(queue, HERE, 9)).toBe(1);
  });

  test('that fails is tried one at a time, and a success lets it have more', () => {
    const queue = newQueue();
    attempt(queue, 'success', 5);
    attempt(queue, 'unhealthy');
    expect([hold(queue, HERE, 9), queue.breakersOpen]).toEqual([1, 0]);
    queue.finish({ destination: HERE }, 'unhealthy', SLOW_MS);
    attempt(queue, 'unhealthy', 3);
    expect([queue.breakersOpen, hold(queue, HERE, 9)]).toEqual([1, 1]);
    queue.finish({ destination: HERE }, 'success', SLOW_MS);
    expect([queue.breakersOpen, hold(queue, HERE, 9)]).toEqual([0, 2]);
  });

  test('with more in flight than the window it fell to has no room until they have ended', () => {
    const queue = newQueue();
    attempt(queue, 'success', 5);
    expect(hold(queue, HERE, 10)).toBe(10);
    for (let ended = 0; ended < 9; ended++) {
      queue.finish({ destination: HERE }, 'unhealthy', SLOW_MS);
      expect(queue.reserve(HERE)).toBe(0);
    }
    queue.finish({ destination: HERE }, 'unhealthy', SLOW_MS);
    expect(queue.reserve(HERE)).toBe(1);
  });

  test('whose cap falls starts nothing until it is below the new one, and grows again when the cap rises', () => {
    const queue = newQueue({ destinationCap: 4 });
    attempt(queue, 'success', 3);
    expect(hold(queue, HERE, 9)).toBe(4);
    queue.limitDestinations(new FleetShare(2));
    for (let ended = 0; ended < 2; ended++) {
      queue.finish({ destination: HERE }, 'success', SLOW_MS);
      expect([queue.reserve(HERE), queue.inFlight]).toEqual([0, 3 - ended]);
    }
    queue.finish({ destination: HERE }, 'success', SLOW_MS);
    expect(hold(queue, HERE, 9)).toBe(1);
    queue.limitDestinations(new FleetShare(4));
    queue.finish({ destination: HERE }, 'success', SLOW_MS);
    expect([hold(queue, HERE, 9), queue.inFlight]).toEqual([3, 4]);
    queue.checkSums();
  });

  test('whose cap falls while it has a queue starts no more of that than the new cap', () => {
    const queue = newQueue({ destinationCap: 8 });
    attempt(queue, 'success', 4, 10);
    const reserved = queue.reserve(HERE, 50);
    expect(reserved).toBe(50);
    queue.limitDestinations(new FleetShare(3));
    for (let count = 0; count < reserved; count++) queue.enqueue({ destination: HERE });
    expect(startAll(queue, HERE)).toBe(3);
    queue.limitDestinations(new FleetShare(8));
    queue.finish({ destination: HERE }, 'success', 10);
    queue.finish({ destination: HERE }, 'success', 10);
    expect([startAll(queue, HERE), queue.inFlight]).toEqual([7, 8]);
    queue.checkSums();
  });

  test('that is fast holds a queue, whose deliveries start one after the other in their order', () => {
    const queue = newQueue({ destinationCap: 2 });
    attempt(queue, 'success', 2, 10);
    expect(queue.reserve(HERE, 100)).toBe(22);
    for (let name = 0; name < 22; name++) queue.enqueue({ destination: HERE, name: String(name) });
    expect([startAll(queue, HERE), queue.queued]).toEqual([2, 20]);
    const names = [];
    for (let ended = 0; ended < 20; ended++) {
      queue.finish({ destination: HERE }, 'success', 10);
      names.push(queue.start(HERE)?.name);
      expect([queue.inFlight, queue.start(HERE)]).toEqual([2, null]);
    }
    expect(names).toEqual(Array.from({ length: 20 }, (_, index) => String(index + 2)));
    expect(queue.queued).toBe(0);
  });

  test('is stocked while its queue is more than half full, so that a claim is worth its commit', () => {
    const queue = newQueue({ destinationCap: 2 });
    attempt(queue, 'success', 2, 10);
    expect(queue.isStocked(HERE)).toBe(false);
    hold(queue, HERE, 12);
    expect(queue.isStocked(HERE)).toBe(false);
    hold(queue, HERE);
    expect(queue.isStocked(HERE)).toBe(true);
    expect(queue.reserve(HERE)).toBe(1);
  });

  test('uses the slots of its grown window for what is already queued', () => {
    const queue = newQueue();
    attempt(queue, 'success', 1, 1);
    expect([hold(queue, HERE, 50), queue.inFlight]).toEqual([50, 2]);
    queue.finish({ destination: HERE }, 'success', 1);
    expect([startAll(queue, HERE), queue.inFlight]).toEqual([3, 4]);
  });

  test('starts again with a window of one after ten idle seconds', () => {
    let nowMs = 0;
    const queue = newQueue({ nowMs: () => nowMs });
    attempt(queue, 'success', 5);
    nowMs = 10_000;
    expect(hold(queue, HERE, 16)).toBe(16);
    for (let ended = 0; ended < 16; ended++) queue.finish({ destination: HERE }, 'success', SLOW_MS);
    nowMs = 20_001;
    expect(hold(queue, HERE, 16)).toBe(1);
  });

  test('that is forgotten among very many starts again as untried, and none that holds a delivery is forgotten', () => {
    const queue = newQueue();
    hold(queue, HERE);
    for (let other = 0; other < 52_000; other++) {
      const destination = `ent_3 https://${other}.example:443` as DestinationKey;
      hold(queue, destination);
      queue.finish({ destination }, 'unhealthy', SLOW_MS);
    }
    expect(queue.holds(HERE)).toBe(true);
    expect(queue.healthClass('ent_3 https://0.example:443' as DestinationKey)).toBe('untried');
    expect(queue.healthClass('ent_3 https://51999.example:443' as DestinationKey)).toBe('failing');
    queue.checkSums();
  });
});

describe('a reservation', () => {
  test('keeps its place until it is released', () => {
    const queue = newQueue();
    expect([queue.reserve(HERE), queue.reserve(HERE), queue.holds(HERE)]).toEqual([1, 0, true]);
    queue.release(HERE);
    expect([queue.holds(HERE), queue.freeSlots, queue.reserve(HERE)]).toEqual([false, 1_000, 1]);
  });

  test('of a whole claim is released as far as nothing came for it', () => {
    const queue = newQueue();
    attempt(queue, 'success', 4, 1);
    expect(queue.reserve(HERE, 40)).toBe(40);
    queue.release(HERE, 38);
    for (let count = 0; count < 2; count++) queue.enqueue({ destination: HERE });
    expect([startAll(queue, HERE), queue.freeSlots, queue.queued]).toEqual([2, 998, 0]);
  });

  test('is needed for every delivery', () => {
    const queue = newQueue();
    expect(() => queue.enqueue({ destination: HERE })).toThrow('nothing is held');
    hold(queue, HERE);
    expect(() => queue.enqueue({ destination: HERE })).toThrow('do not add up');
  });

  test('is refused where the slots of all are taken, and costs a destination nothing', () => {
    const queue = newQueue({ slots: 1 });
    hold(queue, HERE);
    expect([queue.reserve(THERE), queue.holds(THERE)]).toEqual([0, false]);
    queue.finish({ destination: HERE }, 'success', 1);
    expect(queue.reserve(THERE)).toBe(1);
  });
});

describe('a queue that does not move', () => {
  test('is handed back after the attempt that follows a second of waiting', () => {
    let nowMs = 0;
    const queue = newQueue({ destinationCap: 2, nowMs: () => nowMs });
    attempt(queue, 'success', 2, 10);
    hold(queue, HERE, 8);
    nowMs = 1_000;
    expect(queue.takeOverdue(HERE)).toEqual([]);
    nowMs = 1_001;
    queue.finish({ destination: HERE }, 'success', 1_001);
    expect(queue.takeOverdue(HERE)).toHaveLength(6);
    expect([queue.queued, queue.inFlight]).toEqual([0, 1]);
    queue.checkSums();
  });

  test('is handed back when its destination opens its breaker', () => {
    const queue = newQueue({ destinationCap: 8 });
    attempt(queue, 'success', 4, 10);
    hold(queue, HERE, 30);
    for (let failed = 0; failed < 4; failed++) queue.finish({ destination: HERE }, 'unhealthy', 1);
    expect(queue.takeOverdue(HERE)).toEqual([]);
    queue.finish({ destination: HERE }, 'unhealthy', 1);
    expect(queue.takeOverdue(HERE)).toHaveLength(22);
  });

  test('is handed back when the process stops', () => {
    const queue = newQueue({ destinationCap: 2 });
    attempt(queue, 'success', 2, 10);
    hold(queue, HERE, 8);
    queue.reserve(THERE);
    queue.enqueue({ destination: THERE });
    expect(queue.drain()).toHaveLength(7);
    expect([queue.inFlight, queue.queued, queue.freeSlots]).toEqual([2, 0, 998]);
  });
});

describe('deliveries with large bodies', () => {
  const enqueue = (queue: LocalQueue<Delivery>, delivery: Delivery) => {
    const isReserved = queue.reserve(delivery.destination) === 1;
    if (isReserved) queue.enqueue(delivery);
    return isReserved;
  };

  test('of one entity take half of the memory, and leave the rest to others', () => {
    const queue = newQueue({ bytes: 1_000 });
    let held = 0;
    const destinationOf = (host: number) => `ent_1 https://${host}.example:443` as DestinationKey;
    while (enqueue(queue, { destination: destinationOf(held), size: 100 })) held++;
    expect(held).toBe(6);
    expect(enqueue(queue, { destination: THERE, size: 100 })).toBe(true);
    queue.checkSums();
  });

  test('give the memory back when they are finished or taken out of the queue', () => {
    const queue = newQueue({ bytes: 1_000, destinationCap: 2 });
    attempt(queue, 'success', 2, 10);
    const first = { destination: HERE, size: 900 };
    expect(enqueue(queue, first)).toBe(true);
    expect(queue.start(HERE)).toBe(first);
    expect(queue.reserve(HERE)).toBe(0);
    queue.finish(first, 'success', 10);
    expect(enqueue(queue, { destination: HERE, size: 900 })).toBe(true);
    queue.drain();
    expect(queue.reserve(HERE)).toBe(1);
    queue.checkSums();
  });
});

const RESULTS: readonly AttemptResult[] = ['success', 'success', 'unhealthy', 'other'];

test('whatever happens, the sums hold, and no limit is passed', () => {
  const step = fc.record({
    destination: fc.integer({ min: 0, max: 11 }),
    action: fc.constantFrom(
      'reserve',
      'enqueue',
      'release',
      'start',
      'finish',
      'overdue',
      'wait',
      'drain',
      'limit' as const,
    ),
    amount: fc.integer({ min: 1, max: 40 }),
  });
  const sizes = fc.record({ slots: fc.integer({ min: 1, max: 60 }), queuePlaces: fc.integer({ min: 0, max: 60 }) });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 300 }), (size, firstCap, steps) => {
      let nowMs = 0;
      let cap = firstCap;
      const queue = newQueue({ ...size, destinationCap: cap, nowMs: () => nowMs });
      const reserved = new Map<DestinationKey, number>();
      const inFlight = new Map<DestinationKey, number>();
      const add = (counts: typeof reserved, key: DestinationKey, count: number) =>
        counts.set(key, (counts.get(key) ?? 0) + count);
      for (const { destination, action, amount } of steps) {
        const key = `ent_${destination % 3} https://${destination}.example:443` as DestinationKey;
        const waiting = Math.min(amount, reserved.get(key) ?? 0);
        if (action === 'reserve') add(reserved, key, queue.reserve(key, amount));
        if (action === 'release' && waiting > 0) queue.release(key, waiting);
        if (action === 'enqueue') for (let count = 0; count < waiting; count++) queue.enqueue({ destination: key });
        if (action === 'release' || action === 'enqueue') add(reserved, key, -waiting);
        if (action === 'limit') {
          cap = Math.ceil(amount / 5);
          queue.limitDestinations(new FleetShare(cap));
        }
        if (action === 'start') {
          const before = inFlight.get(key) ?? 0;
          add(inFlight, key, startAll(queue, key));
          expect(inFlight.get(key) ?? 0).toBeLessThanOrEqual(Math.max(before, cap));
        }
        if (action === 'finish' && (inFlight.get(key) ?? 0) > 0) {
          queue.finish({ destination: key }, RESULTS[amount % RESULTS.length] ?? 'other', amount);
          add(inFlight, key, -1);
        }
        if (action === 'overdue') queue.takeOverdue(key);
        if (action === 'wait') nowMs += amount * 100;
        if (action === 'drain') queue.drain();
        queue.checkSums();
        expect(queue.freeSlots).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 300 },
  );
});
