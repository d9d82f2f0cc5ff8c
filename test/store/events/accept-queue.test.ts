import { expect, test } from 'bun:test';
import { type Database, type Queries, StoreUnavailableError } from '../../../src/store/database/database.ts';
import type { DirectDispatch } from '../../../src/store/deliveries/claimed.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { newEvent, newReceiver, readDeliveries } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const POISON = 'poison';

/** The store, and the number of transactions on it. */
function counted(db: Database): { db: Database; transactions: () => number } {
  let transactions = 0;
  const counting = alteredStore(db, {
    transaction: (work) => {
      transactions++;
      return db.transaction(work);
    },
  });
  return { db: counting, transactions: () => transactions };
}

/** Fails every statement that has the word, like a value that an engine cannot store. */
function refusingPoison(db: Database): Database {
  const refuse = (queries: Queries): Queries => ({
    get: (sql, params) => queries.get(sql, params),
    run: (sql, params) => queries.run(sql, params),
    all: (sql, params) => {
      if (params?.includes(POISON)) throw new Error('cannot be stored');
      return queries.all(sql, params);
    },
  });
  return alteredStore(db, { transaction: (work) => db.transaction((queries) => work(refuse(queries))) });
}

onEveryEngine('the accept queue', (store) => {
  const acceptAll = (acceptQueue: AcceptQueue, events: readonly ReturnType<typeof newEvent>[]) =>
    Promise.allSettled(events.map((event) => acceptQueue.accept(event)));

  test('events that arrive together share a commit', async () => {
    const { entityId } = await newReceiver(store.db);
    const { db, transactions } = counted(store.db);
    const acceptQueue = new AcceptQueue(db, () => undefined);
    const results = await Promise.all(Array.from({ length: 101 }, () => acceptQueue.accept(newEvent(entityId))));
    expect(results.every(({ repeated, deliveries }) => !repeated && deliveries === 1)).toBe(true);
    expect(transactions()).toBe(1);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(101);
  });

  test.each<[string, (looks: number) => number, number]>([
    ['shrinks with every tick: until it is short', (looks: number) => 200 - looks * 16, 9],
    ['does not shrink: not at all', () => 500, 1],
    ['shrinks for ever: for a while', (looks: number) => 100_000 - looks, 16],
    ['is short: not at all', () => 64, 0],
  ])('waits for a queue that %s', async (_, lengthAt, ticks) => {
    const { entityId } = await newReceiver(store.db);
    let looks = 0;
    const directDispatch: DirectDispatch = {
      leaseMs: 1_000,
      get queued() {
        return lengthAt(looks++);
      },
      reserve: () => false,
      cancel: () => undefined,
      begin: () => undefined,
    };
    await new AcceptQueue(store.db, () => undefined, undefined, directDispatch).accept(newEvent(entityId));
    // The last look ends the waiting, except when all ticks are used up.
    expect(looks).toBe(ticks === 16 ? 16 : ticks + 1);
  });

  test('an acceptance resolves only after the commit', async () => {
    const { entityId } = await newReceiver(store.db);
    const committing = Promise.withResolvers<void>();
    const slow = alteredStore(store.db, {
      transaction: (work) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          await committing.promise;
          return value;
        }),
    });
    let resolved = false;
    const accepting = new AcceptQueue(slow, () => undefined).accept(newEvent(entityId)).then(() => {
      resolved = true;
    });
    await Bun.sleep(50);
    expect(resolved).toBe(false);
    committing.resolve();
    await accepting;
    expect(await readDeliveries(store.db, entityId)).toHaveLength(1);
  });

  test('an event that cannot be stored fails alone, and the others of its group are accepted', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(refusingPoison(store.db), () => undefined);
    const events = ['1', '2', POISON, '3', '4'].map((body) => newEvent(entityId, { body }));
    const results = await acceptAll(acceptQueue, events);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(4);
  });

  test('a conflict rejects only the event that has it', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(store.db, () => undefined);
    const event = newEvent(entityId);
    const results = await acceptAll(acceptQueue, [newEvent(entityId), event, { ...event, body: '{}' }, event]);
    expect(results).toMatchObject([
      { value: { repeated: false } },
      { value: { repeated: false } },
      { reason: { kind: 'event_conflict' } },
      { value: { repeated: true } },
    ]);
  });

  test('while the store is unavailable all are rejected, nothing is kept, and afterwards events are accepted again', async () => {
    const { entityId } = await newReceiver(store.db);
    let down = true;
    const flaky = alteredStore(store.db, {
      transaction: (work) =>
        down ? Promise.reject(new StoreUnavailableError('down')) : store.db.transaction((queries) => work(queries)),
    });
    const acceptQueue = new AcceptQueue(flaky, () => undefined);
    const refused = await acceptAll(acceptQueue, [newEvent(entityId), newEvent(entityId), newEvent(entityId)]);
    expect(refused.map((result) => result.status === 'rejected' && result.reason)).toEqual(
      Array(3).fill(expect.any(StoreUnavailableError)),
    );
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
    down = false;
    expect(await acceptQueue.accept(newEvent(entityId))).toMatchObject({ deliveries: 1 });
  });

  test('the engine is woken once for a group, and not by repeats or by events without webhooks', async () => {
    const { entityId } = await newReceiver(store.db);
    const unheard = await newEntity(store.db);
    let woken = 0;
    const acceptQueue = new AcceptQueue(store.db, () => woken++);
    const event = newEvent(entityId);
    await acceptQueue.accept(newEvent(unheard));
    expect(woken).toBe(0);
    await acceptQueue.accept(event);
    expect(woken).toBe(1);
    await acceptQueue.accept(event);
    expect(woken).toBe(1);
    await Promise.all([
      acceptQueue.accept(newEvent(unheard)),
      ...Array.from({ length: 9 }, () => acceptQueue.accept(newEvent(entityId))),
    ]);
    expect(woken).toBe(2);
  });

  test('no more than ten thousand wait, and the next is rejected at once', async () => {
    const blocked = Promise.withResolvers<never>();
    // It is rejected before it is awaited, which is no error here.
    blocked.promise.catch(() => undefined);
    const acceptQueue = new AcceptQueue(
      alteredStore(store.db, { transaction: () => blocked.promise }),
      () => undefined,
    );
    const waiting = acceptAll(
      acceptQueue,
      Array.from({ length: 10_000 }, () => newEvent('ent_1')),
    );
    expect((await rejection(acceptQueue.accept(newEvent('ent_1')))).message).toContain('too many events');
    blocked.reject(new StoreUnavailableError('down'));
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
  });
});

onEveryEngine('a body that the database itself rejects', (store) => {
  test('affects no other event of its group', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(store.db, () => undefined);
    const events = ['1', '2', 'a\0b', '3'].map((body) => newEvent(entityId, { body }));
    const results = await Promise.allSettled(events.map((event) => acceptQueue.accept(event)));
    const taken = results.map(({ status }) => status === 'fulfilled');
    expect(taken).toEqual([true, true, store.engine === 'sqlite', true]);
  });
});
