import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ShardMap } from '../../../../src/store/database/citus/shard-map.ts';
import { type Database, SilentWorkerError } from '../../../../src/store/database/database.ts';
import { findUnreachableWorkers } from '../../../../src/store/database/distribution.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { readEachShard, readReachable } from '../../../../src/store/database/reachable-shards.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { createTenant } from '../../../support/api.ts';
import { suspendServer } from '../../../support/citus.ts';
import { accept, addReceiver, claim, HOOK, newEvent } from '../../../support/deliveries.ts';
import { createPostgresDatabase } from '../../../support/postgres.ts';
import { rejection } from '../../../support/rejection.ts';
import { CITUS, LINUX, needs } from '../../../support/requirements.ts';
import { alteredStore } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const HEADS = {
  tables: ['queue_heads', 'queue_counts'],
  select: (heads = '', counts = '') =>
    `select h.entity_id from ${heads} h join ${counts} c on c.entity_id = h.entity_id`,
} as const;

/** The tests need at least two workers on this machine. */
describe.skipIf(!CITUS.isMet || !LINUX.isMet)(`a worker that hangs ${needs(CITUS)} ${needs(LINUX)}`, () => {
  let db: Database;
  let url: string;
  let map: ShardMap;
  const entities: string[] = [];

  beforeAll(async () => {
    url = await createPostgresDatabase();
    db = await openDatabase({ engine: 'postgres', url });
    map = await ShardMap.read(db);
    for (let entity = 0; entity < 16; entity++) {
      const { entityId } = await createTenant(db);
      await addReceiver(db, entityId, HOOK);
      await accept(db, newEvent(entityId));
      entities.push(entityId);
    }
  });

  afterAll(() => db?.close());

  const keyOf = (entityId: string) => entityKey(db.dialect, entityId) as string;
  const workerOf = (entityId: string) => map.workerOf(keyOf(entityId));
  const namesIn = (rows: readonly { entity_id: string }[]) =>
    [...new Set(rows.map(({ entity_id }) => db.dialect.hexOf(entity_id)))].toSorted();
  const keysOn = (worker: string | undefined, isOn: boolean) =>
    entities.filter((one) => (workerOf(one) === worker) === isOn).map(keyOf);

  test('has the entities that Citus places there', async () => {
    for (const entityId of entities) {
      const [row] = await db.all<{ name: string; port: number }>(
        `select nodename as name, nodeport as port from citus_shards
         where shardid = get_shard_id_for_distribution_column('events', cast($1 as uuid))`,
        [keyOf(entityId)],
      );
      expect(workerOf(entityId)).toBe(`${row?.name}:${row?.port}`);
    }
    expect(map.workers.length).toBeGreaterThan(1);
  });

  test('is left out of a read of each shard, and no other worker is', async () => {
    const [silent] = map.workers;
    const without = alteredStore(db, { dialect: { ...db.dialect, silentWorkers: () => [silent ?? ''] } });
    const found = namesIn(await readEachShard<{ entity_id: string }>(without, HEADS));
    expect(found).toEqual(keysOn(silent, false).toSorted());
    expect(namesIn(await readEachShard<{ entity_id: string }>(db, HEADS))).toEqual(entities.map(keyOf).toSorted());
  });

  test('stops its own entities until it responds, and no others', async () => {
    const [silent = ''] = map.workers;
    const [on = '', elsewhere = ''] = [true, false].map((isOn) =>
      entities.find((one) => (workerOf(one) === silent) === isOn),
    );
    const worker = new URL(url);
    worker.host = silent;
    const resume = await suspendServer(worker.href);
    try {
      // One for each connection for transactions.
      const failing = Array.from({ length: 8 }, () => rejection(accept(db, newEvent(on))));
      for (const error of await Promise.all(failing)) expect(String(error)).toContain('does not respond');
      await accept(db, newEvent(elsewhere));
      expect(await claim(db, elsewhere)).toHaveLength(2);
      expect(await rejection(accept(db, newEvent(on)))).toBeInstanceOf(SilentWorkerError);
      const rows = await readReachable<{ entity_id: string }>(
        db,
        (reads) => reads.all(HEADS.select('queue_heads', 'queue_counts')),
        HEADS,
      );
      expect(namesIn(rows)).toEqual(keysOn(silent, false).toSorted());
      // As `doctor` asks, which begins without knowing.
      const unknowing = await openDatabase({ engine: 'postgres', url });
      expect(await findUnreachableWorkers(unknowing)).toEqual([silent]);
      await unknowing.close();
    } finally {
      resume();
    }
    await until('its entities are served again', () =>
      accept(db, newEvent(on)).then(
        () => true,
        () => false,
      ),
    );
    const all = await readEachShard<{ entity_id: string }>(db, HEADS);
    expect(namesIn(all)).toEqual(entities.map(keyOf).toSorted());
  });
});
