import { expect, test } from 'bun:test';
import type { DeliveryStatus, NextState, Outcome } from '../../../../src/domain/attempt.ts';
import { recordAttempts } from '../../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { deleteWebhook } from '../../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import {
  acceptMany,
  claim,
  failedWith,
  letPass,
  newReceiver,
  respondedWith,
  statuses,
} from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';

const RETRY: NextState = { status: 'retrying', steps: 1, delayMs: 60_000, suspend: null };
const FAILED: NextState = { status: 'failed', steps: 1, delayMs: null, suspend: null };
const DELIVERED: NextState = { status: 'delivered', steps: 1, delayMs: null, suspend: null };

onSuiteEngine('the counters of deliveries', (store) => {
  /** Claims what is due, and records these attempts of it in order. */
  async function attempt(entityId: string, ...ends: readonly NextState[]): Promise<string[]> {
    const claimed = await claim(store.db, entityId, ends.length);
    const outcomeOf = (next: NextState): Outcome =>
      next.status === 'delivered' ? respondedWith(200) : failedWith('dns');
    const made = ends.flatMap((next, index) => {
      const delivery = claimed[index];
      return delivery === undefined ? [] : [{ delivery, next, outcome: outcomeOf(next), startedAtMs: 0 }];
    });
    expect(made).toHaveLength(ends.length);
    await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, made));
    return claimed.map(({ deliveryId }) => deliveryId);
  }

  const expectRight = async (entityId: string, ...expected: readonly DeliveryStatus[]) => {
    expect((await statuses(store.db, entityId)).sort()).toEqual(expected.toSorted());
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  };

  test('are right in every state and after every change', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 4);
    await expectRight(entityId, 'pending', 'pending', 'pending', 'pending');
    const [delivered = '', failed = ''] = await attempt(entityId, DELIVERED, FAILED, RETRY);
    await expectRight(entityId, 'delivered', 'failed', 'retrying', 'pending');
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await expectRight(entityId, 'delivered', 'failed', 'held', 'held');
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    await attempt(entityId, DELIVERED, RETRY);
    await expectRight(entityId, 'delivered', 'delivered', 'failed', 'retrying');
    for (const deliveryId of [delivered, failed]) await redeliver(store.db, entityId, deliveryId);
    await expectRight(entityId, 'delivered', 'delivered', 'failed', 'retrying');
    await attempt(entityId, DELIVERED, DELIVERED);
    await expectRight(entityId, 'delivered', 'delivered', 'delivered', 'retrying');
    await letPass(store.db, entityId, 60_000);
    await attempt(entityId, FAILED);
    await expectRight(entityId, 'delivered', 'delivered', 'delivered', 'failed');
  });

  test('are right while a deleted webhook is swept and afterwards', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await attempt(entityId, DELIVERED, RETRY);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await expectRight(entityId, 'delivered', 'cancelled', 'cancelled');
    await runTasks(store.db);
    await expectRight(entityId, 'delivered', 'cancelled', 'cancelled');
  });
});
