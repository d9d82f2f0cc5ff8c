import { describe, expect, test } from 'bun:test';
import { ClaimPlanner } from '../../../src/delivery/queue/claim-planner.ts';
import { FleetShare } from '../../../src/delivery/queue/fleet-share.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import { Pace } from '../../../src/delivery/queue/pace.ts';
import { type DestinationKey, destinationKey } from '../../../src/domain/post-url.ts';

const URL_OF_HOOK = 'https://hooks.example.com/paybell';

describe('the pace of a destination', () => {
  test.each([
    [1, 1],
    [10, 1],
    [50, 3],
    [1_000, 2],
    [7, 4],
  ])('of %d requests a second on %d instances is kept in every second, and used up', (perSecond, instances) => {
    const share = { instances };
    const paces = Array.from({ length: instances }, () => new Pace(perSecond, share, 0));
    const starts: number[] = [];
    for (let nowMs = 0; nowMs < 20_000; nowMs++) {
      for (const pace of paces) {
        while (pace.available(nowMs) > 0) {
          pace.take(nowMs);
          starts.push(nowMs);
        }
      }
    }
    // A tenth of a second may come at once, and at least one from every instance.
    const burst = Math.max(instances, perSecond / 10);
    for (let fromMs = 0; fromMs < 19_000; fromMs += 250) {
      const inSecond = starts.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length;
      expect(inSecond).toBeLessThanOrEqual(Math.ceil(perSecond + burst));
    }
    expect(starts.length).toBeGreaterThanOrEqual(Math.floor(perSecond * 20 * 0.95));
  });

  test('says how long until the next request may start', () => {
    const pace = new Pace(10, { instances: 1 }, 0);
    pace.take(0);
    expect(pace.waitMs(1, 0)).toBeCloseTo(100);
    expect(pace.waitMs(1, 60)).toBeCloseTo(40);
    expect([pace.available(99), pace.available(101)]).toEqual([0, 1]);
  });
});

describe('a destination with a rate limit', () => {
  const paced = destinationKey('ent_1', URL_OF_HOOK, { endpointNo: 7, perSecond: 10 });
  const other = destinationKey('ent_1', URL_OF_HOOK);

  const newQueue = () => {
    /** Goes on by 2 ms after so many reads. */
    const clock: { nowMs: number; stepAfter: number | null } = { nowMs: 0, stepAfter: null };
    const read = () => {
      if (clock.stepAfter !== null && clock.stepAfter-- === 0) clock.nowMs += 2;
      return clock.nowMs;
    };
    const queue = new LocalQueue<{ destination: DestinationKey }>({
      slots: 100,
      queuePlaces: 100,
      bytes: 1_000,
      destinationCap: 16,
      sizeOf: () => 1,
      nowMs: read,
    });
    /** Reserves, starts and ends as many as it may. */
    const send = (destination: DestinationKey, most: number): number => {
      const reserved = queue.reserve(destination, most);
      for (let count = 0; count < reserved; count++) queue.enqueue({ destination });
      for (;;) {
        const delivery = queue.start(destination);
        if (delivery === null) break;
        queue.finish(delivery, 'success', 1);
      }
      queue.checkSums();
      return reserved;
    };
    return { clock, queue, send };
  };

  test('holds no more than may start, while others on its host go on', () => {
    const { clock, queue, send } = newQueue();
    expect(send(paced, 5)).toBe(1);
    expect(send(paced, 5)).toBe(0);
    expect(queue.pacedForMs(paced)).toBeCloseTo(100);
    expect(queue.pacedForMs(other)).toBe(0);
    expect(send(other, 1)).toBe(1);
    clock.nowMs = 101;
    expect(queue.pacedForMs(paced)).toBe(0);
    expect(send(paced, 5)).toBe(1);
  });

  test('counts no reservation for which nothing came', () => {
    const { queue } = newQueue();
    expect(queue.reserve(paced, 3)).toBe(1);
    expect(queue.reserve(paced, 3)).toBe(0);
    queue.release(paced);
    expect(queue.reserve(paced, 3)).toBe(1);
  });

  test('has its share of the rate on each of several instances', () => {
    const { clock, queue, send } = newQueue();
    const twice = destinationKey('ent_1', URL_OF_HOOK, { endpointNo: 7, perSecond: 20 });
    expect(send(twice, 1)).toBe(1);
    queue.limitDestinations(new FleetShare(16, 'ins_1', ['ins_1', 'ins_2']));
    clock.nowMs = 99;
    expect(send(twice, 5)).toBe(1);
    expect(queue.pacedForMs(twice)).toBeCloseTo(100);
    clock.nowMs = 200;
    expect(send(twice, 5)).toBe(1);
  });

  test('leaves the plan until its next request may start, and is not overtaken by what comes meanwhile', () => {
    const { clock, queue, send } = newQueue();
    const timers: { destination: DestinationKey; inMs: number }[] = [];
    const planner = new ClaimPlanner(queue, (destination, inMs) => timers.push({ destination, inMs }));
    planner.noteScanned();
    send(paced, 1);
    planner.wake([paced]);
    expect(planner.plan()).toEqual({ claims: [], isCut: false });
    expect(timers).toEqual([{ destination: paced, inMs: expect.closeTo(100) }]);
    expect([planner.waiting, planner.mayHaveOlder(paced)]).toEqual([0, true]);
    planner.wake([paced]);
    expect(planner.plan().claims).toEqual([]);
    clock.nowMs = 101;
    planner.notePaced(paced);
    expect(planner.plan().claims).toEqual([{ destination: paced, limit: 1 }]);
  });

  test('whose time comes while it is planned is claimed for, or planned again after it', () => {
    const { clock, queue, send } = newQueue();
    send(paced, 1);
    for (let reads = 0; reads < 8; reads++) {
      const timers: DestinationKey[] = [];
      const planner = new ClaimPlanner(queue, (destination) => timers.push(destination));
      planner.wake([paced]);
      // The time comes just before the clock is read for the first, second … time.
      clock.nowMs += 99;
      clock.stepAfter = reads;
      const { claims } = planner.plan();
      expect({ reads, ends: claims.length + timers.length }).toEqual({ reads, ends: 1 });
      for (const { destination, limit } of claims) queue.release(destination, limit);
      clock.stepAfter = null;
      clock.nowMs += 200;
      send(paced, 1);
    }
  });
});
