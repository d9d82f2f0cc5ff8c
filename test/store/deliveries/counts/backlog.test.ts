import { expect, test } from 'bun:test';
import { EntityUsage } from '../../../../src/store/deliveries/counts/usage.ts';
import { deleteWebhook } from '../../../../src/store/webhooks/change.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { acceptMany, addReceiver, completeAll, newReceiver } from '../../../support/deliveries.ts';
import { rejection } from '../../../support/rejection.ts';
import { alteredStore, onSuiteEngine } from '../../../support/stores.ts';

onSuiteEngine('the backlog of an entity', (store) => {
  test('has room below its limit and none from it on, and says how much waits', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await new EntityUsage(store.db, 4).requireRoom(entityId);
    const full = new EntityUsage(store.db, 3).requireRoom(entityId);
    expect(await rejection(full)).toMatchObject({ kind: 'backlog_full', facts: { waiting: 3, limit: 3 } });
    expect((await rejection(full)).message).toContain('3 deliveries of this entity are waiting, and the limit is 3');
    await full.catch(() => undefined);
  });

  test('counts neither what is held nor what was cancelled: one forgotten webhook must not stop its entity', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await new EntityUsage(store.db, 3).requireRoom(entityId);
    await addReceiver(store.db, entityId, 'https://other.example.com/');
    await acceptMany(store.db, entityId, 3);
    expect(await rejection(new EntityUsage(store.db, 3).requireRoom(entityId))).toMatchObject({
      facts: { waiting: 3 },
    });
    await new EntityUsage(store.db, 4).requireRoom(entityId);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await new EntityUsage(store.db, 4).requireRoom(entityId);
  });

  test('grows with what is accepted between two counts', async () => {
    const { entityId } = await newReceiver(store.db);
    const backlog = new EntityUsage(store.db, 10);
    await backlog.requireRoom(entityId);
    await acceptMany(store.db, entityId, 10);
    backlog.add(entityId, 10, 0);
    expect(await rejection(backlog.requireRoom(entityId))).toMatchObject({ kind: 'backlog_full' });
  });

  test('has room again at once when what was accepted since the last count has been delivered or is held', async () => {
    const { entityId } = await newReceiver(store.db);
    const backlog = new EntityUsage(store.db, 10);
    for (let round = 0; round < 3; round++) {
      // Throws if there is no room.
      await backlog.requireRoom(entityId);
      await acceptMany(store.db, entityId, 10);
      backlog.add(entityId, 10, 0);
      await completeAll(store.db, entityId, 'delivered');
    }
    const held = await newReceiver(store.db);
    await suspendWebhook(store.db, held.entityId, held.webhookId, 'gone', TEST_CHANGE);
    for (let round = 0; round < 3; round++) {
      await backlog.requireRoom(held.entityId);
      await acceptMany(store.db, held.entityId, 10);
      backlog.add(held.entityId, 10, 0);
    }
  });

  test('is its own and not that of another entity', async () => {
    const [one, two] = [await newReceiver(store.db), await newReceiver(store.db)];
    await acceptMany(store.db, one.entityId, 5);
    const backlog = new EntityUsage(store.db, 5);
    expect(await rejection(backlog.requireRoom(one.entityId))).toMatchObject({ kind: 'backlog_full' });
    await backlog.requireRoom(two.entityId);
  });

  test('is counted once for a thousand who ask at the same time', async () => {
    const { entityId } = await newReceiver(store.db);
    let counts = 0;
    const counting = alteredStore(store.db, {
      get: (sql, params) => {
        counts++;
        return store.db.get(sql, params);
      },
    });
    const backlog = new EntityUsage(counting, 5);
    await Promise.all(Array.from({ length: 1_000 }, () => backlog.requireRoom(entityId)));
    expect(counts).toBe(1);
  });
});
