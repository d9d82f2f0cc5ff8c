import { describe, expect, test } from 'bun:test';
import {
  type Queries,
  type SqlInteger,
  type SqlValue,
  TRANSACTION_LIMITS,
} from '../../../../src/store/database/database.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { PacedBatches } from '../../../../src/store/database/paced-batches.ts';
import { readDelivery } from '../../../../src/store/deliveries/read.ts';
import type { AttemptRecord } from '../../../../src/store/deliveries/record/attempt-log.ts';
import { recordAttempts } from '../../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../../src/store/deliveries/retention/retention.ts';
import { acceptEvents } from '../../../../src/store/events/accept.ts';
import { readEvent } from '../../../../src/store/events/read.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { newStoredNetwork } from '../../../support/chain/stored-network.ts';
import { accept, claim, databaseNowMs, HOOK, newEvent, readDeliveries, statuses } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { attemptThat, countRows, type End, keepOrder, readNumbers, record } from '../../../support/order.ts';
import { TEST_DEADLINE_MS } from '../../../support/postgres.ts';
import { POSTGRES_ONLY } from '../../../support/requirements.ts';
import { alteredQueries, countAwaited, onSuiteEngine } from '../../../support/stores.ts';
import { countTasks, runTasks } from '../../../support/tasks.ts';
import { newEntity, register, seedWebhooks } from '../../../support/webhooks.ts';

const MAX_DELIVERIES = TRANSACTION_LIMITS.deliveries;

const KINDS = ['LatePayment', 'TransferProcessed', 'ScheduledAgreementCancel', 'AgreementCancelled'] as const;
const CHANGE = { actor: 'test', nowS: 1_763_168_400 };

onSuiteEngine('supersession', (store) => {
  async function newEndpoint(): Promise<{ entityId: string; late: string }> {
    const entityId = await newEntity(store.db);
    const pairs = KINDS.map((event) => ({ networkId: 1, event }));
    const { webhooks } = await register(store.db, entityId, HOOK, pairs);
    return { entityId, late: webhooks.find(({ event }) => event === 'LatePayment')?.webhookId ?? '' };
  }

  const about = (entityId: string, event: string, id: string) => {
    const body = JSON.stringify({ event, networkId: 1, transferId: id, agreementId: id });
    return newEvent(entityId, { event, transferId: id, agreementId: id, body });
  };

  test('a payment ends the reminders of the same transfer that wait, retry or are held, and no others', async () => {
    const { entityId, late } = await newEndpoint();
    await accept(store.db, about(entityId, 'LatePayment', 'a'));
    const [first] = await claim(store.db, entityId);
    if (first !== undefined) await record(store.db, attemptThat('retried', first));
    await accept(store.db, about(entityId, 'LatePayment', 'a'), about(entityId, 'LatePayment', 'b'));
    await suspendWebhook(store.db, entityId, late, 'failing', CHANGE);
    const payment = about(entityId, 'TransferProcessed', 'a');
    expect(await accept(store.db, payment)).toMatchObject([{ deliveries: 1, supersededBy: null }]);
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'superseded', 'held', 'pending']);
    const [delivery] = await readDeliveries(store.db, entityId);
    const shown = await readDelivery(store.db, entityId, delivery?.deliveryId ?? '');
    expect(shown).toMatchObject({ status: 'superseded', supersededBy: payment.eventId, attempts: 1, sequence: 1 });
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('a reminder that comes after the payment is accepted, has no delivery and no number, and names the payment', async () => {
    const { entityId } = await newEndpoint();
    const payment = about(entityId, 'TransferFinalized', 'a');
    const reminder = about(entityId, 'LatePayment', 'a');
    await accept(store.db, payment);
    const expected = { eventId: reminder.eventId ?? '', deliveries: 0, supersededBy: payment.eventId };
    expect(await accept(store.db, reminder)).toEqual([{ ...expected, repeated: false }]);
    expect(await accept(store.db, reminder)).toEqual([{ ...expected, repeated: true }]);
    expect(await accept(store.db, about(entityId, 'LatePayment', 'b'))).toMatchObject([{ deliveries: 1 }]);
    expect((await readNumbers(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([1]);
  });

  test('a held payment ends the reminders once its transaction has the finality of a webhook, and none before', async () => {
    const { networkId, tenant, chain, follow, followBlocks, acceptFacts } = await newStoredNetwork(store.db);
    const { entityId } = tenant;
    await register(store.db, entityId, HOOK, [{ networkId, event: 'LatePayment' }]);
    const aboutHere = (event: string) => ({ ...about(entityId, event, 'a'), agreementId: null, networkId });
    const transaction = chain.transaction();
    const [first, second, third] = [aboutHere('LatePayment'), aboutHere('LatePayment'), aboutHere('LatePayment')];
    await accept(store.db, first);
    const payment = { ...aboutHere('TransferProcessed'), heldFor: transaction.hash };
    await accept(store.db, payment);
    expect(await accept(store.db, second)).toMatchObject([{ deliveries: 1, supersededBy: null }]);
    await follow(2);
    chain.mine([transaction]);
    await follow(1);
    await acceptFacts();
    expect(await statuses(store.db, entityId)).toEqual(['pending', 'pending']);
    await followBlocks(4);
    await acceptFacts();
    await runTasks(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'pending', 'superseded']);
    expect(await accept(store.db, third)).toMatchObject([{ deliveries: 0, supersededBy: payment.eventId }]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('notes no payment of an entity without a webhook for reminders', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, HOOK, [{ networkId: 1, event: 'TransferProcessed' }]);
    await accept(store.db, about(entityId, 'TransferProcessed', 'a'));
    expect(await countRows(store.db, 'subjects', entityId)).toBe(0);
  });

  test('ends a reminder for more webhooks than one transaction has room for, with what is not made of it yet', async () => {
    const entityId = await newEntity(store.db);
    const seeds = Array.from({ length: MAX_DELIVERIES + 5 }, (_, index) => ({
      networkId: 1,
      event: 'LatePayment',
      postUrl: `https://hooks.example.com/${index}`,
    }));
    await seedWebhooks(store.db, entityId, seeds);
    const reminder = about(entityId, 'LatePayment', 'a');
    expect(await accept(store.db, reminder)).toMatchObject([{ deliveries: MAX_DELIVERIES + 5 }]);
    await accept(store.db, about(entityId, 'TransferProcessed', 'a'));
    await runTasks(store.db);
    expect(await countTasks(store.db)).toBe(0);
    expect(await readEvent(store.db, entityId, reminder.eventId ?? '')).toMatchObject({ deliveries: MAX_DELIVERIES });
    expect(await countRows(store.db, 'queue', entityId)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('holds within one batch of events, in either order', async () => {
    const { entityId } = await newEndpoint();
    const events = ['LatePayment', 'TransferProcessed', 'LatePayment'].map((event) => about(entityId, event, 'a'));
    const results = await accept(store.db, ...events);
    expect(results).toMatchObject([
      { deliveries: 1, supersededBy: null },
      { deliveries: 1, supersededBy: null },
      { deliveries: 0, supersededBy: events[1]?.eventId },
    ]);
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'pending']);
  });

  test('waits for no more responses of the database with fifty reminders than with one', async () => {
    const { entityId } = await newEndpoint();
    const awaitedFor = async (reminders: number) => {
      let awaited = 0;
      const counted = countAwaited(store.db, () => awaited++);
      const ids = Array.from({ length: reminders }, (_, at) => `${reminders}-${at}`);
      const events = ids.map((id) => ({ ...about(entityId, 'LatePayment', id), eventId: id }));
      await accept(counted, ...events);
      return awaited;
    };
    const one = await awaitedFor(1);
    expect(await awaitedFor(50)).toBeLessThanOrEqual(one);
  });

  test('a cancellation ends one that was scheduled before it, and none that is scheduled after it', async () => {
    const { entityId } = await newEndpoint();
    for (const event of ['ScheduledAgreementCancel', 'AgreementCancelled', 'ScheduledAgreementCancel']) {
      await accept(store.db, about(entityId, event, 'a'));
    }
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'pending', 'pending']);
  });

  test('one in flight counts as delivered if it arrives, and is not sent again if it does not', async () => {
    const { entityId } = await newEndpoint();
    await accept(store.db, about(entityId, 'LatePayment', 'a'), about(entityId, 'LatePayment', 'b'));
    const [arrives, fails] = await claim(store.db, entityId);
    for (const id of ['a', 'b']) await accept(store.db, about(entityId, 'TransferProcessed', id));
    if (arrives !== undefined) await record(store.db, attemptThat('delivered', arrives));
    await runTasks(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'pending', 'pending', 'pending']);
    if (fails !== undefined) await record(store.db, attemptThat('retried', fails));
    await runTasks(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'superseded', 'pending', 'pending']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    expect(await countTasks(store.db)).toBe(0);
  });

  test.each(['delivered', 'retried'] as const)('one in flight that is %s keeps its turn until then', async (end) => {
    const { entityId } = await newEndpoint();
    await keepOrder(store.db, entityId, HOOK);
    await accept(store.db, about(entityId, 'LatePayment', 'a'));
    const reminder = await claim(store.db, entityId);
    await accept(store.db, about(entityId, 'TransferProcessed', 'a'));
    await runTasks(store.db);
    expect(await claim(store.db, entityId)).toEqual([]);
    await record(store.db, ...reminder.map((delivery) => attemptThat(end, delivery)));
    await runTasks(store.db);
    expect((await claim(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([2]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('one in flight that someone asked to send again is not', async () => {
    const { entityId } = await newEndpoint();
    await accept(store.db, about(entityId, 'LatePayment', 'a'));
    const [reminder] = await claim(store.db, entityId);
    if (reminder === undefined) throw new Error('the reminder was not claimed');
    await redeliver(store.db, entityId, reminder.deliveryId);
    await accept(store.db, about(entityId, 'TransferProcessed', 'a'));
    await record(store.db, attemptThat('retried', reminder));
    await runTasks(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'pending']);
    expect((await claim(store.db, entityId)).map(({ kind }) => kind)).toEqual(['first']);
  });

  test('gives the turn to the payment where the endpoint keeps order', async () => {
    const { entityId } = await newEndpoint();
    await keepOrder(store.db, entityId, HOOK);
    for (const event of ['LatePayment', 'ScheduledAgreementCancel', 'TransferProcessed']) {
      await accept(store.db, about(entityId, event, 'a'));
    }
    expect((await claim(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([2]);
    expect(await statuses(store.db, entityId)).toEqual(['superseded', 'pending', 'pending']);
  });

  test('a redelivery sends one that was superseded, and leaves its status if it fails', async () => {
    const { entityId } = await newEndpoint();
    const payment = about(entityId, 'TransferProcessed', 'a');
    await accept(store.db, about(entityId, 'LatePayment', 'a'), payment);
    const [reminder] = await readDeliveries(store.db, entityId);
    await redeliver(store.db, entityId, reminder?.deliveryId ?? '');
    const claimed = (await claim(store.db, entityId)).filter(({ kind }) => kind === 'redelivery');
    expect(claimed).toHaveLength(1);
    await record(store.db, ...claimed.map((delivery) => attemptThat('failed', delivery)));
    const shown = await readDelivery(store.db, entityId, reminder?.deliveryId ?? '');
    expect(shown).toMatchObject({ status: 'superseded', supersededBy: payment.eventId, attempts: 1 });
  });

  test('of a reminder and a payment that are accepted at once, the reminder is never left to be sent', async () => {
    const { entityId } = await newEndpoint();
    const other =
      store.engine === 'postgres'
        ? await openDatabase({ engine: 'postgres', url: store.url, deadlineMs: TEST_DEADLINE_MS })
        : store.db;
    for (let race = 0; race < 50; race++) {
      const id = `race-${race}`;
      await Promise.all([
        accept(store.db, about(entityId, 'LatePayment', id)),
        accept(other, about(entityId, 'TransferProcessed', id)),
      ]);
    }
    if (other !== store.db) await other.close();
    const waiting = (await claim(store.db, entityId, 1_000)).map(({ body }) => JSON.parse(body ?? '{}').event);
    expect(waiting).toEqual(Array(50).fill('TransferProcessed'));
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  // SQLite has one writer.
  describe.skipIf(store.engine !== 'postgres')(`beside a transaction that records attempts ${POSTGRES_ONLY}`, () => {
    type Ends = { readonly a: End; readonly b: End };

    async function remindOfTwo(ends: Ends): Promise<{ entityId: string; attempts: AttemptRecord[] }> {
      const { entityId } = await newEndpoint();
      await accept(store.db, about(entityId, 'LatePayment', 'a'), about(entityId, 'LatePayment', 'b'));
      const [a, b] = (await claim(store.db, entityId)).sort((one, other) =>
        one.deliveryId < other.deliveryId ? -1 : 1,
      );
      if (a === undefined || b === undefined) throw new Error('two reminders were not claimed');
      return { entityId, attempts: [attemptThat(ends.a, a), attemptThat(ends.b, b)] };
    }

    async function waitsForLock(): Promise<void> {
      // On Citus the wait is on a worker, and the coordinator only waits for its response.
      const waits = store.db.dialect.isDistributed
        ? 'citus_lock_waits'
        : `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      const sql = `select count(*) as count from ${waits}`;
      while (Number((await store.db.get<{ count: SqlInteger }>(sql))?.count) === 0) await Bun.sleep(5);
    }

    test('two payments in the opposite order of their reminders end without a deadlock', async () => {
      const { entityId, attempts } = await remindOfTwo({ a: 'delivered', b: 'retried' });
      const payments = ['b', 'a'].map((id) => about(entityId, 'TransferProcessed', id));
      let recording: Promise<unknown> = Promise.resolve();
      await store.db.transaction((queries) => {
        const paused = afterFirst(/^update queue set redeliver = 0/, queries, async () => {
          recording = record(store.db, ...attempts);
          await waitsForLock();
        });
        return acceptEvents(paused, store.db.dialect, payments);
      });
      await recording;
      await runTasks(store.db);
      const [first, second] = await statuses(store.db, entityId);
      expect([first, second]).toEqual(['delivered', 'superseded']);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    });

    test('a record of one that arrived and one that failed ends without a deadlock', async () => {
      const { entityId, attempts } = await remindOfTwo({ a: 'retried', b: 'delivered' });
      const payments = ['a', 'b'].map((id) => about(entityId, 'TransferProcessed', id));
      let paying: Promise<unknown> = Promise.resolve();
      await store.db.transaction((queries) => {
        const paused = afterFirst(/insert into deliveries/, queries, async () => {
          paying = accept(store.db, ...payments);
          await waitsForLock();
        });
        return recordAttempts(paused, store.db.dialect, attempts);
      });
      await paying;
      const [first, second] = await statuses(store.db, entityId);
      expect([first, second]).toEqual(['superseded', 'delivered']);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    });
  });

  test('retention forgets what events were about, and a reminder is sent again then', async () => {
    const { entityId } = await newEndpoint();
    await accept(store.db, about(entityId, 'LatePayment', 'a'), about(entityId, 'TransferProcessed', 'a'));
    await accept(store.db, about(entityId, 'ScheduledAgreementCancel', 'b'));
    const claimed = await claim(store.db, entityId);
    await record(store.db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));
    const nowMs = (await databaseNowMs(store.db)) + 60_000;
    await prune(store.db, { olderThanMs: 30_000, batches: new PacedBatches(store.engine, 0), nowMs });
    expect(await countRows(store.db, 'events', entityId)).toBe(0);
    expect(await countRows(store.db, 'subjects', entityId)).toBe(0);
    expect(await countRows(store.db, 'supersedable', entityId)).toBe(0);
    expect(await accept(store.db, about(entityId, 'LatePayment', 'a'))).toMatchObject([{ deliveries: 1 }]);
  });
});

/** The same statements, with something else done after the first that matches. */
function afterFirst(pattern: RegExp, queries: Queries, act: () => Promise<unknown>): Queries {
  let isDone = false;
  const then = async <Value>(sql: string, result: Promise<Value>): Promise<Value> => {
    const value = await result;
    if (isDone || !pattern.test(sql)) return value;
    isDone = true;
    await act();
    return value;
  };
  return alteredQueries(queries, {
    all: <Row>(sql: string, params?: readonly SqlValue[]) => then(sql, queries.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly SqlValue[]) => then(sql, queries.get<Row>(sql, params)),
    run: (sql, params) => then(sql, queries.run(sql, params)),
  });
}
