import { expect, test } from 'bun:test';
import type { Feed, FeedEntry } from '../../../src/contract/endpoints/feed.ts';
import type { SqlInteger } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { readFeed, readLastSequences } from '../../../src/store/endpoints/read-feed.ts';
import { deleteMatching } from '../../../src/store/webhooks/change.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  addReceiver,
  claim,
  completeAll,
  HOOK,
  newEvent,
  newReceiver,
  respondedWith,
} from '../../support/deliveries.ts';
import { endpointNoOf } from '../../support/endpoints.ts';
import { onSuiteEngine, type TestStore } from '../../support/stores.ts';

async function endpointOf({ db }: TestStore, entityId: string, postUrl = HOOK) {
  return { entityId, endpointNo: await endpointNoOf(db, entityId, postUrl) };
}

async function feedOf(store: TestStore, entityId: string, after = 0, limit = 100, postUrl = HOOK): Promise<Feed> {
  const page = await readFeed(store.db, await endpointOf(store, entityId, postUrl), { after, limit });
  if (page === null) throw new Error('there is no such endpoint');
  return page.feed;
}

/** One event in each commit. */
async function acceptOneByOne(store: TestStore, entityId: string, count: number) {
  const events = Array.from({ length: count }, () => newEvent(entityId));
  for (const event of events) await accept(store.db, event);
  return events;
}

const numbersOf = ({ deliveries }: Feed) => deliveries.map(({ sequence }) => sequence);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

onSuiteEngine('the feed of an endpoint', (store) => {
  test('has every number with the exact body, whether its delivery waits or is complete', async () => {
    const { entityId } = await newReceiver(store.db);
    const first = await acceptOneByOne(store, entityId, 40);
    await completeAll(store.db, entityId, 'delivered');
    const second = Array.from({ length: 70 }, () => newEvent(entityId));
    await accept(store.db, ...second);
    const { firstSequence, lastSequence, deliveries } = await feedOf(store, entityId, 0, 100);
    expect([firstSequence, lastSequence]).toEqual([1, 110]);
    const rest = await feedOf(store, entityId, 100, 100);
    const all = [...deliveries, ...rest.deliveries];
    expect(all.map(({ sequence }) => sequence)).toEqual(range(1, 110));
    expect(all.map(({ body }) => body)).toEqual([...first, ...second].map(({ body }) => body));
    expect(all.map(({ eventId }) => eventId)).toEqual([...first, ...second].map(({ eventId }) => eventId));
    expect(all.map(({ status }) => status)).toEqual([...Array(40).fill('delivered'), ...Array(70).fill('pending')]);
    expect(new Set(all.map(({ deliveryId }) => deliveryId)).size).toBe(110);
  });

  test('reads any window of numbers, at the edges of blocks too', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptOneByOne(store, entityId, 67);
    for (let after = 0; after <= 67; after++) {
      for (const limit of [1, 33, 100]) {
        expect(numbersOf(await feedOf(store, entityId, after, limit))).toEqual(
          range(after + 1, Math.min(67, after + limit)),
        );
      }
    }
  });

  test('belongs to one URL: another of the same event has numbers of its own', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptOneByOne(store, entityId, 2);
    const other = 'https://other.example.com/';
    await addReceiver(store.db, entityId, other);
    await acceptOneByOne(store, entityId, 3);
    expect(numbersOf(await feedOf(store, entityId))).toEqual([1, 2, 3, 4, 5]);
    expect(numbersOf(await feedOf(store, entityId, 0, 100, other))).toEqual([1, 2, 3]);
    const endpoints = [await endpointOf(store, entityId), await endpointOf(store, entityId, other)];
    const unknown = { entityId, endpointNo: 5 };
    expect(await readLastSequences(store.db, [...endpoints, unknown])).toEqual([5, 3, 0]);
    expect(await readFeed(store.db, unknown, { after: 0, limit: 1 })).toBeNull();
  });

  test('explains failed, cancelled and held ones', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptOneByOne(store, entityId, 1);
    await completeAll(store.db, entityId, 'failed');
    await acceptOneByOne(store, entityId, 1);
    await claim(store.db, entityId, 1);
    await deleteMatching(store.db, entityId, { webhookId }, TEST_CHANGE);
    expect((await feedOf(store, entityId)).deliveries.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
  });

  test('is cut where its bodies get long, and goes on from there', async () => {
    const { entityId } = await newReceiver(store.db);
    const pad = 'x'.repeat(200_000);
    const events = Array.from({ length: 25 }, () => {
      const event = newEvent(entityId);
      return { ...event, body: JSON.stringify({ ...JSON.parse(event.body), pad }) };
    });
    for (const event of events) await accept(store.db, event);
    const sizes: number[] = [];
    for (let after = 0; after < 25; ) {
      const { deliveries } = await feedOf(store, entityId, after);
      sizes.push(deliveries.length);
      after = deliveries.at(-1)?.sequence ?? Number.POSITIVE_INFINITY;
    }
    expect(sizes).toEqual([10, 10, 5]);
  });
});

onSuiteEngine('the numbers of what retention has removed', (store) => {
  const pruneAll = (afterMs: number) =>
    prune(store.db, {
      olderThanMs: 60_000,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      nowMs: Date.now() + afterMs,
    });

  test('are told as such, one by one between others and by firstSequence below all', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptOneByOne(store, entityId, 40);
    // One of them still waits when the others are complete.
    const [waiting] = await claim(store.db, entityId, 1);
    const stuck = (await feedOf(store, entityId)).deliveries.find(
      ({ deliveryId }) => deliveryId === waiting?.deliveryId,
    );
    await completeAllBut(entityId, 1);
    await pruneAll(120_000);
    const feed = await feedOf(store, entityId);
    expect(feed.firstSequence).toBe(1);
    expect(numbersOf(feed)).toEqual(range(1, 40));
    expect(feed.deliveries.filter(({ status }) => status !== 'removed').map(({ sequence }) => sequence)).toEqual([
      stuck?.sequence ?? 0,
    ]);
    const removed: FeedEntry | undefined = feed.deliveries.find(({ status }) => status === 'removed');
    expect(removed).toMatchObject({ deliveryId: null, eventId: null, event: null, body: null, dateCreated: null });
    await complete(waiting);
    await pruneAll(120_000);
    const after = await feedOf(store, entityId);
    expect(after).toMatchObject({ firstSequence: 33, lastSequence: 40 });
    expect(numbersOf(after)).toEqual(range(33, 40));
    expect((await acceptOneByOne(store, entityId, 1)).length).toBe(1);
    expect((await feedOf(store, entityId, 40)).deliveries).toMatchObject([{ sequence: 41, status: 'pending' }]);
  });

  async function complete(delivery: Claimed | undefined): Promise<void> {
    if (delivery === undefined) throw new Error('nothing was claimed');
    const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
    const attempt = { delivery, startedAtMs: 0, outcome: respondedWith(200), next };
    await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, [attempt]));
  }

  /** Completes what can be claimed: all but those that are claimed already. */
  async function completeAllBut(entityId: string, claimed: number): Promise<void> {
    await completeAll(store.db, entityId, 'delivered');
    const row = await store.db.get<{ total: SqlInteger }>('select count(*) as total from queue where entity_id = $1', [
      entityKey(store.db.dialect, entityId),
    ]);
    expect(Number(row?.total)).toBe(claimed);
  }
});
