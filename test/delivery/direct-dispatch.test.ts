import { afterEach, expect, test } from 'bun:test';
import type { Engine } from '../../src/delivery/engine.ts';
import { destinationKey } from '../../src/domain/destination.ts';
import { StoreUnavailableError } from '../../src/store/database/database.ts';
import { AcceptQueue } from '../../src/store/events/accept-queue.ts';
import {
  createEngine,
  databaseNowMs,
  failedWith,
  forgetDeliveries,
  newEvent,
  newReceiver,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  statuses,
} from '../support/deliveries.ts';
import { rejection } from '../support/rejection.ts';
import { alteredStore, onEveryEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const TWO_AT_A_TIME = { DESTINATION_CONCURRENCY: '2' };

onEveryEngine('an event accepted where it is delivered', (store) => {
  const running: Engine[] = [];

  afterEach(async () => {
    for (const engine of running.splice(0)) await engine.stop();
    await forgetDeliveries(store.db);
  });

  /** Before its first scan an engine reserves nothing. */
  async function hasScanned(engine: Engine): Promise<void> {
    const destination = destinationKey('ent_other', 'https://elsewhere.example');
    await until('the engine has scanned', () => {
      const isReserved = engine.reserve(destination);
      if (isReserved) engine.cancel([{ destination }]);
      return isReserved;
    });
  }

  /** An engine after its first scan, and an accept queue that dispatches to it. */
  async function start(sender: ScriptedSender, settings: Record<string, string> = TWO_AT_A_TIME, db = store.db) {
    const engine = createEngine(store.db, sender, { settings });
    running.push(engine);
    await engine.start();
    await hasScanned(engine);
    let wakeUps = 0;
    const acceptQueue = new AcceptQueue(
      db,
      (due) => {
        wakeUps++;
        engine.wake(due.keys());
      },
      undefined,
      engine,
    );
    const acceptMany = (entityId: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => acceptQueue.accept(newEvent(entityId))));
    return { engine, acceptMany, wakeUps: () => wakeUps };
  }

  const allDelivered = (entityId: string) =>
    until('all are delivered', async () => (await statuses(store.db, entityId)).every((one) => one === 'delivered'));

  test('is sent at once, claimed by its acceptance, without a wake-up', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender();
    const { acceptMany, wakeUps } = await start(sender);
    // One until the destination has responded, then as many as it may have in flight.
    for (const count of [1, 2]) {
      await acceptMany(entityId, count);
      await allDelivered(entityId);
    }
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ token, attempts, dueMs }) => [token, attempts, dueMs])).toEqual(
      Array(3).fill([1, 1, null]),
    );
    expect(wakeUps()).toBe(0);
  });

  test('waits in the store when its destination has no free slot, and goes before later ones', async () => {
    const { entityId } = await newReceiver(store.db);
    const open = Promise.withResolvers<void>();
    const sender = new ScriptedSender(async () => {
      await open.promise;
      return respondedWith(200);
    });
    const { acceptMany, wakeUps } = await start(sender);
    const first = await acceptMany(entityId, 5);
    expect(wakeUps()).toBe(1);
    const later = await acceptMany(entityId, 3);
    await until('one is in flight', () => sender.requests.length === 1);
    open.resolve();
    await allDelivered(entityId);
    const order = sender.requests.map(({ headers }) => headers['paybell-event-id']);
    expect(order.slice(0, 5).toSorted()).toEqual(first.map(({ eventId }) => eventId).toSorted());
    expect(order.slice(5).toSorted()).toEqual(later.map(({ eventId }) => eventId).toSorted());
  });

  test('is queued at a fast destination, and its claim is returned when the destination becomes unhealthy', async () => {
    const { entityId } = await newReceiver(store.db);
    let works = true;
    const pending: (() => void)[] = [];
    const sender = new ScriptedSender(async () => {
      if (!works) await new Promise<void>((resolve) => pending.push(resolve));
      return works ? respondedWith(200) : failedWith('refused');
    });
    const { acceptMany } = await start(sender, { ...TWO_AT_A_TIME, RETRY_SCHEDULE: '0s,1h' });
    await acceptMany(entityId, 2);
    await allDelivered(entityId);
    works = false;
    await acceptMany(entityId, 8);
    const all = await readDeliveries(store.db, entityId);
    expect(all.slice(2).map(({ token }) => token)).toEqual(Array(8).fill(1));
    for (let failed = 0; failed < 5; failed++) {
      await until('a request is in flight', () => pending.length > 0);
      pending.shift()?.();
    }
    const waiting = async () => (await readDeliveries(store.db, entityId)).filter(({ status }) => status === 'pending');
    const returnedClaims = async () => {
      const dueBy = await databaseNowMs(store.db);
      return (await waiting()).some(({ dueMs }) => (dueMs ?? 0) <= dueBy);
    };
    await until('the claims are returned', returnedClaims);
    works = true;
    for (const proceed of pending) proceed();
    await until('the rest is delivered', async () => (await waiting()).length === 0);
    const counts = (await readDeliveries(store.db, entityId)).map(({ attempts }) => attempts);
    expect(counts).toEqual(Array(10).fill(1));
  });

  test('is returned from the queue when the process stops, so that another can deliver it at once', async () => {
    const { entityId } = await newReceiver(store.db);
    let works = true;
    const open = Promise.withResolvers<void>();
    const sender = new ScriptedSender(async () => {
      if (!works) await open.promise;
      return respondedWith(200);
    });
    const { acceptMany, engine } = await start(sender);
    await acceptMany(entityId, 2);
    await allDelivered(entityId);
    works = false;
    await acceptMany(entityId, 6);
    const stopped = engine.stop();
    const due = async () => {
      const all = await readDeliveries(store.db, entityId);
      const nowMs = await databaseNowMs(store.db);
      return all.filter(({ status, dueMs }) => status === 'pending' && (dueMs ?? 0) <= nowMs);
    };
    await until('four claims are returned', async () => (await due()).length === 4);
    open.resolve();
    await stopped;
    expect(await statuses(store.db, entityId)).toEqual([...Array(4).fill('delivered'), ...Array(4).fill('pending')]);
  });

  test('is returned before the stop ends, even if it was accepted at the last moment', async () => {
    const { entityId } = await newReceiver(store.db);
    const slow = alteredStore(store.db, {
      transaction: async (work, options) => {
        await Bun.sleep(50);
        return store.db.transaction(work, options);
      },
    });
    const engine = createEngine(slow, new ScriptedSender(), { settings: TWO_AT_A_TIME });
    await engine.start();
    await hasScanned(engine);
    const commit = Promise.withResolvers<void>();
    const held = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          await commit.promise;
          return value;
        }, options),
    });
    const accepted = new AcceptQueue(held, () => undefined, undefined, engine).accept(newEvent(entityId));
    await Bun.sleep(20);
    const stopped = engine.stop();
    commit.resolve();
    await Promise.all([accepted, stopped]);
    await engine.claimsReturned();
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery).toMatchObject({ status: 'pending', token: 1 });
    expect(delivery?.dueMs).toBeLessThanOrEqual(await databaseNowMs(store.db));
  });

  test('keeps no slot when its acceptance fails', async () => {
    const { entityId } = await newReceiver(store.db);
    let fails = true;
    const flaky = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          if (fails) throw new StoreUnavailableError('in the middle');
          return value;
        }, options),
    });
    const { acceptMany, wakeUps } = await start(new ScriptedSender(), TWO_AT_A_TIME, flaky);
    for (let i = 0; i < 3; i++) expect(await rejection(acceptMany(entityId, 1))).toBeInstanceOf(StoreUnavailableError);
    fails = false;
    await acceptMany(entityId, 1);
    await allDelivered(entityId);
    expect(wakeUps()).toBe(0);
  });
});
