import { expect, test } from 'bun:test';
import { RetentionJob } from '../../../src/delivery/jobs/retention.ts';
import { createLogger } from '../../../src/log.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { seedAged } from '../../support/aged-deliveries.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const log = createLogger('silent');
const HOUR_MS = 3_600_000;

onEveryEngine('housekeeping', (store) => {
  const seedOldAndYoung = async () => {
    const entityId = await newEntity(store.db);
    await seedAged(store.db, entityId, [
      { id: 'old', status: 'delivered', createdAtMs: Date.now() - 2 * HOUR_MS },
      { id: 'old_and_held', status: 'held', createdAtMs: Date.now() - 2 * HOUR_MS },
      { id: 'young', status: 'delivered', createdAtMs: Date.now() },
    ]);
    return entityId;
  };
  const idsOf = async (entityId: string) =>
    (await store.db.all<{ id: string }>('select id from deliveries where entity_id = $1 order by id', [entityId])).map(
      ({ id }) => id,
    );

  test('begins by itself soon after the start, and ends when it is stopped', async () => {
    const entityId = await seedOldAndYoung();
    const housekeeping = new RetentionJob({ db: store.db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    housekeeping.start();
    for (let look = 0; look < 1_000 && (await idsOf(entityId)).length === 3; look++) await Bun.sleep(10);
    await housekeeping.stop();
    expect(await idsOf(entityId)).toEqual(['old_and_held', 'young']);
  });

  test('stopped in the middle, it ends with the part under way and leaves the rest for later', async () => {
    const entityId = await newEntity(store.db);
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      id: `dlv_${index}`,
      status: 'delivered' as const,
      createdAtMs: Date.now() - 2 * HOUR_MS + index,
    }));
    await seedAged(store.db, entityId, many);
    const housekeeping = new RetentionJob({ db: store.db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    housekeeping.start();
    for (let look = 0; look < 2_000 && (await idsOf(entityId)).length === 3_000; look++) await Bun.sleep(1);
    await housekeeping.stop();
    const left = (await idsOf(entityId)).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(3_000);
    await Bun.sleep(50);
    expect(await idsOf(entityId)).toHaveLength(left);
  });

  test('stopped before its time, it never begins', async () => {
    const entityId = await seedOldAndYoung();
    const housekeeping = new RetentionJob({ db: store.db, log, retentionMs: HOUR_MS, firstAfterMs: 20 });
    housekeeping.start();
    await housekeeping.stop();
    await Bun.sleep(60);
    expect(await idsOf(entityId)).toHaveLength(3);
  });

  test('a store that does not answer costs a round and nothing else', async () => {
    let asked = 0;
    const get = async () => {
      asked++;
      throw new StoreUnavailableError('down');
    };
    const db = alteredStore(store.db, { get });
    const housekeeping = new RetentionJob({ db, log, retentionMs: HOUR_MS, firstAfterMs: 1 });
    housekeeping.start();
    for (let look = 0; look < 1_000 && asked === 0; look++) await Bun.sleep(5);
    await housekeeping.stop();
    expect(asked).toBe(1);
  });
});
