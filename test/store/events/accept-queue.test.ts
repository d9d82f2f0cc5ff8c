import { expect, test } from 'bun:test';
import { type Database, type Queries, StoreUnavailableError } from '../../../src/store/database/database.ts';
import type { DirectDispatch } from '../../../src/store/deliveries/claim/claimed.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { newEvent, newReceiver, readDeliveries } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredQueries, alteredStore, alteredTransactions, onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const POISON = 'poison';

/** The store, and how often a transaction was begun on it. */
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

/** Fails on every statement that carries the word, as a value does that one engine cannot store. */
function refusingPoison(db: Database): Database {
  return alteredTransactions(db, (queries) => ({
    run: (sql, params) => {
      if (params?.includes(POISON)) throw new Error('cannot be stored');
      return queries.run(sql, params);
    },
  }));
}

onEveryEngine('taking events in', (store) => {
  const acceptAll = (acceptQueue: AcceptQueue, events: readonly ReturnType<typeof newEvent>[]) =>
    Promise.allSettled(events.map((event) => acceptQueue.accept(event)));

  test('events that arrive together share a commit', async () => {
    const { entityId } = await newReceiver(store.db);
    const { db, transactions } = counted(store.db);
    const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
    const answers = await Promise.all(Array.from({ length: 101 }, () => acceptQueue.accept(newEvent(entityId))));
    expect(answers.every(({ repeated, deliveries }) => !repeated && deliveries === 1)).toBe(true);
    expect(transactions()).toBe(1);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(101);
  });

  test.each<[string, (looks: number) => number, number]>([
    ['shrinks with every turn: until it is short', (looks: number) => 200 - looks * 16, 9],
    ['does not shrink: not at all', () => 500, 1],
    ['shrinks on and on: for a while', (looks: number) => 100_000 - looks, 16],
    ['is short: not at all', () => 64, 0],
  ])('waits for a line that %s', async (_, lengthAt, turns) => {
    const { entityId } = await newReceiver(store.db);
    let looks = 0;
    const directDispatch: DirectDispatch = {
      leaseMs: 1_000,
      get queued() {
        return lengthAt(looks++);
      },
      reserve: () => 0,
      cancel: () => undefined,
      begin: () => undefined,
    };
    await new AcceptQueue(store.db, { onDue: () => undefined, directDispatch }).accept(newEvent(entityId));
    // The last look is the one that ends the waiting, but for the time when all turns are used up.
    expect(looks).toBe(turns === 16 ? 16 : turns + 1);
  });

  test('an acceptance is answered only after the commit', async () => {
    const { entityId } = await newReceiver(store.db);
    const stored = Promise.withResolvers<void>();
    const committing = Promise.withResolvers<void>();
    const slow = alteredStore(store.db, {
      transaction: (work) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          stored.resolve();
          await committing.promise;
          return value;
        }),
    });
    let answered = false;
    const accepting = new AcceptQueue(slow, { onDue: () => undefined }).accept(newEvent(entityId)).then(() => {
      answered = true;
    });
    await stored.promise;
    await Bun.sleep(50);
    expect(answered).toBe(false);
    committing.resolve();
    await accepting;
    expect(await readDeliveries(store.db, entityId)).toHaveLength(1);
  });

  test('takes no slots after it has failed, also if a statement was still running', async () => {
    const { entityId } = await newReceiver(store.db);
    let slots = 0;
    const directDispatch: DirectDispatch = {
      leaseMs: 1_000,
      queued: 0,
      reserve: (_, wanted) => {
        slots += wanted;
        return wanted;
      },
      cancel: (taken) => {
        for (const count of taken.values()) slots -= count;
      },
      begin: () => undefined,
    };
    const reading = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    let work: Promise<unknown> = Promise.resolve();
    const late = alteredStore(store.db, {
      transaction: (given) => {
        const running = store.db.transaction((queries) => given(heldBack(queries)));
        work = running.catch(() => undefined);
        return Promise.race([running, reading.promise.then(() => Promise.reject(new StoreUnavailableError('late')))]);
      },
    });
    const heldBack = (queries: Queries): Queries =>
      alteredQueries(queries, {
        all: async (sql, params) => {
          reading.resolve();
          await goesOn.promise;
          return queries.all(sql, params);
        },
      });
    const acceptQueue = new AcceptQueue(late, { onDue: () => undefined, directDispatch });
    expect(await rejection(acceptQueue.accept(newEvent(entityId)))).toBeInstanceOf(StoreUnavailableError);
    goesOn.resolve();
    await work;
    expect(slots).toBe(0);
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
  });

  test('entities take turns: an event does not wait for the hundreds of events that another entity sent before', async () => {
    const [loud, neighbour] = [await newEntity(store.db), await newEntity(store.db)];
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const settled: string[] = [];
    const send = (entityId: string, name: string) =>
      acceptQueue.accept(newEvent(entityId)).then(() => settled.push(name));
    const flood = Array.from({ length: 1_000 }, () => send(loud, 'loud'));
    const own = send(neighbour, 'neighbour');
    await own;
    // In the first group, which has 200 events.
    expect(settled.length).toBeLessThanOrEqual(200);
    await Promise.all(flood);
    expect(settled).toHaveLength(1_001);
  });

  test('one that cannot be stored fails alone, and its neighbours are accepted', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(refusingPoison(store.db), { onDue: () => undefined });
    const events = ['1', '2', POISON, '3', '4'].map((body) => newEvent(entityId, { body }));
    const answers = await acceptAll(acceptQueue, events);
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(4);
  });

  test('a conflict is the problem of the one that has it', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const event = newEvent(entityId);
    const answers = await acceptAll(acceptQueue, [newEvent(entityId), event, { ...event, body: '{}' }, event]);
    expect(answers).toMatchObject([
      { value: { repeated: false } },
      { value: { repeated: false } },
      { reason: { kind: 'event_conflict' } },
      { value: { repeated: true } },
    ]);
  });

  test('while the store does not answer all are refused, nothing is kept, and afterwards it goes on by itself', async () => {
    const { entityId } = await newReceiver(store.db);
    let down = true;
    const flaky = alteredStore(store.db, {
      transaction: (work) =>
        down ? Promise.reject(new StoreUnavailableError('down')) : store.db.transaction((queries) => work(queries)),
    });
    const acceptQueue = new AcceptQueue(flaky, { onDue: () => undefined });
    const refused = await acceptAll(acceptQueue, [newEvent(entityId), newEvent(entityId), newEvent(entityId)]);
    expect(refused.map((answer) => answer.status === 'rejected' && answer.reason)).toEqual(
      Array(3).fill(expect.any(StoreUnavailableError)),
    );
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
    down = false;
    expect(await acceptQueue.accept(newEvent(entityId))).toMatchObject({ deliveries: 1 });
  });

  test('the engine is woken once for a group, and not by repeats or by events that nobody asked for', async () => {
    const { entityId } = await newReceiver(store.db);
    const unheard = await newEntity(store.db);
    let woken = 0;
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => woken++ });
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

  test('no more than ten thousand wait, and the next is told at once', async () => {
    const stuck = Promise.withResolvers<never>();
    // It fails before anybody looks, and that alone is no fault.
    stuck.promise.catch(() => undefined);
    const acceptQueue = new AcceptQueue(alteredStore(store.db, { transaction: () => stuck.promise }), {
      onDue: () => undefined,
    });
    const waiting = acceptAll(
      acceptQueue,
      Array.from({ length: 10_000 }, () => newEvent('ent_1')),
    );
    expect((await rejection(acceptQueue.accept(newEvent('ent_1')))).message).toContain('too many events');
    stuck.reject(new StoreUnavailableError('down'));
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
  });
});

onEveryEngine('a body that the engine itself may refuse', (store) => {
  test('harms nobody else in its group', async () => {
    const { entityId } = await newReceiver(store.db);
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const events = ['1', '2', 'a\0b', '3'].map((body) => newEvent(entityId, { body }));
    const answers = await Promise.allSettled(events.map((event) => acceptQueue.accept(event)));
    const taken = answers.map(({ status }) => status === 'fulfilled');
    expect(taken).toEqual([true, true, store.engine === 'sqlite', true]);
  });
});
