import { afterEach, expect, test } from 'bun:test';
import type { Engine } from '../../src/delivery/engine.ts';
import { type DestinationKey, destinationKey } from '../../src/domain/post-url.ts';
import { StoreUnavailableError } from '../../src/store/database/database.ts';
import { AcceptQueue } from '../../src/store/events/accept-queue.ts';
import { suspendWebhook } from '../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../support/api.ts';
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
import { alteredStore, onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const TWO_AT_A_TIME = { DESTINATION_CONCURRENCY: '2' };

onSuiteEngine('what is accepted where it is delivered', (store) => {
  const running: Engine[] = [];

  afterEach(async () => {
    for (const engine of running.splice(0)) await engine.stop();
    await forgetDeliveries(store.db);
  });

  /** An engine that has looked at the store, and an intake that hands over to it. */
  async function start(sender: ScriptedSender, settings: Record<string, string> = TWO_AT_A_TIME, db = store.db) {
    const engine = createEngine(store.db, sender, { settings });
    running.push(engine);
    await engine.start();
    const elsewhere = destinationKey('ent_other', 'https://elsewhere.example');
    await until('the engine has looked', () => {
      const free = engine.reserve(elsewhere, 1) === 1;
      if (free) engine.cancel(new Map([[elsewhere, 1]]));
      return free;
    });
    let wakeUps = 0;
    const onDue = (due: ReadonlySet<DestinationKey>) => {
      wakeUps++;
      engine.wake(due);
    };
    const acceptQueue = new AcceptQueue(db, { onDue, directDispatch: engine });
    const acceptMany = (entityId: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => acceptQueue.accept(newEvent(entityId))));
    return { engine, acceptMany, wakeUps: () => wakeUps };
  }

  const allDelivered = (entityId: string) =>
    until('all are delivered', async () => (await statuses(store.db, entityId)).every((one) => one === 'delivered'));

  test('is sent at once, claimed by its acceptance, and nobody is wakeUps to look for it', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender();
    const { acceptMany, wakeUps } = await start(sender);
    // One until the destination has responded, then as many as it may have in flight.
    for (const count of [1, 2]) {
      await acceptMany(entityId, count);
      await allDelivered(entityId);
    }
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ attempts, dueMs }) => [attempts, dueMs])).toEqual(Array(3).fill([1, null]));
    expect(wakeUps()).toBe(0);
  });

  test('waits in the store when there is no room for it, and goes before whatever comes later', async () => {
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

  test('stands in line where posts are fast, and leaves the line when the destination turns out to be unwell', async () => {
    const { entityId } = await newReceiver(store.db);
    let works = true;
    const turns: (() => void)[] = [];
    const sender = new ScriptedSender(async () => {
      if (!works) await new Promise<void>((resolve) => turns.push(resolve));
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
      await until('a post is under way', () => turns.length > 0);
      turns.shift()?.();
    }
    const waiting = async () => (await readDeliveries(store.db, entityId)).filter(({ status }) => status === 'pending');
    const returnedClaims = async () => {
      const dueBy = await databaseNowMs(store.db);
      return (await waiting()).some(({ dueMs }) => (dueMs ?? 0) <= dueBy);
    };
    await until('the line is given back', returnedClaims);
    works = true;
    for (const turn of turns) turn();
    await until('the rest is delivered', async () => (await waiting()).length === 0);
    const counts = (await readDeliveries(store.db, entityId)).map(({ attempts }) => attempts);
    expect(counts).toEqual(Array(10).fill(1));
  });

  test('is returned when the process stops: another may claim it at once', async () => {
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
      return all.filter(({ status, leaseMs }) => status === 'pending' && leaseMs === 0);
    };
    await until('four are returned', async () => (await due()).length === 4);
    open.resolve();
    await stopped;
    expect(await statuses(store.db, entityId)).toEqual([...Array(4).fill('delivered'), ...Array(4).fill('pending')]);
  });

  test('waits for the first look of the engine, which may find older ones', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender();
    const engine = createEngine(store.db, sender, { settings: TWO_AT_A_TIME });
    running.push(engine);
    const older = await new AcceptQueue(store.db, { onDue: () => undefined }).accept(newEvent(entityId));
    const onDue = (due: ReadonlySet<DestinationKey>) => engine.wake(due);
    const later = await new AcceptQueue(store.db, { onDue, directDispatch: engine }).accept(newEvent(entityId));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ token: 0 }, { token: 0 }]);
    await engine.start();
    await allDelivered(entityId);
    const order = sender.requests.map(({ headers }) => headers['paybell-event-id']);
    expect(order).toEqual([older.eventId, later.eventId]);
  });

  test('is not dispatched while its webhook is suspended', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const { acceptMany, wakeUps } = await start(new ScriptedSender());
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await acceptMany(entityId, 1);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'held', token: 0, leaseMs: 0 }]);
    expect(wakeUps()).toBe(0);
  });

  test('fails as the store does where it had no place: the engine has not looked yet', async () => {
    const { entityId } = await newReceiver(store.db);
    const failing = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          await work(queries);
          throw new StoreUnavailableError('at its end');
        }, options),
    });
    const directDispatch = createEngine(store.db, new ScriptedSender());
    const acceptQueue = new AcceptQueue(failing, { onDue: () => undefined, directDispatch });
    expect(await rejection(acceptQueue.accept(newEvent(entityId)))).toBeInstanceOf(StoreUnavailableError);
  });

  test('keeps no place when its acceptance fails', async () => {
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
