import { expect, test } from 'bun:test';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { releaseAllLeases, returnClaims } from '../../../src/store/deliveries/claim/leases.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { readRedelivery, startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { readFeed } from '../../../src/store/endpoints/read-feed.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, claim, HOOK, LEASE_MS, letPass, newEvent } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { configure, endpointNoOf } from '../../support/endpoints.ts';
import { attemptThat, record } from '../../support/order.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { continueRedelivery, countTasks, runTasks } from '../../support/tasks.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const FIRST_PAGE = { after: 0, limit: 10 };
const PAYMENT = 'TransferProcessed';

/** Who may have received what: the claim notes it before the first byte is sent, and only the return of an unsent claim takes it back. */
onSuiteEngine('a retraction', (store) => {
  const newPayee = async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, HOOK, [{ networkId: 1, event: PAYMENT }]);
    await accept(store.db, bodyOf(entityId, PAYMENT, 'p1'));
    return entityId;
  };
  const bodyOf = (entityId: string, event: string, eventId: string, more = {}) => {
    const body = JSON.stringify({
      eventId,
      event,
      networkId: 1,
      ...('retracts' in more && { retracts: { eventId: 'p1' } }),
    });
    return newEvent(entityId, { event, eventId, body, ...more });
  };
  const retract = async (entityId: string) => {
    await accept(store.db, bodyOf(entityId, RETRACTION, 'p1-retracted', { retracts: 'p1' }));
    await runTasks(store.db);
  };
  const list = async (entityId: string) =>
    (await listDeliveries(store.db, entityId, { page: 1, limit: 100, sortBy: 'dateCreated', sortDir: 'asc' }))
      .deliveries;
  const shown = async (entityId: string) => (await list(entityId)).map(({ event, status }) => `${event} ${status}`);
  const claimOne = async (entityId: string) => {
    const [claimed] = await claim(store.db, entityId, 1);
    if (claimed === undefined) throw new Error('nothing is due');
    return claimed;
  };
  const statusesInFeed = async (entityId: string) => {
    const endpointNo = await endpointNoOf(store.db, entityId, HOOK);
    const page = await readFeed(store.db, { entityId, endpointNo }, FIRST_PAGE);
    return page?.feed.deliveries.map(({ status }) => status);
  };
  const pauseHook = async (entityId: string, paused: boolean) => {
    await configure(store.db, entityId, HOOK, { paused });
  };
  const kindsClaimed = async (entityId: string) =>
    (await claim(store.db, entityId)).map(({ body }) => (JSON.parse(body ?? '{}') as { event: string }).event);

  test.each(['its lease expired', 'the process restarted'] as const)(
    'is delivered if an instance claimed the original, and then %s',
    async (moment) => {
      const entityId = await newPayee();
      await claimOne(entityId);
      if (moment === 'its lease expired') await letPass(store.db, entityId, LEASE_MS + 1);
      else await releaseAllLeases(store.db);
      await retract(entityId);
      expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`, `${RETRACTION} pending`]);
      expect(await kindsClaimed(entityId)).toEqual([RETRACTION]);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  test('is not delivered if every claim of the original was returned unsent', async () => {
    const entityId = await newPayee();
    for (let times = 0; times < 2; times++) {
      const claimed = await claimOne(entityId);
      await store.db.transaction((queries) => returnClaims(queries, store.db.dialect, [claimed]));
    }
    await retract(entityId);
    expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`]);
  });

  test('is delivered if a claim was returned unsent after another one that may have been sent', async () => {
    const entityId = await newPayee();
    await claimOne(entityId);
    await letPass(store.db, entityId, LEASE_MS + 1);
    const claimed = await claimOne(entityId);
    await store.db.transaction((queries) => returnClaims(queries, store.db.dialect, [claimed]));
    await retract(entityId);
    expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`, `${RETRACTION} pending`]);
  });

  test.each(['waits', 'is held by a pause'] as const)(
    'is delivered if the feed showed the original, which %s, before any attempt',
    async (state) => {
      const entityId = await newPayee();
      if (state === 'is held by a pause') await pauseHook(entityId, true);
      expect(await statusesInFeed(entityId)).toEqual([state === 'waits' ? 'pending' : 'held']);
      await retract(entityId);
      if (state === 'is held by a pause') await pauseHook(entityId, false);
      expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`, `${RETRACTION} pending`]);
      expect(await statusesInFeed(entityId)).toEqual(['superseded', 'pending']);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  test('is delivered if the feed showed the original while a claim was returned unsent', async () => {
    const entityId = await newPayee();
    const claimed = await claimOne(entityId);
    await statusesInFeed(entityId);
    await store.db.transaction((queries) => returnClaims(queries, store.db.dialect, [claimed]));
    await retract(entityId);
    expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`, `${RETRACTION} pending`]);
  });

  test('is not delivered if the feed showed the original only after it was retracted', async () => {
    const entityId = await newPayee();
    await retract(entityId);
    expect(await statusesInFeed(entityId)).toEqual(['superseded']);
    expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`]);
  });

  test('is not delivered if it was retracted while the feed was read', async () => {
    const entityId = await newPayee();
    const found = Promise.withResolvers<void>();
    const retracted = Promise.withResolvers<void>();
    const slow = new Proxy(store.db, {
      get: (db, name: keyof Database) => {
        if (name !== 'transaction') return typeof db[name] === 'function' ? db[name].bind(db) : db[name];
        return async (...call: Parameters<Database['transaction']>) => {
          found.resolve();
          await retracted.promise;
          return db.transaction(...call);
        };
      },
    });
    const endpointNo = await endpointNoOf(store.db, entityId, HOOK);
    const reading = readFeed(slow, { entityId, endpointNo }, FIRST_PAGE);
    await found.promise;
    await retract(entityId);
    retracted.resolve();
    expect((await reading)?.feed.deliveries.map(({ status }) => status)).toEqual(['superseded']);
    expect(await shown(entityId)).toEqual([`${PAYMENT} superseded`]);
  });

  test('ends a redelivery of its original that waits, which keeps its status', async () => {
    const entityId = await newPayee();
    await record(store.db, attemptThat('delivered', await claimOne(entityId)));
    const [delivery] = await list(entityId);
    const redeliveryId = await startRedelivery(store.db, entityId, {}, TEST_CHANGE);
    await continueRedelivery(store.db, entityId, redeliveryId);
    expect(await redeliver(store.db, entityId, delivery?.deliveryId ?? '')).toBe(true);
    await retract(entityId);
    expect(await kindsClaimed(entityId)).toEqual([RETRACTION]);
    expect(await shown(entityId)).toEqual([`${PAYMENT} delivered`, `${RETRACTION} pending`]);
    expect(await readRedelivery(store.db, entityId, redeliveryId)).toMatchObject({ queued: 0, skipped: 1, sent: 0 });
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    expect(await countTasks(store.db)).toBe(0);
  });

  test('is delivered after a redelivery of its original that is in flight', async () => {
    const entityId = await newPayee();
    await record(store.db, attemptThat('delivered', await claimOne(entityId)));
    const [delivery] = await list(entityId);
    await redeliver(store.db, entityId, delivery?.deliveryId ?? '');
    const inFlight = await claimOne(entityId);
    await retract(entityId);
    expect(await kindsClaimed(entityId)).toEqual([]);
    await record(store.db, attemptThat('delivered', inFlight));
    await runTasks(store.db);
    expect(await kindsClaimed(entityId)).toEqual([RETRACTION]);
    expect(await countTasks(store.db)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });
});
