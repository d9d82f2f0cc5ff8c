import { expect, test } from 'bun:test';
import { DestinationScan } from '../../../src/delivery/queue/destination-scan.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  forgetDeliveries,
  newEvent,
  readDeliveries,
} from '../../support/deliveries.ts';
import { alteredStore, onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { newEntity, seedWebhooks } from '../../support/webhooks.ts';

const urlOf = (name: string) => `https://${name}.example/`;
const MANY = Array.from({ length: 600 }, (_, index) => `n${String(index).padStart(4, '0')}`);

/** An entity with a webhook at each of the named hosts and that many events for all of them. */
async function seed(store: TestStore, names: readonly string[], events: number) {
  await forgetDeliveries(store.db);
  const entityId = await newEntity(store.db);
  await seedWebhooks(
    store.db,
    entityId,
    names.map((name) => ({ networkId: 1, event: 'LatePayment', postUrl: urlOf(name) })),
  );
  await acceptMany(store.db, entityId, events);
  const nameOf = (destination: string) =>
    names.find((name) => destinationKey(entityId, urlOf(name)) === destination) ?? destination;
  const found = async (scan: DestinationScan) => (await scan.next()).map(nameOf).join(' ');
  return { entityId, found };
}

/** Every read of the index is counted, and takes that long by the clock of the scan. */
function timed(store: TestStore, readMs = 0) {
  const state = { reads: 0, nowMs: 1_000 };
  const all: typeof store.db.all = (...query) => {
    state.reads++;
    state.nowMs += readMs;
    return store.db.all(...query);
  };
  const scan = new DestinationScan(alteredStore(store.db, { all }), () => state.nowMs);
  return { scan, state };
}

onSuiteEngine('a scan of the destinations', (store) => {
  test('finds each where something is due', async () => {
    const { found } = await seed(store, ['a', 'b', 'c'], 2);
    expect(await found(new DestinationScan(store.db))).toBe('a b c');
  });

  test('finds nothing that is due later, and says how long until the first of it is', async () => {
    const { entityId, found } = await seed(store, ['a'], 0);
    await accept(store.db, newEvent(entityId, { firstDelayMs: 90_000 }), newEvent(entityId, { firstDelayMs: 60_000 }));
    const dueMs = (await readDeliveries(store.db, entityId)).map((delivery) => delivery.dueMs ?? 0);
    // Both clocks stand still 600 ms before the first is due, however long the statements take.
    const dialect = { ...store.db.dialect, nowMs: String(Math.min(...dueMs) - 600) };
    const db = alteredStore(store.db, { dialect });
    const scan = new DestinationScan(db, () => 1_000);
    // A new head is looked at once, and then when the first of its deliveries is due.
    expect(await claim(db, entityId, 100, urlOf('a'))).toEqual([]);
    expect(await found(scan)).toBe('');
    expect(scan.nextInMs).toBe(600);
  });

  test('finds nothing that is leased', async () => {
    const { entityId, found } = await seed(store, ['a', 'b'], 3);
    await addReceiver(store.db, entityId, urlOf('c'));
    await claim(store.db, entityId, 100, urlOf('a'));
    expect(await found(new DestinationScan(store.db))).toBe('b');
  });

  test('is made again when it is asked for or when a second has passed, and not before', async () => {
    const { found } = await seed(store, ['a', 'b'], 1);
    const { scan, state } = timed(store);
    expect([scan.isComplete, await found(scan), scan.isComplete]).toEqual([false, 'a b', true]);
    expect([scan.nextInMs, await found(scan), state.reads]).toEqual([1_000, '', 1]);
    scan.schedule(0);
    expect([await found(scan), state.reads]).toEqual(['a b', 2]);
    state.nowMs += 1_000;
    expect([await found(scan), state.reads]).toEqual(['a b', 3]);
  });

  test('over many destinations reads a window at a time, and misses none', async () => {
    const { found } = await seed(store, MANY, 1);
    const scan = new DestinationScan(store.db);
    const windows = [await found(scan), await found(scan)];
    expect(scan.isComplete).toBe(false);
    windows.push(await found(scan));
    expect(scan.isComplete).toBe(true);
    expect(windows.join(' ')).toBe(MANY.join(' '));
  });

  test('over many destinations is followed by a rest that no request shortens', async () => {
    const { entityId } = await seed(store, MANY, 0);
    await accept(store.db, newEvent(entityId, { firstDelayMs: 3_600_000 }));
    const { scan, state } = timed(store, 10);
    const nextInMs = [];
    for (let windows = 0; windows < 3; windows++) {
      scan.schedule(0);
      await scan.next();
      nextInMs.push(scan.nextInMs);
    }
    expect([state.reads, nextInMs]).toEqual([3, [0, 0, 270]]);
    await scan.next();
    expect(state.reads).toBe(3);
    state.nowMs += 270;
    await scan.next();
    expect(state.reads).toBe(4);
  });
});
