import { expect, test } from 'bun:test';
import type { DeliveryStatus } from '../../../src/domain/attempt.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import type { Database, SqlInteger } from '../../../src/store/database/database.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import { EntityUsage } from '../../../src/store/deliveries/counts/usage.ts';
import { BLOCKED } from '../../../src/store/deliveries/heads.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  acceptMany,
  addReceiver,
  claim,
  HOOK,
  LEASE_MS,
  newReceiver,
  readDeliveries,
  statuses,
} from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { configure } from '../../support/endpoints.ts';
import { beforeStatement, countingStore, cutOffStore } from '../../support/interrupted-store.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { runTasks } from '../../support/tasks.ts';

const NEW_HOME = 'https://new-home.example.com/hook';
const NEWER_HOME = 'https://newer-home.example.com/hook';
const NO_LIMIT = 1_000_000;

type Receiver = { entityId: string; webhookId: string };
type Call = (db: Database, receiver: Receiver) => Promise<unknown>;

const suspend: Call = (db, { entityId, webhookId }) => suspendWebhook(db, entityId, webhookId, 'gone', TEST_CHANGE);
const resume: Call = (db, { entityId, webhookId }) => resumeWebhook(db, entityId, webhookId, TEST_CHANGE);
const moveTo =
  (postUrl: string): Call =>
  (db, { entityId, webhookId }) =>
    moveWebhook(db, entityId, webhookId, postUrl, () => true, TEST_CHANGE);
const remove: Call = (db, { entityId, webhookId }) => deleteWebhook(db, entityId, webhookId, () => true, TEST_CHANGE);

/** On PostgreSQL a claim reads the heads after it has taken the rows. */
const isLookAtHeads = (sql: string) => sql.includes('from queue_heads where destination in');

const pause: Call = (db, { entityId }) => configure(db, entityId, HOOK, { paused: true });
const unpause: Call = (db, { entityId }) => configure(db, entityId, HOOK, { paused: false });

const nothing: Call = async () => undefined;

/** Each call, what comes before it, and the status of what waits before and after. */
const CALLS: readonly [name: string, before: Call, call: Call, from: DeliveryStatus, to: DeliveryStatus][] = [
  ['suspend', nothing, suspend, 'pending', 'held'],
  ['resume', suspend, resume, 'held', 'pending'],
  ['pause of its endpoint', nothing, pause, 'pending', 'held'],
  ['the end of a pause', pause, unpause, 'held', 'pending'],
  ['move', nothing, moveTo(NEW_HOME), 'pending', 'pending'],
  ['delete', nothing, remove, 'pending', 'cancelled'],
];

onSuiteEngine('a change of a webhook with a backlog', (store) => {
  const newBacklog = async (deliveries: number) => {
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, deliveries);
    return receiver;
  };
  /** The change is committed after the claim has taken the rows; on SQLite, which has one writer, it waits for the claim. */
  const whileClaiming = (change: () => Promise<unknown>) => {
    const changes: Promise<unknown>[] = [];
    const db = beforeStatement(store.db, isLookAtHeads, async () => {
      changes.push(change());
      if (store.engine === 'postgres') await Promise.all(changes);
    });
    return { db, done: () => Promise.all(changes) };
  };
  const shownBy = async ({ entityId }: Receiver) => [...new Set(await statuses(store.db, entityId))];

  test.each(CALLS)('%s is one transaction, whose size does not depend on what waits', async (_name, before, call) => {
    const sizes: number[][] = [];
    for (const deliveries of [1, suiteRuns(601, 1_001)]) {
      const receiver = await newBacklog(deliveries);
      await before(store.db, receiver);
      const { db, statementsOf } = countingStore(store.db);
      await call(db, receiver);
      sizes.push(statementsOf());
    }
    expect(sizes[0]).toHaveLength(1);
    expect(sizes[1]).toEqual(sizes[0] ?? []);
  });

  test.each(CALLS)(
    '%s that is cut off at any statement changes nothing, and does all the next time',
    async (...row) => {
      const [, before, call, from, to] = row;
      const receiver = await newBacklog(3);
      await before(store.db, receiver);
      const { db, statementsOf } = countingStore(store.db);
      const other = await newBacklog(3);
      await before(db, other);
      const earlier = statementsOf().length;
      await call(db, other);
      const statements = statementsOf()[earlier] ?? 0;
      for (let last = 0; last < statements; last++) {
        await rejection(call(cutOffStore(store.db, last), receiver));
        expect(await shownBy(receiver)).toEqual([from]);
      }
      await call(store.db, receiver);
      expect(await shownBy(receiver)).toEqual([to]);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  test('moved twice at the same time ends at one of the URLs, with all that waits', async () => {
    const backlog = suiteRuns(600, 2_000);
    const receiver = await newBacklog(backlog);
    await Promise.all([moveTo(NEW_HOME)(store.db, receiver), moveTo(NEWER_HOME)(store.db, receiver)]);
    const row = await store.db.get<{ post_url: string }>('select post_url from webhooks where id = $1', [
      receiver.webhookId,
    ]);
    const [home, elsewhere] = row?.post_url === NEW_HOME ? [NEW_HOME, NEWER_HOME] : [NEWER_HOME, NEW_HOME];
    expect(await claim(store.db, receiver.entityId, 5_000, elsewhere)).toEqual([]);
    expect(await claim(store.db, receiver.entityId, 5_000, home)).toHaveLength(backlog);
  });

  test('suspended and resumed many times at once is held exactly while it is suspended', async () => {
    const receiver = await newBacklog(50);
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? suspend : resume)(store.db, receiver)),
      );
      const row = await store.db.get<{ blocked: SqlInteger; suspended_at: SqlInteger | null }>(
        `select h.blocked, w.suspended_at from queue_heads h join webhooks w on w.id = h.webhook_id where w.id = $1`,
        [receiver.webhookId],
      );
      expect(Number(row?.blocked)).toBe(row?.suspended_at === null ? 0 : BLOCKED.suspended);
      expect(await shownBy(receiver)).toEqual([row?.suspended_at === null ? 'pending' : 'held']);
    }
    await suspend(store.db, receiver);
    await resume(store.db, receiver);
    expect(await claim(store.db, receiver.entityId)).toHaveLength(50);
  });

  test('suspended and resumed in the middle of a claim loses nothing: each delivery is claimed, then or at once after', async () => {
    const receiver = await newBacklog(3);
    const racing = whileClaiming(() => suspend(store.db, receiver).then(() => resume(store.db, receiver)));
    const picks = [{ destination: destinationKey(receiver.entityId, HOOK), most: 10 }];
    const { claimed } = await claimDeliveries(racing.db, picks, LEASE_MS);
    await racing.done();
    const rest = await claim(store.db, receiver.entityId);
    const ids = [...claimed, ...rest].map(({ deliveryId }) => deliveryId);
    expect(ids.sort()).toEqual((await readDeliveries(store.db, receiver.entityId)).map(({ deliveryId }) => deliveryId));
  });

  test('suspended in the middle of a claim returns what it cannot send: a resume makes it due at once', async () => {
    const receiver = await newBacklog(3);
    const racing = whileClaiming(() => suspend(store.db, receiver));
    const picks = [{ destination: destinationKey(receiver.entityId, HOOK), most: 10 }];
    const { claimed } = await claimDeliveries(racing.db, picks, LEASE_MS);
    await racing.done();
    expect(await shownBy(receiver)).toEqual(['held']);
    await resume(store.db, receiver);
    expect(await claim(store.db, receiver.entityId)).toHaveLength(3 - claimed.length);
  });

  test('moved in the middle of a claim for both destinations gives neither more than was asked for', async () => {
    const receiver = await newReceiver(store.db);
    await addReceiver(store.db, receiver.entityId, NEW_HOME);
    await acceptMany(store.db, receiver.entityId, 3);
    const racing = whileClaiming(() => moveTo(`${NEW_HOME}/moved`)(store.db, receiver));
    const picks = [HOOK, NEW_HOME].map((url) => ({ destination: destinationKey(receiver.entityId, url), most: 1 }));
    const { claimed } = await claimDeliveries(racing.db, picks, LEASE_MS);
    await racing.done();
    const destinations = claimed.map(({ destination }) => destination);
    expect(destinations).toEqual([...new Set(destinations)]);
    const rest = await claim(store.db, receiver.entityId, 10, NEW_HOME);
    const ids = [...claimed, ...rest].map(({ deliveryId }) => deliveryId);
    expect(ids.sort()).toEqual((await readDeliveries(store.db, receiver.entityId)).map(({ deliveryId }) => deliveryId));
  });

  test('a sweep that is cut off at any statement loses nothing, and leaves no backlog once it has ended', async () => {
    const receiver = await newBacklog(501);
    await remove(store.db, receiver);
    for (let last = 0; last < 8; last++) await sweepAll(cutOffStore(store.db, last)).catch(() => undefined);
    expect(await shownBy(receiver)).toEqual(['cancelled']);
    expect(await statuses(store.db, receiver.entityId)).toHaveLength(501);
    await sweepAll(store.db);
    expect(await shownBy(receiver)).toEqual(['cancelled']);
    expect((await readDeliveries(store.db, receiver.entityId)).filter(({ dueMs }) => dueMs !== null)).toEqual([]);
    expect(await new EntityUsage(store.db, NO_LIMIT).read(receiver.entityId)).toMatchObject({ waiting: 0 });
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });
});

async function sweepAll(db: Database): Promise<void> {
  await runTasks(db);
}
