import { expect, test } from 'bun:test';
import { destinationKey } from '../../../src/domain/destination.ts';
import { claimDue, releaseAllLeases, returnClaims, walkDestinations } from '../../../src/store/deliveries/claim.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  databaseNowMs,
  forgetDeliveries,
  HOOK,
  LEASE_MS,
  letPass,
  newEvent,
  newReceiver,
  readDeliveries,
} from '../../support/deliveries.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

onEveryEngine('walking the destinations', (store) => {
  async function withDestinations(hosts: readonly string[]): Promise<string> {
    await forgetDeliveries(store.db);
    const entityId = await newEntity(store.db);
    for (const host of hosts) await addReceiver(store.db, entityId, `https://${host}/`);
    return entityId;
  }

  test('returns each once, in byte order, with the due time of its first delivery', async () => {
    const entityId = await withDestinations(['b.example', 'Z.example', 'a.example', 'a.example:8443', 'é.example']);
    await acceptMany(store.db, entityId, 3);
    const found = await walkDestinations(store.db, '', 100);
    const expected = ['b.example', 'Z.example', 'a.example', 'a.example:8443', 'é.example']
      .map((host) => destinationKey(entityId, `https://${host}/`))
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(found.map(({ destination }) => destination)).toEqual(expected);
    const first = Math.min(...(await readDeliveries(store.db, entityId)).map(({ dueMs }) => dueMs ?? 0));
    expect(found.map(({ firstDueMs }) => firstDueMs)).toEqual(expected.map(() => first));
  });

  test('continues after the cursor and reads no more than the limit', async () => {
    const entityId = await withDestinations(['a.example', 'b.example', 'c.example', 'd.example']);
    await acceptMany(store.db, entityId, 2);
    const key = (host: string) => destinationKey(entityId, `https://${host}/`);
    const names = async (after: string, most: number) =>
      (await walkDestinations(store.db, after, most)).map(({ destination }) => destination);
    expect(await names('', 2)).toEqual([key('a.example'), key('b.example')]);
    expect(await names(key('b.example'), 2)).toEqual([key('c.example'), key('d.example')]);
    expect(await names(key('d.example'), 2)).toEqual([]);
    expect(await names(key('bb.example'), 2)).toEqual([key('c.example'), key('d.example')]);
  });

  test('skips those without a waiting delivery', async () => {
    const entityId = await withDestinations(['a.example', 'b.example']);
    await acceptMany(store.db, entityId, 2);
    await store.db.transaction((queries) =>
      queries.run('update deliveries set due_ms = null where destination = $1', [
        destinationKey(entityId, 'https://a.example/'),
      ]),
    );
    expect((await walkDestinations(store.db, '', 10)).map(({ destination }) => destination)).toEqual([
      destinationKey(entityId, 'https://b.example/'),
    ]);
  });

  test('keeps the destinations of two entities apart, although they have the same host', async () => {
    await forgetDeliveries(store.db);
    const [one, two] = [await newReceiver(store.db), await newReceiver(store.db)];
    await acceptMany(store.db, one.entityId, 1);
    await acceptMany(store.db, two.entityId, 1);
    expect(await walkDestinations(store.db, '', 10)).toHaveLength(2);
    expect(await claim(store.db, one.entityId)).toHaveLength(1);
    expect(await readDeliveries(store.db, two.entityId)).toMatchObject([{ token: 0 }]);
  });
});

onEveryEngine('claiming', (store) => {
  test('returns everything that an attempt needs', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const [event] = await acceptMany(store.db, entityId, 1);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(await claim(store.db, entityId)).toEqual([
      expect.objectContaining({
        entityId,
        deliveryId: delivery?.deliveryId,
        token: 1,
        destination: destinationKey(entityId, HOOK),
        eventId: event?.eventId,
        isAlert: false,
        webhookId,
        kind: 'first',
        status: 'pending',
        attempts: 0,
        steps: 0,
        postUrl: HOOK,
        suspended: false,
        failingSinceMs: null,
        body: event?.body,
        revision: expect.any(Number),
      }),
    ]);
  });

  test('takes the oldest due first, no more than the limit, and nothing that is due later', async () => {
    const { entityId } = await newReceiver(store.db);
    const late = newEvent(entityId, { firstDelayMs: 3_600_000 });
    const second = newEvent(entityId, { firstDelayMs: -5_000 });
    const first = newEvent(entityId, { firstDelayMs: -10_000 });
    const third = newEvent(entityId);
    for (const event of [late, second, first, third]) await accept(store.db, event);
    const ids = (await claim(store.db, entityId, 2)).map(({ eventId }) => eventId);
    expect(ids.sort()).toEqual([first.eventId, second.eventId].sort());
    expect((await claim(store.db, entityId, 9)).map(({ eventId }) => eventId)).toEqual([third.eventId]);
    expect(await claim(store.db, entityId, 9)).toEqual([]);
  });

  test('sets a lease by the clock of the database, during which the delivery cannot be claimed again', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const beforeMs = await databaseNowMs(store.db);
    await claim(store.db, entityId);
    const afterMs = await databaseNowMs(store.db);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery?.dueMs).toBeWithin(beforeMs + LEASE_MS, afterMs + LEASE_MS + 1);
    expect(await claim(store.db, entityId)).toEqual([]);
    await letPass(store.db, entityId, LEASE_MS - 5_000);
    expect(await claim(store.db, entityId)).toEqual([]);
  });

  test('claims a delivery with an expired lease again, with a higher token', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const tokens = [];
    for (let round = 0; round < 3; round++) {
      tokens.push(...(await claim(store.db, entityId)).map(({ token }) => token));
      await letPass(store.db, entityId, LEASE_MS);
    }
    expect(tokens).toEqual([1, 2, 3]);
  });

  test('concurrently never returns one delivery twice', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 100);
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim(store.db, entityId, 10)));
    const ids = claims.flat().map(({ deliveryId }) => deliveryId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const claimed of claims) expect(claimed.length).toBeLessThanOrEqual(10);
  });

  test('skips what another transaction is claiming, without waiting for it', async () => {
    if (store.engine === 'sqlite') return;
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 6);
    const destination = destinationKey(entityId, HOOK);
    const [first, second] = await store.db.transaction(async (queries) => {
      const held = await claimDue(store.db, queries, destination, 4, LEASE_MS);
      return [held, await claim(store.db, entityId, 4)] as const;
    });
    expect([first.length, second.length]).toEqual([4, 2]);
  });

  test('shows when the webhook was deleted or the event removed', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await store.db.transaction(async (queries) => {
      await queries.run('delete from webhooks where entity_id = $1 and id = $2', [entityId, webhookId]);
      await queries.run('delete from events where entity_id = $1', [entityId]);
    });
    expect(await claim(store.db, entityId)).toMatchObject([{ postUrl: null, body: null }]);
  });

  test('finds nothing once the webhook was deleted', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
  });
});

onEveryEngine('returning claims', (store) => {
  test('makes a delivery due again only while the claim is ours', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    const [lost, ours] = await claim(store.db, entityId);
    if (lost === undefined || ours === undefined) throw new Error('nothing was claimed');
    const stale = { ...lost, token: lost.token - 1 };
    await store.db.transaction((queries) => returnClaims(store.db, queries, [stale, ours]));
    expect((await claim(store.db, entityId)).map(({ deliveryId, token }) => [deliveryId, token])).toEqual([
      [ours.deliveryId, 2],
    ]);
  });

  test('of all leases at a start makes claimed deliveries due at once, and no other before its time', async () => {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId), newEvent(entityId, { firstDelayMs: 3_600_000 }));
    expect(await claim(store.db, entityId)).toHaveLength(1);
    expect(await releaseAllLeases(store.db)).toBe(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });
});
