import { expect, test } from 'bun:test';
import { destinationKey } from '../../../src/domain/destination.ts';
import { recordAttempts } from '../../../src/store/deliveries/record-attempts.ts';
import { parkClaimed, redirectClaimed } from '../../../src/store/deliveries/states.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { markFailing, resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  newEvent,
  newReceiver,
  readDeliveries,
  respondedWith,
  statuses,
} from '../../support/deliveries.ts';
import { onEveryEngine } from '../../support/stores.ts';

const NEW_HOME = 'https://new-home.example.com/hook';

onEveryEngine('a waiting delivery', (store) => {
  const auditActions = async (entityId: string) =>
    (
      await store.db.all<{ action: string }>('select action from audit where entity_id = $1 order by id', [entityId])
    ).map(({ action }) => action);

  test('is cancelled when its webhook is deleted, and those of other webhooks are not', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const other = await addReceiver(store.db, entityId, 'https://other.example.com/');
    await acceptMany(store.db, entityId, 3);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    for (const delivery of await readDeliveries(store.db, entityId)) {
      const expected = delivery.webhookId === other ? { status: 'pending' } : { status: 'cancelled', dueMs: null };
      expect(delivery).toMatchObject(expected);
    }
  });

  test('follows its webhook to a new URL', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await moveWebhook(store.db, entityId, webhookId, NEW_HOME, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject(Array(3).fill({ postUrl: NEW_HOME }));
  });

  test('keeps its destination when only the path has changed', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const moved = 'https://hooks.example.com/elsewhere';
    await moveWebhook(store.db, entityId, webhookId, moved, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toMatchObject([{ postUrl: moved }]);
  });

  test('is held while its webhook is suspended and released when it is resumed, from the first step again', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId, { firstDelayMs: 3_600_000 }));
    expect(await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE)).toBe(true);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([
      { status: 'held', dueMs: null, nextAttemptMs: null },
    ]);
    await accept(store.db, newEvent(entityId));
    expect(await claim(store.db, entityId)).toEqual([]);
    expect(await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE)).toEqual({ resumed: true });
    expect(await claim(store.db, entityId)).toMatchObject(Array(2).fill({ status: 'pending', steps: 0 }));
    expect(await auditActions(entityId)).toEqual(expect.arrayContaining(['webhook.suspended', 'webhook.resumed']));
  });

  test('is released to the URL that the webhook got while it was suspended', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await moveWebhook(store.db, entityId, webhookId, NEW_HOME, () => true, TEST_CHANGE);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject([{ postUrl: NEW_HOME }]);
  });

  test('is changed like all of many thousands, although each transaction changes only a part', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2_001);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['held']));
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['pending']));
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['cancelled']));
  });

  test('is left alone by suspending twice, and by resuming a webhook that is active or does not exist', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE)).toBe(false);
    expect(await suspendWebhook(store.db, entityId, 'wh_none', 'gone', TEST_CHANGE)).toBe(false);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE)).toEqual({ resumed: false });
    expect(await resumeWebhook(store.db, entityId, 'wh_none', TEST_CHANGE)).toBeNull();
    const actions = (await auditActions(entityId)).filter((action) => /suspended|resumed/.test(action));
    expect(actions).toEqual(['webhook.suspended', 'webhook.resumed']);
  });

  test('is released also when it is accepted during the resume', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const resuming = await store.db.transaction(async (queries) => {
      await acceptEvents(queries, store.db.dialect, [newEvent(entityId)]);
      return resumeDuring(entityId, webhookId);
    });
    await resuming.done;
    expect(await statuses(store.db, entityId)).toEqual(['pending']);
  });

  test('is released also when its attempt is recorded during the resume', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const [claimed] = await claim(store.db, entityId);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const next = { status: 'retrying', steps: 1, delayMs: 60_000, suspend: null } as const;
    const delivery = { ...claimed, postUrl: 'https://hooks.example.com/paybell' };
    const attempt = { delivery, next, outcome: respondedWith(500), startedAtMs: 0 };
    const resuming = await store.db.transaction(async (queries) => {
      await recordAttempts(queries, store.db.dialect, [attempt]);
      return resumeDuring(entityId, webhookId);
    });
    await resuming.done;
    expect(await statuses(store.db, entityId)).toEqual(['retrying']);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  /** Starts a resume while a transaction is open, and lets it do everything that does not wait for the transaction. */
  async function resumeDuring(entityId: string, webhookId: string): Promise<{ done: Promise<unknown> }> {
    const done = resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    await Bun.sleep(60);
    return { done };
  }
});

onEveryEngine('a claimed delivery', (store) => {
  async function claimedOne() {
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, 1);
    const [claimed] = await claim(store.db, receiver.entityId);
    if (claimed === undefined) throw new Error('nothing was claimed');
    return { ...receiver, claimed };
  }

  test.each(['held', 'cancelled'] as const)(
    'whose webhook is out of reach is %s and has used up nothing',
    async (status) => {
      const { entityId, claimed } = await claimedOne();
      await store.db.transaction((queries) => parkClaimed(queries, claimed, status));
      expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status, dueMs: null, attempts: 0, steps: 0 }]);
    },
  );

  test('whose webhook has another URL is due at the new destination', async () => {
    const { entityId, claimed } = await claimedOne();
    const destination = destinationKey(entityId, NEW_HOME);
    await store.db.transaction((queries) => redirectClaimed(store.db, queries, claimed, destination));
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject([{ token: 2, attempts: 0 }]);
  });

  test('that another process has claimed since is neither parked nor redirected', async () => {
    const { entityId, claimed } = await claimedOne();
    const stale = { ...claimed, token: claimed.token - 1 };
    const elsewhere = destinationKey(entityId, NEW_HOME);
    await store.db.transaction((queries) => parkClaimed(queries, stale, 'cancelled'));
    await store.db.transaction((queries) => redirectClaimed(store.db, queries, stale, elsewhere));
    expect(await readDeliveries(store.db, entityId)).toMatchObject([
      { status: 'pending', destination: claimed.destination },
    ]);
  });
});

onEveryEngine('the time since which a webhook fails', (store) => {
  test('is set by the first failure, kept by the next, and cleared by a success', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const failingSince = async () => {
      await acceptMany(store.db, entityId, 1);
      return (await claim(store.db, entityId)).at(-1)?.failingSinceMs;
    };
    expect(await failingSince()).toBeNull();
    await markFailing(store.db, entityId, webhookId, true);
    const since = await failingSince();
    expect(since).toBeNumber();
    await Bun.sleep(5);
    await markFailing(store.db, entityId, webhookId, true);
    expect(await failingSince()).toBe(since ?? 0);
    await markFailing(store.db, entityId, webhookId, false);
    expect(await failingSince()).toBeNull();
  });
});
