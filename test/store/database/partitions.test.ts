import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { partitionsJob } from '../../../src/delivery/jobs/partitions.ts';
import { createLogger } from '../../../src/log.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { DAYS_AHEAD, makeAhead, readDaysAhead } from '../../../src/store/database/partitions/ahead.ts';
import { partitionTables } from '../../../src/store/database/partitions/convert.ts';
import {
  DAY_MS,
  dayAt,
  daysBefore,
  PARTITIONED_TABLES,
  PartitionError,
  startOfDay,
} from '../../../src/store/database/partitions/layout.ts';
import { seedAged, seedEvents } from '../../support/aged-deliveries.ts';
import { databaseNowMs } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { attachedTo, openPlainStore } from '../../support/partitioned-store.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, alteredTransactions, createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';
import { newEntity } from '../../support/webhooks.ts';

const ONCE = { attempts: 1, pauseMs: 1 };

/** Each of these goes on with the store of the one before it. */
describe('a store of PostgreSQL that is partitioned by day', () => {
  let db: Database;
  let entityId: string;
  let todayMs: number;

  const indexesOf = (table: string) =>
    db.all<{ name: string }>('select indexname as name from pg_indexes where tablename = $1 order by 1', [table]);
  const fileOf = (table: string) => db.get('select pg_relation_filenode(cast($1 as regclass)) as file', [table]);
  const seedAt = (createdAtMs: number) =>
    seedAged(db, entityId, [{ name: `${createdAtMs}`, status: 'failed', createdAtMs }]);
  const placesOf = async (table: string) => {
    const sql = `select cast(tableoid as regclass)::text as place, count(*) as total from ${table} group by 1 order by 1`;
    const rows = await db.all<{ place: string; total: string }>(sql);
    return Object.fromEntries(rows.map(({ place, total }) => [place.slice(table.length + 1), Number(total)]));
  };

  beforeAll(async () => {
    db = await openPlainStore();
    entityId = await newEntity(db);
    todayMs = startOfDay(await databaseNowMs(db));
    for (const daysAgo of [40, 1, 0]) await seedAt(todayMs - daysAgo * DAY_MS);
  });

  afterAll(() => db.close());

  test('is not converted by a run that is interrupted, and takes new rows as before', async () => {
    const breaking = alteredTransactions(db, (queries) => ({
      run: (sql, params) => {
        if (sql.startsWith('lock table')) throw new Error('the connection is lost');
        return queries.run(sql, params);
      },
    }));
    expect(String(await rejection(partitionTables(breaking)))).toContain('is lost');
    expect(await makeAhead(db)).toBe(0);
    await seedAt(todayMs + 1);
    expect(await readDaysAhead(db)).toBeNull();
  });

  test('drops what a conversion left that was given up, before it refuses rows', async () => {
    const bounds = () => db.all(`select conname from pg_constraint where conname ~ '_before_' and contype = 'c'`);
    expect(await bounds()).toHaveLength(PARTITIONED_TABLES.length);
    const [bound, soon] = [daysBefore(todayMs + 3 * DAY_MS), daysBefore(todayMs + DAY_MS)];
    const rename = `alter table events rename constraint events_${bound.suffix} to events_${soon.suffix}`;
    await db.transaction((queries) => queries.run(rename));
    await makeAhead(db);
    expect(await bounds()).toHaveLength(PARTITIONED_TABLES.length - 1);
  });

  test('has its rows where they were, the same indexes, and is converted once', async () => {
    const [indexes, file] = [await indexesOf('deliveries'), await fileOf('deliveries')];
    expect(await partitionTables(db)).toBe(true);
    const first = daysBefore(todayMs + 3 * DAY_MS).suffix;
    expect(await attachedTo(db, 'events')).toEqual([first]);
    for (const table of PARTITIONED_TABLES) expect(await placesOf(table)).toEqual({ [first]: 4 });
    expect(await fileOf(`deliveries_${first}`)).toEqual(file);
    expect(await indexesOf('deliveries')).toEqual(indexes);
    expect(await indexesOf(`deliveries_${first}`)).toHaveLength(indexes.length);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    expect(await partitionTables(db)).toBe(false);
  });

  test('gets its partitions a week ahead, each once, also from two instances', async () => {
    expect(await readDaysAhead(db)).toBe(2);
    const made = await Promise.all([makeAhead(db), makeAhead(db)]);
    if (made[0] + made[1] < 5) made.push(await makeAhead(db));
    expect(made.reduce((sum, days) => sum + days)).toBe(5);
    for (const table of PARTITIONED_TABLES) expect(await attachedTo(db, table)).toHaveLength(6);
    expect(await readDaysAhead(db)).toBe(DAYS_AHEAD);
    expect(await makeAhead(db)).toBe(0);
    expect(await makeAhead(db, { nowMs: todayMs + DAY_MS })).toBe(1);
  });

  test('takes rows of a day without a partition, which is then left out, and the next one is made', async () => {
    const later = todayMs + 9 * DAY_MS;
    await seedAt(later + 1);
    expect((await placesOf('events')).other).toBe(1);
    expect(await readDaysAhead(db, later)).toBe(-1);
    expect(await makeAhead(db, { nowMs: later })).toBe(DAYS_AHEAD);
    expect(await attachedTo(db, 'events')).not.toContain(dayAt(later).suffix);
    await seedEvents(db, entityId, [{ eventId: 'next', createdAtMs: later + DAY_MS }]);
    expect((await placesOf('events'))[dayAt(later + DAY_MS).suffix]).toBe(1);
  });

  test('waits for no lock, is ready while its partitions cannot be made, and tells how many there are', async () => {
    const registry = new Registry();
    const lines: string[] = [];
    const log = createLogger('warn', { write: (line: string) => void lines.push(line) });
    await db.transaction(async (queries) => {
      await queries.run('lock table events_other in access share mode');
      const error = await rejection(makeAhead(db, { ...ONCE, nowMs: todayMs + 30 * DAY_MS }));
      expect(error).toBeInstanceOf(StoreUnavailableError);
    });
    const get: Database['get'] = () => Promise.reject(new StoreUnavailableError('no'));
    const all: Database['all'] = async (sql, params) => db.all(sql, params);
    const job = partitionsJob({ db: alteredStore(db, { get, all }), log, registry, firstAfterMs: 1 });
    job.start();
    await until('it has failed', async () => lines.length > 0);
    await job.stop();
    expect(lines.join()).toContain('partitions');
    const working = partitionsJob({ db, log, registry: new Registry(), firstAfterMs: 1 });
    working.start();
    await working.stop();
  });

  test('is not there on SQLite', async () => {
    const { target, remove } = await createTarget('sqlite');
    const sqlite = await openDatabase(target);
    expect(await rejection(partitionTables(sqlite))).toBeInstanceOf(PartitionError);
    expect(await makeAhead(sqlite)).toBe(0);
    await sqlite.close();
    remove();
  });
});
