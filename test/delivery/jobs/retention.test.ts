import { expect, test } from 'bun:test';
import { retentionJob } from '../../../src/delivery/jobs/retention.ts';
import { createLogger } from '../../../src/log.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { seedAged } from '../../support/aged-deliveries.ts';
import { readDeliveries } from '../../support/deliveries.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';
import { newEntity } from '../../support/webhooks.ts';

const log = createLogger('silent');
const HOUR_MS = 3_600_000;

onSuiteEngine('the retention job', (store) => {
  const seedOldAndYoung = async () => {
    const entityId = await newEntity(store.db);
    await seedAged(store.db, entityId, [
      { name: 'old', status: 'delivered', createdAtMs: Date.now() - 2 * HOUR_MS },
      { name: 'old_and_held', status: 'held', createdAtMs: Date.now() - 2 * HOUR_MS },
      { name: 'young', status: 'delivered', createdAtMs: Date.now() },
    ]);
    return entityId;
  };
  const idsOf = async (entityId: string) =>
    (await readDeliveries(store.db, entityId)).map(({ eventId }) => eventId.replace('evt_of_', '')).sort();

  test('deletes what is past the retention period soon after its start', async () => {
    const entityId = await seedOldAndYoung();
    const job = retentionJob({ db: store.db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    job.start();
    await until('something is deleted', async () => (await idsOf(entityId)).length < 3);
    await job.stop();
    expect(await idsOf(entityId)).toEqual(['old_and_held', 'young']);
  });

  test('stopped in the middle, ends with the batch in progress and leaves the rest for later', async () => {
    const entityId = await newEntity(store.db);
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      name: `dlv_${index}`,
      status: 'delivered' as const,
      createdAtMs: Date.now() - 2 * HOUR_MS + index,
    }));
    await seedAged(store.db, entityId, many);
    const stopping = Promise.withResolvers<Promise<void>>();
    const transaction: Database['transaction'] = async (work, options) => {
      const value = await store.db.transaction(work, options);
      if ((await idsOf(entityId)).length < 3_000) stopping.resolve(job.stop());
      return value;
    };
    const db = alteredStore(store.db, { transaction });
    const job = retentionJob({ db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    job.start();
    await stopping.promise;
    const left = (await idsOf(entityId)).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(3_000);
    await Bun.sleep(50);
    expect(await idsOf(entityId)).toHaveLength(left);
  });

  test('stopped before its first run, deletes nothing', async () => {
    const entityId = await seedOldAndYoung();
    const job = retentionJob({ db: store.db, log, retentionMs: HOUR_MS, firstAfterMs: 20 });
    job.start();
    await job.stop();
    await Bun.sleep(60);
    expect(await idsOf(entityId)).toHaveLength(3);
  });

  test('survives a run in which the store is unavailable', async () => {
    let asked = 0;
    const get = async () => {
      asked++;
      throw new StoreUnavailableError('down');
    };
    const db = alteredStore(store.db, { get });
    const job = retentionJob({ db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    job.start();
    await until('the store was asked', () => asked > 0);
    await job.stop();
    expect(asked).toBe(1);
  });
});
