import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ClaimPlanner, type Plan } from '../../../src/delivery/queue/claim-planner.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import type { DestinationKey } from '../../../src/domain/post-url.ts';

type Delivery = { destination: DestinationKey };

/** The destination of a name such as a1, whose first letter is the entity. */
const key = (name: string) => `${name[0]} ${name}` as DestinationKey;
const keys = (...names: readonly string[]) => names.map(key);
const named = ({ claims }: Plan) =>
  claims.map(({ destination, limit }) => `${destination.slice(2)}:${limit}`).join(' ');

function newPlanner(given: { slots?: number; destinationCap?: number } = {}) {
  const capacity = { slots: 1_000, queuePlaces: 1_000, bytes: 0 };
  const queue = new LocalQueue<Delivery>({ ...capacity, destinationCap: 4, sizeOf: () => 0, ...given });
  const planner = new ClaimPlanner(queue);
  planner.noteScanned();
  return { queue, planner };
}

/** Lets attempts to the destination succeed until its window is open; slow, so that it holds no queue. */
function prove(queue: LocalQueue<Delivery>, destination: DestinationKey, durationMs = 10_000): void {
  for (let attempts = 0; attempts < 5; attempts++) {
    queue.reserve(destination);
    queue.enqueue({ destination });
    queue.start(destination);
    queue.finish({ destination }, 'success', durationMs);
  }
}

/** The claim brings all that was asked for, or as many as the store has. */
function claim(
  { queue, planner }: ReturnType<typeof newPlanner>,
  { claims: planned }: Plan,
  store?: Map<DestinationKey, number>,
) {
  const started: DestinationKey[] = [];
  const claims = planned.map(({ destination, limit }) => {
    const found = Math.min(limit, store?.get(destination) ?? (store === undefined ? limit : 0));
    store?.set(destination, (store.get(destination) ?? 0) - found);
    for (let count = 0; count < found; count++) queue.enqueue({ destination });
    return { destination, limit, enqueued: found, mayHaveMore: found === limit };
  });
  planner.noteClaimed(claims);
  for (const { destination } of planned) while (queue.start(destination) !== null) started.push(destination);
  return started;
}

describe('a plan of what to claim', () => {
  test('is over for all of its destinations, although the places of one cannot be released', () => {
    const { planner } = newPlanner();
    planner.wake(keys('a1', 'b1', 'c1'));
    const { claims } = planner.plan();
    const made = claims.map((claim) => ({ ...claim, enqueued: 0, mayHaveMore: true }));
    const wrong = made.map((claim, index) => (index === 0 ? { ...claim, limit: 9 } : claim));
    expect(() => planner.noteClaimed(wrong)).toThrow('do not add up');
    expect(planner.waiting).toBe(3);
  });

  test('gives each destination as much as it has room for, and reserves it', () => {
    const { queue, planner } = newPlanner();
    prove(queue, key('b1'));
    queue.reserve(key('b1'));
    planner.wake(keys('a1', 'b1', 'c1'));
    expect(named(planner.plan())).toBe('b1:3 a1:1 c1:1');
    expect([queue.freeSlots, queue.reserve(key('b1'))]).toEqual([994, 0]);
  });

  test('gives turns to the proven, the untried and the failing, and to the proven twice', () => {
    const { queue, planner } = newPlanner();
    for (const name of ['a1', 'b1', 'c1', 'd1', 'e1']) prove(queue, key(name));
    for (const name of ['v1', 'w1']) {
      queue.reserve(key(name));
      queue.enqueue({ destination: key(name) });
      queue.start(key(name));
      queue.finish({ destination: key(name) }, 'unhealthy', 1);
    }
    planner.wake(keys('v1', 'w1', 'x1', 'y1', 'a1', 'b1', 'c1', 'd1', 'e1'));
    expect(named(planner.plan())).toBe('a1:4 x1:1 b1:4 v1:1 c1:4 y1:1 d1:4 w1:1 e1:4');
  });

  test('gives turns to entities: thousands of destinations of one delay another by two', () => {
    const { planner } = newPlanner();
    planner.wake(Array.from({ length: 5_000 }, (_, index) => key(`a${index}`)));
    planner.wake(keys('b1'));
    expect(named(planner.plan())).toStartWith('a0:1 a1:1 b1:1 a2:1');
  });

  test('is bounded by destinations, and says that there are more', () => {
    const { planner } = newPlanner({ slots: 10_000 });
    planner.wake(Array.from({ length: 100 }, (_, index) => key(`a${index}`)));
    const first = planner.plan();
    expect([first.claims.length, first.isCut]).toEqual([64, true]);
    const second = planner.plan();
    expect([second.claims.length, second.isCut]).toEqual([36, false]);
  });

  test('is bounded by rows, for one destination and in all', () => {
    const { queue, planner } = newPlanner({ destinationCap: 16 });
    for (const name of ['a1', 'b1', 'c1']) prove(queue, key(name), 1);
    planner.wake(keys('a1', 'b1', 'c1'));
    const plan = planner.plan();
    expect([named(plan), plan.isCut]).toEqual(['a1:256 b1:128', true]);
    expect(named(planner.plan())).toBe('c1:256');
  });

  test('names a destination again that gave all that was asked for, and no other', () => {
    const { queue, planner } = newPlanner();
    for (const name of ['a1', 'b1']) prove(queue, key(name));
    planner.wake(keys('a1', 'b1'));
    const { claims } = planner.plan();
    planner.noteClaimed(claims.map((one) => ({ ...one, enqueued: 0, mayHaveMore: one.destination === key('b1') })));
    expect(queue.freeSlots).toBe(1_000);
    expect([planner.mayHaveOlder(key('a1')), planner.mayHaveOlder(key('b1'))]).toEqual([false, true]);
    expect(named(planner.plan())).toBe('b1:4');
  });

  test('names again what could not be claimed, and keeps no reservation for it', () => {
    const { queue, planner } = newPlanner();
    planner.wake(keys('a1', 'b1'));
    const plan = planner.plan();
    expect(planner.mayHaveOlder(key('a1'))).toBe(true);
    planner.noteFailed(plan.claims);
    expect(queue.freeSlots).toBe(1_000);
    expect(named(planner.plan())).toBe('a1:1 b1:1');
  });

  test('passes over a destination without room until one of its attempts has ended', () => {
    const parts = newPlanner();
    const { queue, planner } = parts;
    planner.wake(keys('a1', 'b1'));
    claim(parts, planner.plan());
    planner.wake(keys('a1', 'b1'));
    expect([named(planner.plan()), planner.waiting, planner.mayHaveOlder(key('a1'))]).toEqual(['', 0, true]);
    queue.finish({ destination: key('a1') }, 'success', 10_000);
    expect(planner.noteReleased(key('a1'))).toBe(true);
    expect(named(planner.plan())).toBe('a1:2');
    queue.finish({ destination: key('b1') }, 'unhealthy', 10_000);
    expect(planner.noteReleased(key('b1'))).toBe(true);
    expect(named(planner.plan())).toBe('b1:1');
  });

  test('passes over a destination whose queue is more than half full', () => {
    const { queue, planner } = newPlanner();
    prove(queue, key('a1'), 10);
    const reserved = queue.reserve(key('a1'), 100);
    planner.wake(keys('a1'));
    expect(named(planner.plan())).toBe('');
    queue.release(key('a1'), reserved - 10);
    expect(planner.noteReleased(key('a1'))).toBe(true);
    expect(planner.plan().claims).toHaveLength(1);
  });

  test('asks an entity that was refused a slot only when one has become free, and others at once', () => {
    const parts = newPlanner({ slots: 16 });
    const { queue, planner } = parts;
    planner.wake(Array.from({ length: 20 }, (_, index) => key(`a${index}`)));
    const plan = planner.plan();
    expect(plan.claims).toHaveLength(6);
    claim(parts, plan);
    planner.wake(keys('b1'));
    expect(named(planner.plan())).toBe('b1:1');
    expect(planner.plan()).toEqual({ claims: [], isCut: false });
    queue.finish({ destination: key('a0') }, 'success', 10_000);
    expect(planner.noteReleased(key('a0'))).toBe(true);
    expect(named(planner.plan())).toBe('a7:1');
  });
});

/** The same numbers for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('before the first scan any destination may have older deliveries', () => {
  const queue = new LocalQueue<Delivery>({ slots: 1, queuePlaces: 0, bytes: 0, destinationCap: 1, sizeOf: () => 0 });
  const planner = new ClaimPlanner(queue);
  expect(planner.mayHaveOlder(key('a1'))).toBe(true);
  planner.noteScanned();
  expect(planner.mayHaveOlder(key('a1'))).toBe(false);
});

test('a destination that is woken while a claim for it is made is planned again, though the claim found less', () => {
  const { planner } = newPlanner();
  planner.wake(keys('a1'));
  const { claims } = planner.plan();
  planner.wake(keys('a1'));
  planner.noteClaimed(claims.map((claim) => ({ ...claim, enqueued: 0, mayHaveMore: false })));
  expect(named(planner.plan())).toBe('a1:1');
});

test('no destination is ever forgotten, whatever the slots, the order and the results', () => {
  const due = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), host: fc.nat(6), count: fc.nat(4) });
  const sizes = { slots: fc.integer({ min: 1, max: 12 }), destinationCap: fc.integer({ min: 1, max: 3 }) };
  const script = fc.record({ ...sizes, due: fc.array(due), seed: fc.nat() });
  fc.assert(
    fc.property(script, ({ slots, destinationCap, due, seed }) => {
      const parts = newPlanner({ slots, destinationCap });
      const { queue, planner } = parts;
      const store = new Map<DestinationKey, number>();
      const inFlight: DestinationKey[] = [];
      const random = randomFrom(seed);
      const put = (destination: DestinationKey, count: number) => {
        store.set(destination, (store.get(destination) ?? 0) + count);
        planner.wake([destination]);
      };
      const step = () => {
        const plan = planner.plan();
        if (random(8) === 0) planner.noteFailed(plan.claims);
        else inFlight.push(...claim(parts, plan, store));
        const [ended] = inFlight.splice(random(inFlight.length), 1);
        if (ended === undefined) return;
        queue.finish({ destination: ended }, random(3) === 0 ? 'unhealthy' : 'success', 1);
        for (const { destination } of queue.takeOverdue(ended)) put(destination, 1);
        while (queue.start(ended) !== null) inFlight.push(ended);
        planner.noteReleased(ended);
        queue.checkSums();
      };
      for (const { name, host, count } of due) {
        put(key(name + host), count);
        step();
      }
      for (let steps = 0; steps < 2_000 && (inFlight.length > 0 || planner.waiting > 0); steps++) step();
      expect([...store.values()].reduce((sum, count) => sum + count, 0)).toBe(0);
      expect([queue.freeSlots, queue.queued, planner.waiting]).toEqual([slots, 0, 0]);
    }),
    { numRuns: 500 },
  );
});
