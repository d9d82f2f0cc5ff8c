import { expect, test } from 'bun:test';
import type { NextState, Outcome } from '../../../src/domain/attempt.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../../../src/store/deliveries/record/attempt-log.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  acceptMany,
  claim,
  databaseNowMs,
  failedWith,
  HOOK,
  LEASE_MS,
  letPass,
  newReceiver,
  readAttempts,
  readDeliveries,
  respondedWith,
} from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';

const DELIVERED: NextState = { status: 'delivered', steps: 1, delayMs: null, suspend: null };
const RETRY: NextState = { status: 'retrying', steps: 1, delayMs: 60_000, suspend: null };
const FAILED: NextState = { status: 'failed', steps: 1, delayMs: null, suspend: null };

function made(claimed: Claimed, next: NextState, outcome: Outcome): AttemptRecord {
  return { delivery: { ...claimed, postUrl: HOOK }, next, outcome, startedAtMs: 1_700_000_000_000 };
}

onEveryEngine('recording an attempt', (store) => {
  const record = (...attempts: AttemptRecord[]) =>
    store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, attempts));

  async function claimed(count = 1) {
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, count);
    const [first, ...others] = await claim(store.db, receiver.entityId);
    if (first === undefined) throw new Error('nothing was claimed');
    return { ...receiver, first, all: [first, ...others] };
  }

  test('a success ends the delivery and logs the attempt', async () => {
    const { entityId, first } = await claimed();
    const beforeMs = await databaseNowMs(store.db);
    expect(await record(made(first, DELIVERED, respondedWith(204, { body: 'thank you' })))).toEqual(
      new Set([first.deliveryId]),
    );
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery).toMatchObject({
      status: 'delivered',
      attempts: 1,
      dueMs: null,
      nextAttemptMs: null,
      lastStatusCode: 204,
      lastError: null,
    });
    expect(delivery?.deliveredAtMs).toBeGreaterThanOrEqual(beforeMs);
    expect(await readAttempts(store.db, entityId)).toEqual([
      {
        deliveryId: first.deliveryId,
        attempt: 1,
        kind: 'first',
        postUrl: HOOK,
        startedAtMs: 1_700_000_000_000,
        durationMs: 1,
        statusCode: 204,
        error: null,
        response: 'thank you',
        responseHeaders: null,
      },
    ]);
  });

  test('counts two attempts of a delivery in one batch each once, the second after a commit without an answer', async () => {
    const { entityId, first } = await claimed();
    const unanswered = made(first, RETRY, failedWith('timeout'));
    await record(unanswered);
    await letPass(store.db, entityId, 60_000);
    const [second] = await claim(store.db, entityId);
    if (second === undefined) throw new Error('the retry was not claimed');
    expect(await record(made(second, RETRY, respondedWith(500)), unanswered)).toEqual(new Set([first.deliveryId]));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'retrying', attempts: 2 }]);
    expect((await readAttempts(store.db, entityId)).map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('counts two successes of a delivery in one batch as one, the second after the lease of the first', async () => {
    const { entityId, first } = await claimed();
    await letPass(store.db, entityId, LEASE_MS);
    const [second] = await claim(store.db, entityId);
    if (second === undefined) throw new Error('the lease did not run out');
    const both = [first, second].map((delivery) => made(delivery, DELIVERED, respondedWith(200)));
    expect(await record(...both)).toEqual(new Set([first.deliveryId]));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('a failure waits for its next step by the clock of the database, and is then claimed as a retry', async () => {
    const { entityId, first } = await claimed();
    const beforeMs = await databaseNowMs(store.db);
    await record(made(first, RETRY, failedWith('timeout')));
    const afterMs = await databaseNowMs(store.db);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery).toMatchObject({ status: 'retrying', attempts: 1, lastStatusCode: null, lastError: 'timeout' });
    expect(delivery?.leaseMs).toBe(0);
    expect(delivery?.dueMs).toBeWithin(beforeMs + 60_000, afterMs + 60_001);
    expect(await claim(store.db, entityId)).toEqual([]);
    await letPass(store.db, entityId, 60_000);
    expect(await claim(store.db, entityId)).toMatchObject([{ kind: 'retry', attempts: 1, steps: 1, token: 2 }]);
  });

  test('the end of the schedule is the end', async () => {
    const { entityId, first } = await claimed();
    await record(made(first, FAILED, respondedWith(500, { body: 'no' })));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([
      { status: 'failed', dueMs: null, lastStatusCode: 500, deliveredAtMs: null },
    ]);
  });

  test('comes too late once another has taken the delivery over, and then leaves no trace', async () => {
    const { entityId, first } = await claimed();
    await letPass(store.db, entityId, LEASE_MS);
    const [second] = await claim(store.db, entityId);
    if (second === undefined) throw new Error('the lease did not run out');
    expect(await record(made(first, FAILED, respondedWith(500)))).toEqual(new Set());
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(await readAttempts(store.db, entityId)).toEqual([]);
    expect(await record(made(second, DELIVERED, respondedWith(200)))).toEqual(new Set([second.deliveryId]));
    expect(await record(made({ ...first, attempts: 1 }, RETRY, respondedWith(500)))).toEqual(new Set());
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
  });

  test('a success counts also when another has taken the delivery over and failed', async () => {
    const { entityId, first } = await claimed();
    await letPass(store.db, entityId, LEASE_MS);
    const [second] = await claim(store.db, entityId);
    if (second === undefined) throw new Error('nothing was taken over');
    await record(made(second, RETRY, failedWith('timeout')));
    expect(await record(made(first, DELIVERED, respondedWith(200)))).toEqual(new Set([first.deliveryId]));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'delivered', attempts: 2, dueMs: null }]);
    expect(await claim(store.db, entityId)).toEqual([]);
  });

  test('in one batch is refused for what was taken over and done for the rest', async () => {
    const { entityId, all } = await claimed(100);
    const attempts = all.map((one, index) =>
      made(index % 3 === 0 ? { ...one, token: one.token + 1 } : one, RETRY, respondedWith(500)),
    );
    const settled = await record(...attempts);
    expect(settled).toEqual(new Set(all.filter((_, index) => index % 3 !== 0).map(({ deliveryId }) => deliveryId)));
    expect(await readAttempts(store.db, entityId)).toHaveLength(66);
  });

  test('in one batch ends for good what was not taken over, and leaves the rest in the queue', async () => {
    const { entityId, all } = await claimed(10);
    const attempts = all.map((one, index) =>
      made(index % 3 === 0 ? { ...one, token: one.token + 1 } : one, FAILED, respondedWith(500)),
    );
    const settled = await record(...attempts);
    expect(settled).toEqual(new Set(all.filter((_, index) => index % 3 !== 0).map(({ deliveryId }) => deliveryId)));
    const left = (await readDeliveries(store.db, entityId)).filter(({ status }) => status === 'pending');
    expect(new Set(left.map(({ deliveryId }) => deliveryId))).toEqual(
      new Set(all.filter((_, index) => index % 3 === 0).map(({ deliveryId }) => deliveryId)),
    );
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('completes also what has an attempt of that number in its log already, and leaves that one as it is', async () => {
    const { entityId, first, all } = await claimed(2);
    await store.db.transaction((queries) =>
      queries.run(
        `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, error)
         values ($1, $2, 1, 'first', $3, 0, 0, 'timeout')`,
        [entityKey(store.db.dialect, entityId), store.db.dialect.bindUuid(first.deliveryId.slice(4)), HOOK],
      ),
    );
    await record(...all.map((one) => made(one, RETRY, respondedWith(500))));
    for (const delivery of await readDeliveries(store.db, entityId)) {
      expect(delivery).toMatchObject({ status: 'retrying', attempts: 1 });
    }
    const logged = await readAttempts(store.db, entityId);
    expect(logged).toHaveLength(2);
    expect(logged.find(({ deliveryId }) => deliveryId === first.deliveryId)).toMatchObject({ error: 'timeout' });
  });

  test('never makes one attempt count twice', async () => {
    const { entityId, first } = await claimed();
    const attempt = made(first, RETRY, respondedWith(500));
    await record(attempt);
    // As after a commit that went unanswered: it is settled, and by this very attempt.
    expect(await record(attempt)).toEqual(new Set([first.deliveryId]));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ attempts: 1 }]);
    expect(await readAttempts(store.db, entityId)).toHaveLength(1);
  });

  test('leaves cancelled what was cancelled in flight, unless the receiver has it', async () => {
    const { entityId, webhookId, all } = await claimed(2);
    const [failed, received] = all;
    if (failed === undefined || received === undefined) throw new Error('nothing was claimed');
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await record(made(failed, RETRY, respondedWith(500)), made(received, DELIVERED, respondedWith(200)));
    const byId = new Map((await readDeliveries(store.db, entityId)).map((delivery) => [delivery.deliveryId, delivery]));
    expect(byId.get(failed.deliveryId)).toMatchObject({ status: 'cancelled', attempts: 1 });
    expect(byId.get(received.deliveryId)).toMatchObject({ status: 'delivered', dueMs: null, attempts: 1 });
  });

  test('counts a success also when its webhook was deleted and swept in flight', async () => {
    const { entityId, webhookId, first } = await claimed();
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await runTasks(store.db);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'cancelled', dueMs: null }]);
    expect(await record(made(first, FAILED, respondedWith(500)))).toEqual(new Set());
    expect(await record(made(first, DELIVERED, respondedWith(200)))).toEqual(new Set([first.deliveryId]));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
  });

  test('leaves held what was held in flight, and a resume sends it again', async () => {
    const { entityId, webhookId, first } = await claimed();
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await record(made(first, RETRY, respondedWith(410)));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'held', attempts: 1 }]);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toMatchObject([{ status: 'retrying', steps: 0, kind: 'retry' }]);
  });

  test('takes more than one statement holds', async () => {
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, 250);
    const all = await claim(store.db, receiver.entityId, 250);
    const settled = await record(...all.map((one) => made(one, DELIVERED, respondedWith(200))));
    expect(settled.size).toBe(250);
    expect(await readAttempts(store.db, receiver.entityId)).toHaveLength(250);
  });
});
