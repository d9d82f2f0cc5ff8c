import { afterEach, expect, test } from 'bun:test';
import type { DeliveryFilter } from '../../../src/contract/deliveries/redelivery.ts';
import { deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { FIRST_HEAD, findDueHeads } from '../../../src/store/deliveries/claim/due-heads.ts';
import { listDeliveries, readDelivery } from '../../../src/store/deliveries/read.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { readRedelivery, startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { countRedelivering } from '../../../src/store/deliveries/redeliver/count.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  completeAll,
  forgetDeliveries,
  HOOK,
  LEASE_MS,
  letPass,
  newEvent,
  newReceiver,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { beforeStatement } from '../../support/interrupted-store.ts';
import { onlyOn } from '../../support/only-on.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { continueRedelivery } from '../../support/tasks.ts';
import { recordTestOf } from '../../support/test-requests.ts';
import { until } from '../../support/until.ts';
import { register } from '../../support/webhooks.ts';

/** Fails twice at once, then waits for an hour. */
const SLOW_RETRIES = { settings: { RETRY_SCHEDULE: '0s,1h,1h' } };
const ONE_TRY = { settings: { RETRY_SCHEDULE: '0s' } };

onSuiteEngine('sending one delivery again', (store) => {
  const onPostgres = onlyOn('postgres', store);
  afterEach(() => forgetDeliveries(store.db));

  async function oneDelivery(firstDelayMs = 0) {
    const { entityId, webhookId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId, { firstDelayMs }));
    const deliveryId = (await readDeliveries(store.db, entityId))[0]?.deliveryId ?? '';
    const read = async () => {
      const delivery = await readDelivery(store.db, entityId, deliveryId);
      if (delivery === null) throw new Error('the delivery is gone');
      return delivery;
    };
    const again = () => redeliver(store.db, entityId, deliveryId);
    return { entityId, webhookId, deliveryId, read, again };
  }

  const recordOf = (claimed: Claimed | undefined, statusCode: number) =>
    store.db.transaction((queries) =>
      recordAttempts(queries, store.db.dialect, [
        {
          delivery: { ...(claimed ?? never()), postUrl: HOOK },
          next: { status: 'pending', steps: 0, delayMs: null, suspend: null },
          startedAtMs: Date.now(),
          outcome: respondedWith(statusCode),
        },
      ]),
    );

  const kinds = ({ attemptLog }: { attemptLog: { kind: string; statusCode: number | null }[] }) =>
    attemptLog.map(({ kind, statusCode }) => `${kind} ${statusCode}`);

  test('that was delivered posts it anew with the same id and bytes, three times where three were asked for', async () => {
    const { deliveryId, read, again } = await oneDelivery();
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      await until('it is delivered', async () => (await read()).status === 'delivered');
      const delivered = await read();
      for (let time = 0; time < 3; time++) expect(await again()).toBe(true);
      engine.wake();
      await until('all are sent', async () => (await read()).attempts === 4);
      const after = await read();
      expect(kinds(after)).toEqual(['first 200', 'redelivery 200', 'redelivery 200', 'redelivery 200']);
      expect(after).toMatchObject({
        status: 'delivered',
        dateDelivered: delivered.dateDelivered,
        dateNextAttempt: null,
      });
    });
    expect(new Set(sender.requests.map(({ body }) => body)).size).toBe(1);
    expect(sender.requests.map(({ headers }) => headers['webhook-id'])).toEqual(Array(4).fill(deliveryId));
  });

  test('while it is in flight sends it afterwards and not at the same time', async () => {
    const { read, again } = await oneDelivery();
    const gate = Promise.withResolvers<void>();
    const sender = new ScriptedSender(async () => {
      if (sender.requests.length === 1) await gate.promise;
      return respondedWith(200);
    });
    await withEngine(store.db, sender, async (engine) => {
      await until('the first is in flight', () => sender.requests.length === 1);
      await again();
      await again();
      engine.wake();
      await Bun.sleep(50);
      expect(sender.requests).toHaveLength(1);
      gate.resolve();
      await until('all are sent', async () => (await read()).attempts === 3);
    });
    expect(sender.mostInFlight).toBe(1);
    expect(kinds(await read())).toEqual(['first 200', 'redelivery 200', 'redelivery 200']);
  });

  test('that fails leaves a success a success', async () => {
    const { read, again } = await oneDelivery();
    const sender = new ScriptedSender(() => respondedWith(sender.requests.length === 1 ? 200 : 500));
    await withEngine(store.db, sender, async (engine) => {
      await until('it is delivered', async () => (await read()).status === 'delivered');
      const { dateDelivered } = await read();
      await again();
      engine.wake();
      await until('it is sent again', async () => (await read()).attempts === 2);
      expect(await read()).toMatchObject({
        status: 'delivered',
        dateDelivered,
        dateNextAttempt: null,
        lastStatusCode: 500,
      });
    });
  });

  test('that waits for its first attempt, and fails, uses up no step and moves nothing', async () => {
    const { entityId, read, again } = await oneDelivery(3_600_000);
    const before = (await readDeliveries(store.db, entityId))[0];
    await withEngine(store.db, new ScriptedSender(() => respondedWith(500)), async (engine) => {
      await again();
      engine.wake();
      await until('it is sent', async () => (await read()).attempts === 1);
    });
    const after = (await readDeliveries(store.db, entityId))[0];
    expect(kinds(await read())).toEqual(['redelivery 500']);
    expect(after).toMatchObject({ status: 'retrying', steps: 0, nextAttemptMs: before?.nextAttemptMs ?? 0 });
    expect(after?.dueMs).toBe(before?.nextAttemptMs ?? 0);
  });

  test('that has waited long for its first attempt, and fails, is due at once', async () => {
    const { entityId, again } = await oneDelivery();
    await letPass(store.db, entityId, 60_000);
    await again();
    const [claimed] = await claim(store.db, entityId);
    await recordOf(claimed, 500);
    expect(await claim(store.db, entityId)).toMatchObject([{ kind: 'retry', attempts: 1 }]);
  });

  test('counts once where its commit went unanswered, so that the next redelivery is sent', async () => {
    const { entityId, read, again } = await oneDelivery(3_600_000);
    await again();
    await again();
    const [claimed] = await claim(store.db, entityId);
    for (let times = 0; times < 2; times++) expect((await recordOf(claimed, 200)).size).toBe(1);
    expect(kinds(await read())).toEqual(['redelivery 200']);
    expect(await claim(store.db, entityId)).toMatchObject([{ kind: 'redelivery', attempts: 1 }]);
  });

  onPostgres('while its webhook is being put off is not forgotten', async () => {
    const { entityId, deliveryId } = await oneDelivery(3_600_000);
    const destination = destinationKey(entityId, HOOK);
    let look: Promise<unknown> = Promise.resolve();
    await store.db.transaction(async (queries) => {
      await redeliver(alteredStore(store.db, { transaction: (work) => work(queries) }), entityId, deliveryId);
      // Does not see what is not committed yet, and finds that the next attempt is an hour away.
      look = claimDeliveries(store.db, [{ destination, most: 1 }], LEASE_MS);
      await Bun.sleep(300);
    });
    await look;
    const { due } = await findDueHeads(store.db, FIRST_HEAD, 1_000);
    expect(due.map((head) => head.destination)).toContain(destination);
  });

  test('that is between two retries, and fails, leaves the schedule where it was, and a success ends it', async () => {
    const { entityId, read, again } = await oneDelivery();
    const sender = new ScriptedSender(() => respondedWith(sender.requests.length < 3 ? 500 : 200));
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await until('it is retrying', async () => (await read()).status === 'retrying');
        const before = (await readDeliveries(store.db, entityId))[0];
        await again();
        engine.wake();
        await until('it is sent again', async () => (await read()).attempts === 2);
        const { steps, nextAttemptMs, dueMs, status } =
          (await readDeliveries(store.db, entityId))[0] ?? before ?? never();
        expect({ steps, nextAttemptMs, dueMs, status }).toEqual({
          steps: 1,
          nextAttemptMs: before?.nextAttemptMs ?? 0,
          dueMs: before?.nextAttemptMs ?? 0,
          status: 'retrying',
        });
        await again();
        engine.wake();
        await until('it is delivered', async () => (await read()).status === 'delivered');
      },
      SLOW_RETRIES,
    );
    expect(await read()).toMatchObject({ dateNextAttempt: null, attempts: 3 });
    expect(kinds(await read())).toEqual(['first 500', 'redelivery 500', 'redelivery 200']);
  });

  test('that failed for good and fails again stays failed; once it arrives it is delivered', async () => {
    const { read, again } = await oneDelivery();
    const sender = new ScriptedSender(() => respondedWith(sender.requests.length < 3 ? 500 : 200));
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await until('it has failed', async () => (await read()).status === 'failed');
        await again();
        engine.wake();
        await until('it is sent again', async () => (await read()).attempts === 2);
        expect(await read()).toMatchObject({ status: 'failed', dateDelivered: null, dateNextAttempt: null });
        await again();
        engine.wake();
        await until('it is delivered', async () => (await read()).status === 'delivered');
      },
      ONE_TRY,
    );
    expect((await read()).dateDelivered).not.toBeNull();
  });

  test('goes to where its webhook is now', async () => {
    const { entityId, webhookId, read, again } = await oneDelivery();
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      await until('it is delivered', async () => (await read()).status === 'delivered');
      await moveWebhook(store.db, entityId, webhookId, 'https://elsewhere.example.com/', () => true, TEST_CHANGE);
      await again();
      engine.wake();
      await until('it is sent again', async () => (await read()).attempts === 2);
    });
    expect((await read()).attemptLog.map(({ postUrl }) => postUrl)).toEqual([HOOK, 'https://elsewhere.example.com/']);
    expect((await read()).postUrl).toBe('https://elsewhere.example.com/');
  });

  test('is refused while its webhook is suspended, and once that is gone', async () => {
    const { entityId, webhookId, read, again } = await oneDelivery();
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect((await read()).status).toBe('held');
    expect(await rejection(again())).toMatchObject({ kind: 'webhook_suspended', facts: { webhookId } });
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect((await read()).status).toBe('cancelled');
    expect(await rejection(again())).toMatchObject({ kind: 'webhook_deleted', facts: { webhookId } });
    expect(await claim(store.db, entityId)).toEqual([]);
  });

  test('that was dropped in the middle of its redelivery is sent once its lease runs out, as a redelivery', async () => {
    const { entityId, read, again } = await oneDelivery(3_600_000);
    await again();
    expect((await claim(store.db, entityId)).map(({ kind }) => kind)).toEqual(['redelivery']);
    await letPass(store.db, entityId, 60_000);
    await withEngine(store.db, new ScriptedSender(), () =>
      until('it is delivered', async () => (await read()).status === 'delivered'),
    );
    expect(kinds(await read())).toEqual(['redelivery 200']);
  });

  test('is settled by whoever holds it now: one that was taken over logs nothing and uses up no request', async () => {
    const { entityId, read, again } = await oneDelivery(3_600_000);
    await again();
    const [lost] = await claim(store.db, entityId);
    await letPass(store.db, entityId, 60_000);
    const [held] = await claim(store.db, entityId);
    expect((await recordOf(lost, 500)).size).toBe(0);
    expect(await read()).toMatchObject({ attempts: 0, attemptLog: [] });
    expect((await recordOf(held, 503)).size).toBe(1);
    expect(kinds(await read())).toEqual(['redelivery 503']);
    expect((await recordOf(lost, 500)).size).toBe(0);
    expect((await read()).attempts).toBe(1);
  });

  test('that is complete, asked for eight times at once, is sent eight times', async () => {
    const { entityId, deliveryId, again } = await oneDelivery();
    await completeAll(store.db, entityId, 'delivered');
    expect(await Promise.all(Array.from({ length: 8 }, again))).toEqual(Array(8).fill(true));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ deliveryId, redeliver: 8, status: 'delivered' }]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('that retention removes in the same moment is not found, and comes back in no table', async () => {
    const { entityId, again } = await oneDelivery();
    await completeAll(store.db, entityId, 'delivered');
    const sent: Promise<boolean>[] = [];
    const isRemoved = (sql: string) => sql.startsWith('delete from attempts');
    const pruning = beforeStatement(store.db, isRemoved, async () => {
      sent.push(again());
      // Time for everything that does not wait for the transaction of the retention.
      await Bun.sleep(60);
    });
    const batches = new PacedBatches(store.engine, PAUSE.foreground);
    await prune(pruning, { olderThanMs: 1, batches, nowMs: Date.now() + 60_000 });
    expect(await Promise.all(sent)).toEqual([false]);
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('works for a notice too, and is refused while notices are switched off', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const noticeUrl = 'https://notices.example.com/';
    await setNoticeUrl(store.db, entityId, noticeUrl, TEST_CHANGE);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const notice = (await readDeliveries(store.db, entityId))[0]?.deliveryId ?? '';
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      await until('the notice is sent', () => sender.requests.length === 1);
      await redeliver(store.db, entityId, notice);
      engine.wake();
      await until('it is sent again', () => sender.requests.length === 2);
    });
    expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual([noticeUrl, noticeUrl]);
    await setNoticeUrl(store.db, entityId, null, TEST_CHANGE);
    expect(await rejection(redeliver(store.db, entityId, notice))).toMatchObject({ kind: 'alerts_off' });
  });

  test('of another entity, or that never was, is not found', async () => {
    const { deliveryId } = await oneDelivery();
    const { entityId: other } = await newReceiver(store.db);
    expect(await redeliver(store.db, other, deliveryId)).toBe(false);
    expect(await redeliver(store.db, other, 'dlv_none')).toBe(false);
  });
});

onSuiteEngine('sending many deliveries again', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  const start = (entityId: string, filter: DeliveryFilter) => startRedelivery(store.db, entityId, filter, TEST_CHANGE);
  const finish = async (entityId: string, redeliveryId: string) => {
    while (await continueRedelivery(store.db, entityId, redeliveryId));
    return progressOf(entityId, redeliveryId);
  };
  const progressOf = async (entityId: string, redeliveryId: string) =>
    (await readRedelivery(store.db, entityId, redeliveryId)) ?? never();
  const owed = async (entityId: string): Promise<number[]> => {
    return (await readDeliveries(store.db, entityId)).map(({ redeliver: count }) => count);
  };
  const listed = async (entityId: string) =>
    (await listDeliveries(store.db, entityId, deliveryListQuerySchema.parse({}))).deliveries;
  const complete = (entityId: string, status: 'failed' | 'delivered') => completeAll(store.db, entityId, status);

  test('queues in shares all that match and nothing twice, and then it is finished', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1_201);
    await complete(entityId, 'failed');
    const redeliveryId = await start(entityId, { webhookId });
    const shares = [];
    for (let share = 0; share < 3; share++) {
      const more = await continueRedelivery(store.db, entityId, redeliveryId);
      const { status, queued, totalResults } = await progressOf(entityId, redeliveryId);
      shares.push({ more, status, queued, totalResults });
    }
    expect(shares).toEqual([
      { more: true, status: 'running', queued: 500, totalResults: 1_201 },
      { more: true, status: 'running', queued: 1_000, totalResults: 1_201 },
      { more: false, status: 'finished', queued: 1_201, totalResults: 1_201 },
    ]);
    expect(await continueRedelivery(store.db, entityId, redeliveryId)).toBe(false);
    expect(new Set(await owed(entityId))).toEqual(new Set([1]));
    expect(await progressOf(entityId, redeliveryId)).toMatchObject({ skipped: 0, sent: 0, delivered: 0 });
    expect((await progressOf(entityId, redeliveryId)).dateFinished).toBeNumber();
  });

  test.each([
    ['pending', 0],
    ['delivered', 0],
    ['failed', 0],
    // The index by webhook does not have the status.
    ['delivered', 1],
  ] as const)('reads no more rows a step than it may, where few of many that are %s match', async (status, others) => {
    const { entityId } = await newReceiver(store.db);
    const rare = { networkId: 1, event: 'TransferCreated' } as const;
    for (const path of ['one', 'two']) await register(store.db, entityId, `${HOOK}/${path}`, [rare]);
    const acceptRare = () => accept(store.db, newEvent(entityId, rare));
    await acceptMany(store.db, entityId, 40);
    await acceptRare();
    if (others > 0) await complete(entityId, 'failed');
    await acceptMany(store.db, entityId, 40);
    await acceptRare();
    if (status !== 'pending') await complete(entityId, status);
    const filter: DeliveryFilter = others > 0 ? { status } : { event: rare.event, status };
    const matches = others > 0 ? 42 : 4;
    const redeliveryId = await start(entityId, filter);
    let steps = 1;
    const limits = { searched: 10 };
    while (await continueRedelivery(store.db, entityId, redeliveryId, limits)) steps++;
    expect(await progressOf(entityId, redeliveryId)).toMatchObject({
      totalResults: matches,
      queued: matches,
      status: 'finished',
    });
    expect((await owed(entityId)).reduce((sum, count) => sum + count, 0)).toBe(matches);
    // 84 deliveries, ten at a time.
    expect(steps).toBeGreaterThanOrEqual(8);
  });

  test('of one webhook, or of what failed, takes no more steps for what an index lets it pass over', async () => {
    const { entityId } = await newReceiver(store.db);
    const other = await addReceiver(store.db, entityId, `${HOOK}/other`);
    await acceptMany(store.db, entityId, 20);
    await complete(entityId, 'delivered');
    for (const filter of [{ status: 'failed' as const }, { webhookId: other }]) {
      const redeliveryId = await start(entityId, filter);
      expect(await continueRedelivery(store.db, entityId, redeliveryId, { searched: 5 })).toBe(false);
    }
  });

  test('worked on by several at once queues each once', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 601);
    await complete(entityId, 'delivered');
    const redeliveryId = await start(entityId, { webhookId });
    await Promise.all(Array.from({ length: 4 }, () => finish(entityId, redeliveryId)));
    expect(await progressOf(entityId, redeliveryId)).toMatchObject({ status: 'finished', queued: 601 });
    expect(new Set(await owed(entityId))).toEqual(new Set([1]));
  });

  test('takes what matched at the start, and nothing that was accepted later', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 501);
    const redeliveryId = await start(entityId, { webhookId });
    await continueRedelivery(store.db, entityId, redeliveryId);
    await Bun.sleep(2);
    await acceptMany(store.db, entityId, 20);
    expect(await finish(entityId, redeliveryId)).toMatchObject({ status: 'finished', totalResults: 501, queued: 501 });
    expect((await owed(entityId)).reduce((sum, count) => sum + count, 0)).toBe(501);
  });

  test('narrows by every filter of the list', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const [first] = await acceptMany(store.db, entityId, 3);
    await complete(entityId, 'failed');
    const nowS = Math.floor(Date.now() / 1000);
    const filters: [DeliveryFilter, number][] = [
      [{ eventId: first?.eventId ?? '' }, 1],
      [{ webhookId: 'wh_none' }, 0],
      [{ webhookId, status: 'failed', event: 'LatePayment', networkId: 1 }, 3],
      [{ status: 'delivered' }, 0],
      [{ event: 'TransferCreated' }, 0],
      [{ networkId: 7 }, 0],
      [{ since: nowS - 3_600 }, 3],
      [{ until: nowS - 3_600 }, 0],
    ];
    for (const [filter, matches] of filters) {
      const { totalResults, queued, status } = await finish(entityId, await start(entityId, filter));
      expect({ filter, totalResults, queued, status }).toEqual({
        filter,
        totalResults: matches,
        queued: matches,
        status: 'finished',
      });
    }
  });

  test.each([`{"status":"failed' or '1' = '1"}`, '{"webhookIds":["wh_1"]}'])(
    'queues nothing when the stored filter is not one: %s',
    async (filter) => {
      const { entityId, webhookId } = await newReceiver(store.db);
      await acceptMany(store.db, entityId, 3);
      const redeliveryId = await start(entityId, { webhookId });
      await store.db.transaction((queries) =>
        queries.run('update redeliveries set filter = $2 where entity_id = $1', [entityId, filter]),
      );
      await rejection(continueRedelivery(store.db, entityId, redeliveryId));
      expect(new Set(await owed(entityId))).toEqual(new Set([0]));
      await store.db.transaction((queries) => queries.run('delete from redeliveries where entity_id = $1', [entityId]));
    },
  );

  test.each(['queue q', 'deliveries d'])('misses none that is completed before it looks into %s', async (table) => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    const redeliveryId = await start(entityId, { webhookId });
    const complete = () => completeAll(store.db, entityId, 'delivered');
    // SQLite has one writer: nothing changes between two statements of a transaction.
    const db =
      store.engine === 'sqlite'
        ? store.db
        : beforeStatement(store.db, (sql) => sql.includes(`from ${table} where`), complete);
    while (await continueRedelivery(db, entityId, redeliveryId));
    expect(await readRedelivery(store.db, entityId, redeliveryId)).toMatchObject({ queued: 3, status: 'finished' });
  });

  test('skips the deliveries of deleted and suspended webhooks, and counts them', async () => {
    const { entityId } = await newReceiver(store.db);
    const deleted = await addReceiver(store.db, entityId, `${HOOK}/gone`);
    const suspended = await addReceiver(store.db, entityId, `${HOOK}/suspended`);
    await acceptMany(store.db, entityId, 4);
    await deleteWebhook(store.db, entityId, deleted, () => true, TEST_CHANGE);
    await suspendWebhook(store.db, entityId, suspended, 'failing', TEST_CHANGE);
    const done = await finish(entityId, await start(entityId, { event: 'LatePayment' }));
    expect(done).toMatchObject({ totalResults: 12, queued: 4, skipped: 8, status: 'finished' });
  });

  test('says what became of each: delivered, failed, or with an attempt to come', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await complete(entityId, 'failed');
    await acceptMany(store.db, entityId, 1);
    await complete(entityId, 'delivered');
    await accept(store.db, newEvent(entityId, { firstDelayMs: 3_600_000 }));
    const redeliveryId = await start(entityId, { webhookId });
    const queued = { totalResults: 5, queued: 5, skipped: 0 };
    expect(await finish(entityId, redeliveryId)).toMatchObject({
      ...{ ...queued, sent: 0, delivered: 0, failed: 0, waiting: 5 },
    });
    // The first of what failed arrives; what had been delivered does not arrive again, and what waited goes on waiting.
    const sender = new ScriptedSender(() => respondedWith(sender.requests.length === 1 ? 204 : 500));
    await withEngine(store.db, sender, () =>
      until('all are sent', async () => (await progressOf(entityId, redeliveryId)).sent === 5),
    );
    expect(await progressOf(entityId, redeliveryId)).toMatchObject({
      ...{ ...queued, sent: 5, delivered: 1, failed: 3, waiting: 1 },
    });
  });

  test('takes no test requests and no alerts, whatever their status, and does not count them', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await setNoticeUrl(store.db, entityId, 'https://alerts.example.com/', TEST_CHANGE);
    await acceptMany(store.db, entityId, 2);
    await complete(entityId, 'failed');
    for (const status of [200, 500]) await recordTestOf(store.db, entityId, webhookId, respondedWith(status));
    const other = await addReceiver(store.db, entityId, `${HOOK}/gone`);
    await suspendWebhook(store.db, entityId, other, 'gone', TEST_CHANGE);
    const sentAgain = (await listed(entityId)).find(({ kind, status }) => kind === 'test' && status === 'failed');
    expect((await listed(entityId)).map(({ kind }) => kind).sort()).toEqual([
      'alert',
      'event',
      'event',
      'test',
      'test',
    ]);
    // One of the test requests is sent again by hand, so that it is in the queue.
    expect(await redeliver(store.db, entityId, sentAgain?.deliveryId ?? '')).toBe(true);
    const nowS = Math.floor(Date.now() / 1000);
    const filters: [DeliveryFilter, number][] = [
      [{ networkId: 1 }, 2],
      [{ status: 'failed' }, 2],
      [{ status: 'delivered' }, 0],
      [{ status: 'pending' }, 0],
      [{ webhookId }, 2],
      [{ webhookId: 'notice' }, 0],
      [{ eventId: sentAgain?.eventId ?? '' }, 0],
      [{ since: nowS - 3_600 }, 2],
      [{ since: nowS - 3_600, status: 'failed', networkId: 1 }, 2],
    ];
    for (const [filter, matches] of filters) {
      const counted = await countRedelivering(store.db, entityId, filter);
      const { totalResults, queued, skipped } = await finish(entityId, await start(entityId, filter));
      const expected = { counted: matches, totalResults: matches, queued: matches, skipped: 0 };
      expect({ filter, counted, totalResults, queued, skipped }).toEqual({ filter, ...expected });
    }
    const kinds = new Map((await listed(entityId)).map(({ deliveryId, kind }) => [deliveryId, kind]));
    const times = filters.filter(([, matches]) => matches > 0).length;
    for (const { deliveryId, redeliver: count } of await readDeliveries(store.db, entityId)) {
      const asked = kinds.get(deliveryId) === 'event' ? times : deliveryId === sentAgain?.deliveryId ? 1 : 0;
      expect({ deliveryId, count }).toEqual({ deliveryId, count: asked });
    }
  });

  test('is unknown to other entities, whose deliveries it leaves alone', async () => {
    const { entityId } = await newReceiver(store.db);
    const { entityId: other } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    await acceptMany(store.db, other, 2);
    const redeliveryId = await start(entityId, { networkId: 1 });
    expect(await readRedelivery(store.db, other, redeliveryId)).toBeNull();
    expect(await continueRedelivery(store.db, other, redeliveryId)).toBe(false);
    await finish(entityId, redeliveryId);
    expect([await owed(entityId), await owed(other)]).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });
});

function never(): never {
  throw new Error('it is not there');
}
