import { expect, test } from 'bun:test';
import { ClaimPlanner } from '../../src/delivery/claim-plan.ts';
import { Destinations } from '../../src/delivery/destinations.ts';
import { destinationKey } from '../../src/store/events.ts';
import { accept, acceptMany, addReceiver, claim, forgetDeliveries, newEvent } from '../support/deliveries.ts';
import { onEveryEngine, type TestStore } from '../support/stores.ts';
import { newEntity } from '../support/webhooks.ts';

const urlOf = (name: string) => `https://${name}.example/`;

/** An entity with a webhook at each of the named hosts and that many events for all of them. */
async function seed(store: TestStore, names: readonly string[], events: number) {
  await forgetDeliveries(store.db);
  const entityId = await newEntity(store.db);
  for (const name of names) await addReceiver(store.db, entityId, urlOf(name));
  await acceptMany(store.db, entityId, events);
  const key = (name: string) => destinationKey(entityId, urlOf(name));
  const nameOf = (destination: string) => names.find((name) => key(name) === destination) ?? destination;
  return { entityId, key, nameOf };
}

onEveryEngine('a plan of what to claim', (store) => {
  test('gives each destination in turn as much as it has room for', async () => {
    const { key, nameOf } = await seed(store, ['a', 'b', 'c'], 2);
    const destinations = new Destinations(4);
    destinations.begin(key('b'));
    const { picks } = await new ClaimPlanner(store.db, destinations).plan(100);
    expect(picks.map(({ destination, most }) => [nameOf(destination), most])).toEqual([
      ['a', 4],
      ['b', 3],
      ['c', 4],
    ]);
  });

  test('goes on where the last one ended, so that none takes all and every one gets its turn', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const { nameOf } = await seed(store, names, 20);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    const turns = [];
    for (let turn = 0; turn < 5; turn++) {
      const { picks } = await planner.plan(8);
      turns.push(picks.map(({ destination, most }) => nameOf(destination) + most).join(' '));
    }
    expect(turns).toEqual(['a4 b4', 'c4 d4', 'e4 a4', 'b4 c4', 'd4 e4']);
  });

  test('names no destination twice, however much room there is', async () => {
    const { nameOf } = await seed(store, ['a', 'b', 'c'], 20);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    await planner.plan(4);
    const { picks } = await planner.plan(1_000);
    expect(picks.map(({ destination }) => nameOf(destination))).toEqual(['b', 'c', 'a']);
  });

  test('never reserves more than the room there is', async () => {
    await seed(store, ['a', 'b', 'c'], 20);
    const { picks, more } = await new ClaimPlanner(store.db, new Destinations(16)).plan(20);
    expect(picks.map(({ most }) => most)).toEqual([16, 4]);
    expect(more).toBe(true);
  });

  test('passes over a destination without room, and says that something was left behind', async () => {
    const { key, nameOf } = await seed(store, ['dead', 'well'], 5);
    const destinations = new Destinations(1);
    destinations.begin(key('dead'));
    const planner = new ClaimPlanner(store.db, destinations);
    for (let turn = 0; turn < 3; turn++) {
      const { picks, leftBehind, more } = await planner.plan(100);
      expect(picks.map(({ destination }) => nameOf(destination))).toEqual(['well']);
      expect([leftBehind, more]).toEqual([true, false]);
    }
  });

  test('takes nothing that is due later, and says how long until the first of it is', async () => {
    const { entityId } = await seed(store, ['a'], 0);
    const planner = new ClaimPlanner(store.db, new Destinations(4));
    expect(await planner.plan(10)).toEqual({ picks: [], more: false, leftBehind: false, nextDueInMs: null });
    await accept(store.db, newEvent(entityId, { firstDelayMs: 90_000 }), newEvent(entityId, { firstDelayMs: 60_000 }));
    const { picks, nextDueInMs } = await planner.plan(10);
    expect(picks).toEqual([]);
    expect(nextDueInMs).toBeWithin(30_000, 60_001);
  });

  test('takes nothing that is leased', async () => {
    const { entityId } = await seed(store, ['a', 'b'], 3);
    await claim(store.db, entityId, 100, urlOf('a'));
    const { picks } = await new ClaimPlanner(store.db, new Destinations(4)).plan(10);
    expect(picks.map(({ destination }) => destination)).toEqual([destinationKey(entityId, urlOf('b'))]);
  });

  test('finds the last of more destinations than one read of the index brings', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    const { nameOf } = await seed(store, names, 1);
    const planner = new ClaimPlanner(store.db, new Destinations(1));
    const first = await planner.plan(500);
    const second = await planner.plan(500);
    const seen = [...first.picks, ...second.picks].map(({ destination }) => nameOf(destination));
    expect(seen.slice(0, 600)).toEqual(names);
    expect(new Set(seen)).toEqual(new Set(names));
  });
});
