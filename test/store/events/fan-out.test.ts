import { expect, spyOn, test } from 'bun:test';
import { tasksJob } from '../../../src/delivery/jobs/tasks.ts';
import { MAX_QUEUE_NO, MAX_ROUND } from '../../../src/domain/ids.ts';
import { createLogger } from '../../../src/log.ts';
import { type SqlUuid, StoreUnavailableError, TRANSACTION_LIMITS } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { retractionHeadNo } from '../../../src/store/deliveries/retraction-heads.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import type { Receiver } from '../../../src/store/events/acceptance.ts';
import { planFanOut } from '../../../src/store/events/plan-acceptance.ts';
import { readEvent } from '../../../src/store/events/read.ts';
import { changeMatching, deleteMatching, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { assignFilter, readFilters } from '../../../src/store/webhooks/filters.ts';
import { pruneOptionChanges } from '../../../src/store/webhooks/option-changes.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, addReceiver, completeAll, LATE_ON_1, newEvent, readDeliveries } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { alteredStore, alteredTransactions, onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { until } from '../../support/until.ts';
import { newEntity, seedWebhooks } from '../../support/webhooks.ts';

/** Small transactions take the same steps in less time. */
const LIMITS = { ...TRANSACTION_LIMITS, deliveries: suiteRuns(80, TRANSACTION_LIMITS.deliveries) };
const MAX_DELIVERIES = LIMITS.deliveries;
const RECEIVERS = 2.5 * MAX_DELIVERIES;

function withLimits(store: TestStore): TestStore {
  const limited = () => alteredStore(store.db, { dialect: { ...store.db.dialect, limits: LIMITS } });
  return {
    get db() {
      return limited();
    },
    get engine() {
      return store.engine;
    },
    get url() {
      return store.url;
    },
  };
}

async function largeEntity(store: TestStore, receivers = RECEIVERS): Promise<string> {
  const entityId = await newEntity(store.db);
  const urls = Array.from({ length: receivers }, (_, index) => `https://${index % 7}.example.com/${index}`);
  await seedWebhooks(
    store.db,
    entityId,
    urls.map((postUrl) => ({ ...LATE_ON_1, postUrl })),
  );
  return entityId;
}

const countOf = async (store: TestStore, entityId: string) => (await readDeliveries(store.db, entityId)).length;

async function idsOf(store: TestStore, entityId: string): Promise<string[]> {
  const rows = await store.db.all<{ id: string }>('select id from webhooks where entity_id = $1 order by id', [
    entityId,
  ]);
  return rows.map(({ id }) => id);
}

/** Runs the job until no task is left that makes deliveries. The task of a deleted webhook watches its queue for a day. */
async function finish(store: TestStore, db = store.db): Promise<void> {
  const job = tasksJob(db, createLogger('silent'), () => undefined);
  job.start();
  const left = "select 1 as one from tasks where kind = 'fan_out'";
  await until('no fan-out is left', async () => (await store.db.get(left)) === undefined);
  await job.stop();
}

onSuiteEngine('an event for more webhooks than one transaction has room for', (whole) => {
  const store = withLimits(whole);

  test('is acknowledged with its first deliveries and a task, and the others follow', async () => {
    const entityId = await largeEntity(store);
    const event = newEvent(entityId);
    expect(await accept(store.db, event)).toMatchObject([{ deliveries: RECEIVERS }]);
    expect(await countOf(store, entityId)).toBe(MAX_DELIVERIES);
    await finish(store);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(new Set(deliveries.map(({ webhookId }) => webhookId)).size).toBe(RECEIVERS);
    expect(new Set(deliveries.map(({ eventId }) => eventId))).toEqual(new Set([event.eventId ?? '']));
    expect(deliveries).toHaveLength(RECEIVERS);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    expect(await accept(store.db, event)).toMatchObject([{ deliveries: RECEIVERS, repeated: true }]);
  });

  test('is claimed whole, also where its task came to its turn long after it was accepted', async () => {
    const entityId = await largeEntity(store, MAX_DELIVERIES + 3);
    await accept(store.db, newEvent(entityId));
    await finish(store);
    await completeAll(store.db, entityId, 'delivered');
    await accept(store.db, newEvent(entityId));
    const key = [entityKey(store.db.dialect, entityId)];
    await store.db.transaction(async (queries) => {
      await queries.run('update tasks set due_ms = due_ms - 60000 where entity_id = $1', key);
      // As a look leaves a head in which it finds nothing.
      await queries.run(
        `update queue_heads set look_from_ms = ${store.db.dialect.nowMs} - 10000, full_look_ms = ${store.db.dialect.nowMs} + 60000 where entity_id = $1`,
        key,
      );
    });
    await finish(store);
    await completeAll(store.db, entityId, 'delivered');
    const open = (await readDeliveries(store.db, entityId)).filter(({ status }) => status !== 'delivered');
    expect(open).toEqual([]);
  });

  test('is delivered once to each webhook, even if webhooks move during the fan-out', async () => {
    const entityId = await newEntity(store.db);
    const urls = Array.from({ length: RECEIVERS }, (_, index) => `https://example.com/${10_000 + index}`);
    await seedWebhooks(
      store.db,
      entityId,
      urls.map((postUrl) => ({ ...LATE_ON_1, postUrl })),
    );
    const byUrl = await store.db.all<{ id: string }>('select id from webhooks where entity_id = $1 order by post_url', [
      entityId,
    ]);
    const [first, last] = [byUrl[0]?.id ?? '', byUrl.at(-1)?.id ?? ''];
    await accept(store.db, newEvent(entityId));
    const move = (id: string, path: string) =>
      moveWebhook(store.db, entityId, id, `https://example.com/${path}`, () => true, TEST_CHANGE);
    await move(last, '00000');
    await move(first, '99999');
    await finish(store);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ webhookId }) => webhookId).sort()).toEqual(await idsOf(store, entityId));
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('is filtered by the options that each webhook had when it was accepted', async () => {
    const entityId = await largeEntity(store);
    const ids = await idsOf(store, entityId);
    const event = newEvent(entityId);
    const body = JSON.stringify({ ...JSON.parse(event.body), token: 'USDC' });
    const setFilter = async (filter: { token: string[] } | null) => {
      for (const index of [0, 1.5 * MAX_DELIVERIES + 2, RECEIVERS - 2]) {
        const match = { postUrl: `https://${index % 7}.example.com/${index}` };
        await changeMatching(store.db, entityId, match, { options: { filter } }, TEST_CHANGE);
      }
    };
    await setFilter({ token: ['USDC'] });
    await accept(store.db, { ...event, body });
    for (const token of ['EURC', 'DAI']) await setFilter({ token: [token] });
    // The task keeps the options that it refers to, however old they are.
    await store.db.transaction((queries) => queries.run('update option_changes set changed_at_ms = 0'));
    await pruneOptionChanges(store.db, entityId);
    await finish(store);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ webhookId }) => webhookId).sort()).toEqual(ids);
    expect(await accept(store.db, newEvent(entityId, { body }))).toMatchObject([{ deliveries: RECEIVERS - 3 }]);
    await finish(store);
  });

  test('goes only to the webhooks whose filters it matches, in every step', async () => {
    const entityId = await largeEntity(store);
    const filters = [null, { token: ['USDC'] }, { token: ['EURC'] }, { amount: { min: '5' } }];
    const all = await readFilters(store.db, entityId, await idsOf(store, entityId));
    for (const [remainder, filter] of filters.entries()) {
      const some = all.filter((_, index) => index % filters.length === remainder);
      await store.db.transaction((queries) => assignFilter(queries, entityId, some, filter));
    }
    const event = newEvent(entityId);
    const body = JSON.stringify({ ...JSON.parse(event.body), token: 'USDC', amount: '4.99' });
    const expected = RECEIVERS / 2;
    expect(await accept(store.db, { ...event, body })).toMatchObject([{ deliveries: expected }]);
    await finish(store);
    const wanted = (await readFilters(store.db, entityId, await idsOf(store, entityId))).filter(
      ({ filter }) => filter === null || 'USDC' === (filter.token as string[] | undefined)?.[0],
    );
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ webhookId }) => webhookId).sort()).toEqual(
      wanted.map(({ webhookId }) => webhookId).sort(),
    );
    expect(await readEvent(store.db, entityId, event.eventId ?? '')).toMatchObject({ deliveries: expected });
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    const unwanted = JSON.stringify({ ...JSON.parse(event.body), eventId: 'none', token: 'DAI', amount: '4' });
    expect(await accept(store.db, newEvent(entityId, { eventId: 'none', body: unwanted }))).toMatchObject([
      { deliveries: RECEIVERS / 4 },
    ]);
    await finish(store);
    expect(await countOf(store, entityId)).toBe(expected + RECEIVERS / 4);
  });

  test('has its fields read once by its acceptance, and once by each later step', async () => {
    const entityId = await largeEntity(store);
    const all = await readFilters(store.db, entityId, await idsOf(store, entityId));
    for (let at = 0; at < 20; at++) {
      const some = all.filter((_, index) => index % 20 === at);
      await store.db.transaction((queries) => assignFilter(queries, entityId, some, { amount: { max: String(at) } }));
    }
    const amount = '9.000000000000000001';
    const event = newEvent(entityId);
    const body = JSON.stringify({ ...JSON.parse(event.body), amount: 0 }).replace('"amount":0', `"amount":${amount}`);
    const exec = spyOn(RegExp.prototype, 'exec');
    const parses = () => exec.mock.calls.filter(([text]) => text === amount).length;
    try {
      expect(await accept(store.db, { ...event, body })).toMatchObject([{ deliveries: RECEIVERS / 2 }]);
      expect(parses()).toBe(1);
      await finish(store);
      expect(parses()).toBe(Math.ceil(RECEIVERS / MAX_DELIVERIES));
    } finally {
      exec.mockRestore();
    }
  });

  test('shares no transaction with other events, which keep their places in the group', async () => {
    const [large, small] = [await largeEntity(store), await newEntity(store.db)];
    await addReceiver(store.db, small, 'https://small.example.com/');
    const events = [newEvent(small), newEvent(large), newEvent(small)];
    const accepting = store.db.transaction((queries) => acceptEvents(queries, store.db.dialect, events));
    expect((await accepting).results).toMatchObject([{ deliveries: 1 }]);
    expect(await countOf(store, large)).toBe(0);
  });

  test('arrives together with others, and each of them is answered', async () => {
    const [large, small] = [await largeEntity(store), await newEntity(store.db)];
    await addReceiver(store.db, small, 'https://small.example.com/');
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const deliveries: number[] = [];
    for (const [index, entityId] of [small, large, small].entries()) {
      void acceptQueue.accept(newEvent(entityId)).then((acceptance) => {
        deliveries[index] = acceptance.deliveries;
      });
    }
    await until('all are answered', () => Object.keys(deliveries).length === 3);
    expect(deliveries).toEqual([1, RECEIVERS, 1]);
    await finish(store);
    expect(await countOf(store, large)).toBe(RECEIVERS);
  });

  test('goes to no webhook that was registered after it, and to none that was deleted before its turn', async () => {
    const entityId = await largeEntity(store);
    const event = newEvent(entityId);
    await accept(store.db, event);
    await addReceiver(store.db, entityId, 'https://zzz.example.com/late');
    const gone = `https://${(RECEIVERS - 1) % 7}.example.com/${RECEIVERS - 1}`;
    await deleteMatching(store.db, entityId, { postUrl: gone }, TEST_CHANGE);
    await finish(store);
    expect(await countOf(store, entityId)).toBe(RECEIVERS - 1);
    expect(await readEvent(store.db, entityId, event.eventId ?? '')).toMatchObject({ deliveries: RECEIVERS - 1 });
  });

  test('is finished after a step that failed, and no delivery is made twice', async () => {
    const entityId = await largeEntity(store);
    await accept(store.db, newEvent(entityId));
    let steps = 0;
    const shaky = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          if (steps++ === 0) throw new StoreUnavailableError('broken off before the commit');
          return value;
        }, options),
    });
    await finish(store, shaky);
    expect(await countOf(store, entityId)).toBe(RECEIVERS);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('waits alone where its step always fails: those of other entities are finished', async () => {
    const [broken, other] = [await largeEntity(store), await largeEntity(store)];
    for (const entityId of [broken, other]) await accept(store.db, newEvent(entityId));
    const { hexOf } = store.db.dialect;
    const failing = hexOf(entityKey(store.db.dialect, broken));
    const shaky = alteredTransactions(store.db, (queries) => ({
      get: (sql, params) => {
        const isFailing = sql.includes('from events') && hexOf(params?.[0] as SqlUuid) === failing;
        if (isFailing) throw new Error('this one always fails');
        return queries.get(sql, params);
      },
    }));
    const job = tasksJob(shaky, createLogger('silent'), () => undefined);
    job.start();
    await until('the other is finished', async () => (await countOf(store, other)) === RECEIVERS);
    await job.stop();
    expect(await countOf(store, broken)).toBe(MAX_DELIVERIES);
    await finish(store);
    expect(await countOf(store, broken)).toBe(RECEIVERS);
  });
});

test('the id of a delivery is a function of its event, its round and its webhook', () => {
  const eventNo = '01900000000070008abcd40000000000';
  const hexOf = (webhookNo: number, round: number) => {
    const receivers = [{ webhookNo }] as Receiver[];
    return planFanOut({ entityId: 'ent_1', eventNo, round, dueMs: 5 }, 6, receivers)[0]?.hex;
  };
  expect(hexOf(1, 0)).toBe('01900000000070008abcd40000000001');
  expect(hexOf(MAX_QUEUE_NO, 0)).toBe('01900000000070008abcd400ffffffff');
  expect(hexOf(70_000, MAX_ROUND)).toBe('01900000000070008abcd4ff00011170');
  // A retraction has its own number, and its queue has the number of the webhook.
  expect(hexOf(retractionHeadNo(7), 0)).toBe('01900000000070008abcd40000000007');
  expect(() => hexOf(MAX_QUEUE_NO + 1, 0)).toThrow(RangeError);
  expect(() => hexOf(1, MAX_ROUND + 1)).toThrow(RangeError);
});
