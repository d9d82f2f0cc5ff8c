import { beforeEach, describe, expect, test } from 'bun:test';
import { Registry } from '../../../../src/metrics/registry.ts';
import { StoreUnavailableError } from '../../../../src/store/database/database.ts';
import { observeQueue, QueueDepth } from '../../../../src/store/deliveries/counts/queue-depth.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { acceptMany, addReceiver, forgetDeliveries, letPass, newReceiver } from '../../../support/deliveries.ts';
import { parseMetrics, sampleOf } from '../../../support/prometheus.ts';
import { alteredStore, onSuiteEngine } from '../../../support/stores.ts';

/** However busy the machine is. */
const PATIENT = { longestWaitMs: 60_000 };

onSuiteEngine('the depth of the queue', (store) => {
  beforeEach(async () => {
    await forgetDeliveries(store.db);
    await store.db.transaction((queries) => queries.run('update webhooks set suspended_at = null'));
  });

  const change = (sql: string, parameters: readonly (string | number)[] = []) =>
    store.db.transaction((queries) => queries.run(sql, parameters));

  test('is nothing when nothing waits', async () => {
    const queue = new QueueDepth(store.db, PATIENT);
    expect(queue.known).toBeNull();
    await queue.refresh();
    expect(queue.known).toEqual({
      ...{ waiting: 0, due: 0, oldestDueAgeMs: 0, suspendedWebhooks: 0 },
      ...{ storedBytes: 0, largestEntityBytes: 0 },
    });
  });

  describe.each([1, 3, 7, 2_000])('counted %d at a time', (size) => {
    test('is exact, also where many are due at the same time', async () => {
      const { entityId } = await newReceiver(store.db);
      const other = await addReceiver(store.db, entityId, 'https://other.example.com/hook');
      await acceptMany(store.db, entityId, 10);
      const second = await newReceiver(store.db);
      await acceptMany(store.db, second.entityId, 5);
      await letPass(store.db, second.entityId, -3_600_000);
      await suspendWebhook(store.db, entityId, other, 'gone', TEST_CHANGE);
      const queue = new QueueDepth(store.db, { ...PATIENT, entriesPerLook: size });
      await queue.refresh();
      expect(queue.known).toMatchObject({ waiting: 15, due: 10 });
    });
  });

  test('has the age of the oldest due delivery and the number of suspended webhooks', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await letPass(store.db, entityId, 90_000);
    await change('update webhooks set suspended_at = 1 where id = $1', [webhookId]);
    const registry = new Registry();
    observeQueue(registry, new QueueDepth(store.db, PATIENT));
    const metrics = parseMetrics(await registry.text());
    expect(sampleOf(metrics, 'paybell_deliveries_due')).toBe(3);
    expect(sampleOf(metrics, 'paybell_deliveries_waiting')).toBe(3);
    expect(sampleOf(metrics, 'paybell_webhooks_suspended')).toBe(1);
    expect(sampleOf(metrics, 'paybell_stored_bytes')).toBeGreaterThan(3 * 350);
    expect(sampleOf(metrics, 'paybell_largest_entity_bytes')).toBe(sampleOf(metrics, 'paybell_stored_bytes'));
    expect(sampleOf(metrics, 'paybell_oldest_due_age_seconds')).toBeGreaterThanOrEqual(90);
  });

  test('is counted once for all scrapes within a few seconds', async () => {
    let reads = 0;
    const get: typeof store.db.get = (...call) => {
      reads++;
      return store.db.get(...call);
    };
    let nowMs = 0;
    const queue = new QueueDepth(alteredStore(store.db, { get }), { ...PATIENT, nowMs: () => nowMs });
    await Promise.all([queue.refresh(), queue.refresh()]);
    nowMs += 2_999;
    await queue.refresh();
    // Only the suspended webhooks are read this way, once in each count.
    expect(reads).toBe(1);
    nowMs += 1;
    await queue.refresh();
    expect(reads).toBe(2);
  });

  test('is left out until the store has responded once, and a scrape waits only briefly', async () => {
    const registry = new Registry();
    const down = alteredStore(store.db, { get: () => Promise.reject(new StoreUnavailableError('down')) });
    observeQueue(registry, new QueueDepth(down));
    expect(parseMetrics(await registry.text()).samples).toEqual([]);
    const blocked = new Registry();
    observeQueue(blocked, new QueueDepth(alteredStore(store.db, { get: () => new Promise(() => undefined) })));
    expect(parseMetrics(await blocked.text()).samples).toEqual([]);
  });

  test.each([
    ['fails', () => Promise.reject(new StoreUnavailableError('down'))],
    ['does not respond', () => new Promise<never>(() => undefined)],
  ])('stays as it was last counted while the store %s, with the age of the count', async (_, respond) => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await letPass(store.db, entityId, 90_000);
    let isDown = false;
    let nowMs = 0;
    const get: typeof store.db.get = (...call) => (isDown ? respond() : store.db.get(...call));
    const queue = new QueueDepth(alteredStore(store.db, { get }), { nowMs: () => nowMs });
    while (queue.known === null) await queue.refresh();
    const registry = new Registry();
    observeQueue(registry, queue);
    const before = parseMetrics(await registry.text());
    expect(sampleOf(before, 'paybell_oldest_due_age_seconds')).toBeGreaterThanOrEqual(90);
    expect(sampleOf(before, 'paybell_oldest_due_measured_age_seconds')).toBe(0);
    isDown = true;
    nowMs = 60_000;
    const during = parseMetrics(await registry.text());
    expect(sampleOf(during, 'paybell_oldest_due_measured_age_seconds')).toBe(60);
    for (const name of ['paybell_oldest_due_age_seconds', 'paybell_deliveries_due', 'paybell_deliveries_waiting']) {
      expect([name, sampleOf(during, name)]).toEqual([name, sampleOf(before, name)]);
    }
  });
});
