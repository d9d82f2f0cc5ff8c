import { expect, test } from 'bun:test';
import { ClaimPlanner, type Plan } from '../../../src/delivery/queue/claim-planner.ts';
import { Destinations } from '../../../src/delivery/queue/destination-health.ts';
import { destinationKey } from '../../../src/domain/destination.ts';
import { accept, acceptMany, addReceiver, claim, forgetDeliveries, newEvent } from '../../support/deliveries.ts';
import { alteredStore, onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity, seedWebhooks } from '../../support/webhooks.ts';

const urlOf = (name: string) => `https://${name}.example/`;

/** An entity with a webhook at each of the named hosts and that many events for all of them. */
async function seed(store: TestStore, names: readonly string[], events: number) {
  await forgetDeliveries(store.db);
  const entityId = await newEntity(store.db);
  for (const name of names) await addReceiver(store.db, entityId, urlOf(name));
  await acceptMany(store.db, entityId, events);
  const key = (name: string) => destinationKey(entityId, urlOf(name));
  const nameOf = (destination: string) => names.find((name) => key(name) === destination) ?? destination;
  const named = ({ claims }: Plan) => claims.map(({ destination, limit }) => nameOf(destination) + limit).join(' ');
  return { entityId, key, nameOf, named };
}

/** Every read of the index is counted. */
function countingReads(store: TestStore) {
  const counts = { reads: 0 };
  const all: typeof store.db.all = (...query) => {
    counts.reads++;
    return store.db.all(...query);
  };
  return { db: alteredStore(store.db, { all }), counts };
}

onEveryEngine('a plan of what to claim', (store) => {
  test('claims for each destination as many as it has free slots for', async () => {
    const { key, named } = await seed(store, ['a', 'b', 'c'], 2);
    const destinations = new Destinations(4);
    destinations.reserve(key('b'));
    expect(named(await new ClaimPlanner(store.db, destinations).plan(100))).toBe('a4 b3 c4');
  });

  test('continues round-robin where the last one ended', async () => {
    const { named } = await seed(store, ['a', 'b', 'c', 'd', 'e'], 20);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    const plans = [];
    for (let round = 0; round < 5; round++) {
      const plan = await planner.plan(8);
      plans.push(named(plan));
      planner.noteClaimed(plan.claims.map(({ destination }) => destination));
    }
    expect(plans).toEqual(['a4 b4', 'c4 d4', 'e4 a4', 'b4 c4', 'd4 e4']);
  });

  test('never claims more than the free slots, and is ready again if there is more', async () => {
    const { named } = await seed(store, ['a', 'b', 'c'], 20);
    const planner = new ClaimPlanner(store.db, new Destinations(16));
    expect(named(await planner.plan(20))).toBe('a16 b4');
    expect(planner.isReady).toBe(true);
  });

  test('keeps a destination that came up when others had just taken all slots', async () => {
    const { key, named } = await seed(store, ['a', 'b'], 2);
    const destinations = new Destinations(4, 4);
    const planner = new ClaimPlanner(store.db, destinations);
    for (let taken = 0; taken < 4; taken++) destinations.reserve(key('a'));
    // There were free slots when the plan was asked for.
    expect(named(await planner.plan(4))).toBe('');
    for (let left = 0; left < 4; left++) destinations.release(key('a'));
    expect(named(await planner.plan(4))).toContain('b');
  });

  test('claims again for a destination whose claim was filled, and for no other', async () => {
    const { key, named } = await seed(store, ['a', 'b'], 20);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    await planner.plan(100);
    planner.noteClaimed([key('b')]);
    expect(named(await planner.plan(100))).toBe('b4');
    planner.noteClaimed([]);
    expect(await planner.plan(100)).toMatchObject({ claims: [] });
  });

  test('claims again what could not be claimed', async () => {
    const { named } = await seed(store, ['a', 'b'], 1);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    expect(named(await planner.plan(100))).toBe('a4 b4');
    expect(named(await planner.plan(100))).toBe('a4 b4');
  });

  test('skips a destination without a free slot until one of its attempts has ended', async () => {
    const { key, named } = await seed(store, ['dead', 'well'], 5);
    const destinations = new Destinations(1);
    destinations.reserve(key('dead'));
    const planner = new ClaimPlanner(store.db, destinations);
    expect(named(await planner.plan(100))).toBe('well1');
    planner.noteClaimed([]);
    planner.wake([key('dead')]);
    expect(planner.isReady).toBe(false);
    expect(planner.noteReleased(key('well'))).toBe(false);
    destinations.release(key('dead'));
    expect(planner.noteReleased(key('dead'))).toBe(true);
    expect(named(await planner.plan(100))).toBe('dead1');
  });

  test('claims nothing that is due later, and says when the first of it is due', async () => {
    const { entityId } = await seed(store, ['a'], 0);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    await accept(store.db, newEvent(entityId, { firstDelayMs: 90_000 }), newEvent(entityId, { firstDelayMs: 600 }));
    const { claims, nextPlanInMs } = await planner.plan(10);
    expect(claims).toEqual([]);
    expect(nextPlanInMs).toBeWithin(0, 601);
  });

  test('claims nothing that is leased', async () => {
    const { entityId, named } = await seed(store, ['a', 'b'], 3);
    await claim(store.db, entityId, 100, urlOf('a'));
    expect(named(await new ClaimPlanner(store.db, new Destinations(4)).plan(10))).toBe('b4');
  });

  test('reads nothing when woken for a destination, and scans when scheduled or after a second', async () => {
    const { key, named } = await seed(store, ['a', 'b'], 1);
    const { db, counts } = countingReads(store);
    let nowMs = 1_000;
    const planner = new ClaimPlanner(db, new Destinations(4), () => nowMs);
    await planner.plan(100);
    planner.noteClaimed([]);
    planner.wake([key('b'), key('b')]);
    const plan = await planner.plan(100);
    expect([named(plan), counts.reads, plan.nextPlanInMs]).toEqual(['b4', 1, 1_000]);
    planner.noteClaimed([]);
    planner.scheduleScan(0);
    expect(named(await planner.plan(100))).toBe('a4 b4');
    planner.noteClaimed([]);
    nowMs += 1_000;
    expect(named(await planner.plan(100))).toBe('a4 b4');
    expect(counts.reads).toBe(3);
  });

  test('scans many destinations a window at a time, with a rest after the last that no schedule shortens', async () => {
    await forgetDeliveries(store.db);
    const entityId = await newEntity(store.db);
    const names = Array.from({ length: 600 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    await seedWebhooks(
      store.db,
      entityId,
      names.map((name) => ({ networkId: 1, event: 'LatePayment', postUrl: urlOf(name) })),
    );
    await accept(store.db, newEvent(entityId, { firstDelayMs: 3_600_000 }));
    let nowMs = 1_000;
    const { db, counts } = countingReads(store);
    // Every read takes ten milliseconds of this clock.
    const slow = alteredStore(db, {
      all: (...query) => {
        nowMs += 10;
        return db.all(...query);
      },
    });
    const planner = new ClaimPlanner(slow, new Destinations(1), () => nowMs);
    const nextPlans = [];
    for (let plans = 0; plans < 3; plans++) {
      planner.scheduleScan(0);
      nextPlans.push((await planner.plan(500)).nextPlanInMs);
    }
    expect([counts.reads, nextPlans]).toEqual([3, [0, 0, 270]]);
    planner.wake([destinationKey(entityId, urlOf('n0599'))]);
    expect((await planner.plan(500)).claims).toHaveLength(1);
    expect(counts.reads).toBe(3);
    nowMs += 270;
    await planner.plan(500);
    expect(counts.reads).toBe(4);
  });

  test('finds the last of more destinations than one read of the index brings', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    const { nameOf } = await seed(store, names, 1);
    const planner = new ClaimPlanner(store.db, new Destinations(1));
    const seen: string[] = [];
    for (let plans = 0; plans < 3; plans++) {
      const { claims } = await planner.plan(500);
      planner.noteClaimed([]);
      seen.push(...claims.map(({ destination }) => nameOf(destination)));
    }
    expect(seen).toEqual(names);
  });
});
