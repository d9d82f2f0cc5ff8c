import { expect, test } from 'bun:test';
import { destinationKey } from '../../../src/domain/post-url.ts';
import type { SqlInteger } from '../../../src/store/database/database.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { moveWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  acceptMany,
  claim,
  HOOK,
  LATE_ON_1,
  LEASE_MS,
  newEvent,
  newReceiver,
  statuses,
} from '../../support/deliveries.ts';
import { configure, endpointOf } from '../../support/endpoints.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { register } from '../../support/webhooks.ts';

const ELSEWHERE = 'https://elsewhere.example.com/hook';
const PAYMENT_ON_1 = { networkId: 1, event: 'TransferProcessed' };
const always = () => true;

onSuiteEngine('a paused endpoint', (store) => {
  const pause = (entityId: string, postUrl = HOOK) => configure(store.db, entityId, postUrl, { paused: true });
  const resume = (entityId: string, postUrl = HOOK) => configure(store.db, entityId, postUrl, { paused: false });
  const move = (entityId: string, webhookId: string, postUrl: string) =>
    moveWebhook(store.db, entityId, webhookId, postUrl, always, TEST_CHANGE);

  test('holds what waits and what comes, and sends all of it after it was resumed', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    expect(await pause(entityId)).toMatchObject({ state: 'paused', paused: true, waiting: 2 });
    await acceptMany(store.db, entityId, 2);
    expect(await statuses(store.db, entityId)).toEqual(['held', 'held', 'held', 'held']);
    expect(await claim(store.db, entityId)).toEqual([]);
    expect(await resume(entityId)).toMatchObject({ state: 'active', paused: false, waiting: 4 });
    expect(await claim(store.db, entityId)).toHaveLength(4);
  });

  test('holds the first event of a webhook that had none before, and of one that is registered later', async () => {
    const { entityId } = await newReceiver(store.db);
    await pause(entityId);
    await register(store.db, entityId, HOOK, [PAYMENT_ON_1]);
    const dispatched: unknown[] = [];
    const directDispatch = {
      leaseMs: LEASE_MS,
      queued: 0,
      reserve: (_: unknown, wanted: number) => wanted,
      cancel: () => undefined,
      begin: () => undefined,
    };
    const events = [newEvent(entityId), newEvent(entityId, { ...PAYMENT_ON_1 })];
    const group = await store.db.transaction((queries) =>
      acceptEvents(queries, store.db.dialect, events, directDispatch),
    );
    dispatched.push(...group.dispatched);
    expect(dispatched).toEqual([]);
    expect(await statuses(store.db, entityId)).toEqual(['held', 'held']);
    await resume(entityId);
    expect(await claim(store.db, entityId)).toHaveLength(2);
  });

  test('holds what is moved to it, and lets go what is moved away', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await register(store.db, entityId, ELSEWHERE, [PAYMENT_ON_1]);
    await pause(entityId, ELSEWHERE);
    await acceptMany(store.db, entityId, 2);
    await move(entityId, webhookId, ELSEWHERE);
    expect(await statuses(store.db, entityId)).toEqual(['held', 'held']);
    await move(entityId, webhookId, HOOK);
    expect(await statuses(store.db, entityId)).toEqual(['pending', 'pending']);
    expect(await claim(store.db, entityId)).toHaveLength(2);
  });

  test('and a suspension do not end each other', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await pause(entityId);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await resume(entityId)).toMatchObject({ state: 'suspended', suspendedWebhooks: 1 });
    expect(await statuses(store.db, entityId)).toEqual(['held']);
    await pause(entityId);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await endpointOf(store.db, entityId, HOOK)).toMatchObject({ state: 'paused', suspendedWebhooks: 0 });
    expect(await statuses(store.db, entityId)).toEqual(['held']);
    await resume(entityId);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('does not hold the alerts that have the same URL', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await register(store.db, entityId, ELSEWHERE, [PAYMENT_ON_1]);
    await store.db.transaction((queries) =>
      queries.run('update entities set notice_url = $2 where id = $1', [entityId, ELSEWHERE]),
    );
    await configure(store.db, entityId, ELSEWHERE, { paused: true, rateLimit: 1 });
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await claim(store.db, entityId, 10, ELSEWHERE)).toMatchObject([{ webhookId: 'notice' }]);
  });

  test('is held or not as the last of many changes at once says, every webhook of it', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const changes = Array.from({ length: 12 }, (_, index) => {
      const networkId = 100 + index;
      if (index % 3 === 0) return register(store.db, entityId, HOOK, [{ ...LATE_ON_1, networkId }]);
      return index % 3 === 1 ? pause(entityId) : resume(entityId);
    });
    await Promise.all(changes);
    await register(store.db, entityId, HOOK, [PAYMENT_ON_1]);
    const { paused } = await endpointOf(store.db, entityId, HOOK);
    const heads = await store.db.all<{ blocked: SqlInteger | null }>(
      `select h.blocked from webhooks w left join queue_heads h on h.webhook_id = w.id where w.entity_id = $1`,
      [entityId],
    );
    expect(heads).toHaveLength(6);
    // Without a head, a webhook is not held.
    expect(new Set(heads.map(({ blocked }) => Number(blocked ?? 0)))).toEqual(new Set([paused ? 2 : 0]));
  });

  test('with a rate limit is a destination of its own, for every webhook that has or gets its URL', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const { endpointId } = await configure(store.db, entityId, HOOK, { rateLimit: 7 });
    await register(store.db, entityId, HOOK, [PAYMENT_ON_1]);
    const paced = destinationKey(entityId, HOOK, {
      endpointNo: Number.parseInt(endpointId.slice(3), 16),
      perSecond: 7,
    });
    const destinations = async () => {
      const sql = 'select distinct destination from queue_heads where webhook_no > 0 and destination like $1';
      return (await store.db.all<{ destination: string }>(sql, [`${entityId} %`])).map((row) => row.destination);
    };
    expect(await destinations()).toEqual([paced]);
    await move(entityId, webhookId, ELSEWHERE);
    expect((await destinations()).toSorted()).toEqual([destinationKey(entityId, ELSEWHERE), paced].toSorted());
    await move(entityId, webhookId, HOOK);
    await configure(store.db, entityId, HOOK, { rateLimit: null });
    expect(await destinations()).toEqual([destinationKey(entityId, HOOK)]);
  });
});
