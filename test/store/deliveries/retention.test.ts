import { Database as Connection } from 'bun:sqlite';
import { beforeEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import type { DeliveryStatus } from '../../../src/domain/attempt.ts';
import type { Database, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { shrinkFile, storeBytes } from '../../../src/store/database/sqlite/vacuum.ts';
import { type Pruned, prune } from '../../../src/store/deliveries/retention.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { listSecrets, rotateSecret } from '../../../src/store/tenants/secrets.ts';
import { type AgedDelivery, eventOf, seedAged, seedEvents } from '../../support/aged-deliveries.ts';
import { createTenant, TEST_BOX } from '../../support/api.ts';
import { alteredStore, onEveryEngine, type TestStore } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const MINUTE_MS = 60_000;
const NOW_MS = 1_800_000_000_000;
const OLD_MS = NOW_MS - 61_000;
const YOUNG_MS = NOW_MS - 59_000;

const NOTHING: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0 };

onEveryEngine('retention of a minute', (store) => {
  let entityId: string;

  /** By a clock of the test. */
  const pruneAt = (nowMs: number, dryRun = false) =>
    prune(store.db, {
      olderThanMs: MINUTE_MS,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      dryRun,
      nowMs,
    });

  const idsIn = async (table: string, column = 'id') => {
    const sql = `select distinct ${column} as id from ${table} where entity_id = $1 order by 1`;
    return (await store.db.all<{ id: string }>(sql, [entityId])).map(({ id }) => id);
  };

  const seed = (...deliveries: AgedDelivery[]) => seedAged(store.db, entityId, deliveries);

  beforeEach(async () => {
    await store.db.transaction(async (queries) => {
      for (const table of ['attempts', 'deliveries', 'events', 'redeliveries', 'signing_secrets']) {
        await queries.run(`delete from ${table}`);
      }
    });
    entityId = await newEntity(store.db);
  });

  test('completed deliveries are removed with their attempts and events, and waiting ones are not', async () => {
    const aged = (id: string, status: DeliveryStatus, dueMs?: number) => ({
      id,
      status,
      createdAtMs: OLD_MS,
      attempts: 3,
      ...(dueMs !== undefined && { dueMs }),
    });
    await seed(
      aged('delivered', 'delivered'),
      aged('failed', 'failed'),
      aged('cancelled', 'cancelled'),
      aged('pending', 'pending'),
      aged('retrying', 'retrying', NOW_MS + 86_400_000),
      aged('held', 'held'),
      aged('redelivered_after_success', 'delivered', NOW_MS),
      aged('redelivered_after_failure', 'failed', NOW_MS + 5_000),
    );
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 3, attempts: 9, events: 3 });
    const staying = ['held', 'pending', 'redelivered_after_failure', 'redelivered_after_success', 'retrying'];
    expect(await idsIn('deliveries')).toEqual(staying);
    expect(await idsIn('attempts', 'delivery_id')).toEqual(staying);
    expect(await idsIn('events')).toEqual(staying.map(eventOf));
  });

  test('a second before its minute has passed everything stays, and a second after it is removed', async () => {
    await seed({ id: 'one', status: 'delivered', createdAtMs: NOW_MS });
    expect(await pruneAt(NOW_MS + 59_000)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + MINUTE_MS)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + 61_000)).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
    expect(await idsIn('events')).toEqual([]);
  });

  test('by default the clock is that of the database', async () => {
    const hourAgoMs = Date.now() - 3_600_000;
    await seed(
      { id: 'old', status: 'delivered', createdAtMs: hourAgoMs },
      { id: 'young', status: 'delivered', createdAtMs: Date.now() },
    );
    await prune(store.db, { olderThanMs: 30 * MINUTE_MS, batches: new PacedBatches(store.engine, PAUSE.foreground) });
    expect(await idsIn('deliveries')).toEqual(['young']);
  });

  test('an event stays as long as one of its deliveries, and one without deliveries is removed by its own age', async () => {
    await seed(
      { id: 'done', status: 'delivered', createdAtMs: OLD_MS, eventId: 'shared' },
      { id: 'waiting', status: 'held', createdAtMs: OLD_MS, eventId: 'shared' },
      { id: 'young', status: 'delivered', createdAtMs: YOUNG_MS },
    );
    await seedEvents(store.db, entityId, [
      { id: 'unasked', createdAtMs: OLD_MS },
      { id: 'unasked_young', createdAtMs: YOUNG_MS },
    ]);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
    expect(await idsIn('deliveries')).toEqual(['waiting', 'young']);
    expect(await idsIn('events')).toEqual([eventOf('young'), 'shared', 'unasked_young']);
    expect(await pruneAt(NOW_MS)).toEqual(NOTHING);
  });

  test('a dry run counts exactly what the real one then removes, and removes nothing', async () => {
    await seed(
      { id: 'a', status: 'delivered', createdAtMs: OLD_MS, eventId: 'of_two', attempts: 2 },
      { id: 'b', status: 'failed', createdAtMs: OLD_MS, eventId: 'of_two', attempts: 4 },
      { id: 'c', status: 'delivered', createdAtMs: OLD_MS, eventId: 'half' },
      { id: 'd', status: 'pending', createdAtMs: OLD_MS, eventId: 'half' },
      { id: 'e', status: 'delivered', createdAtMs: YOUNG_MS },
    );
    const counted = await pruneAt(NOW_MS, true);
    expect(counted).toEqual({ ...NOTHING, deliveries: 3, attempts: 7, events: 1 });
    expect(await idsIn('deliveries')).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await pruneAt(NOW_MS)).toEqual(counted);
  });

  test('more than fits a batch is removed too, all accepted in the same millisecond, with others that stay among them', async () => {
    const many = Array.from({ length: 1_500 }, (_, index) => ({
      id: `d${String(index).padStart(5, '0')}`,
      status: index % 3 === 0 ? ('pending' as const) : ('delivered' as const),
      createdAtMs: OLD_MS,
    }));
    await seed(...many);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 1_000, attempts: 1_000, events: 1_000 });
    expect(await idsIn('deliveries')).toHaveLength(500);
    expect(await idsIn('events')).toHaveLength(500);
  });

  test('every entity is checked, also when there are more than one statement checks', async () => {
    const ids = Array.from({ length: 110 }, (_, index) => `ent_many_${String(index).padStart(3, '0')}`);
    await store.db.transaction(async (queries) => {
      for (const id of ids) {
        await queries.run(`insert into entities (id, name, created_at) values ($1, 'Many', 1)`, [id]);
      }
    });
    for (const id of ids) await seedEvents(store.db, id, [{ id: 'same', createdAtMs: OLD_MS }]);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, events: 110 });
  });

  test('finished bulk redeliveries are removed, running ones stay', async () => {
    await store.db.transaction(async (queries) => {
      for (const [id, finishedAt] of [
        ['ended', OLD_MS / 1000],
        ['lately', YOUNG_MS / 1000],
        ['running', null],
      ] as const) {
        await queries.run(
          `insert into redeliveries (entity_id, id, filter, status, total, until_ms, actor, created_at, finished_at)
           values ($1, $2, '{}', 'running', 1, 1, 'test', 1, $3)`,
          [entityId, id, finishedAt],
        );
      }
    });
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, redeliveries: 1 });
    expect(await idsIn('redeliveries')).toEqual(['lately', 'running']);
  });

  test('expired signing secrets are removed, those in force stay', async () => {
    const { entityId: rotated } = await createTenant(store.db);
    const nowS = NOW_MS / 1000;
    await rotateSecret(store.db, TEST_BOX, rotated, 1, { actor: 'test', nowS });
    expect(await pruneAt(NOW_MS + 3_599_000)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + 3_600_000)).toEqual({ ...NOTHING, secrets: 1 });
    expect(await listSecrets(store.db, TEST_BOX, rotated, nowS)).toMatchObject({ totalResults: 1 });
  });

  test('no statement reads a whole table', async () => {
    await seed(
      { id: 'done', status: 'delivered', createdAtMs: OLD_MS },
      { id: 'waiting', status: 'pending', createdAtMs: OLD_MS },
    );
    const plans = await plansOf(store, async (db) => {
      const batches = new PacedBatches(store.engine, PAUSE.foreground);
      await prune(db, { olderThanMs: MINUTE_MS, batches, dryRun: true, nowMs: NOW_MS });
      await prune(db, { olderThanMs: MINUTE_MS, batches, nowMs: NOW_MS });
    });
    expect(plans.length).toBeGreaterThan(10);
    expect(
      plans.filter((line) =>
        /SCAN (d|t|deliveries|events|attempts)\b|Seq Scan on (deliveries|events|attempts)/.test(line),
      ),
    ).toEqual([]);
  });

  test('the disk space is released or reused', async () => {
    const body = JSON.stringify({ filler: 'x'.repeat(2_000) });
    const fill = () =>
      seed(
        ...Array.from({ length: 2_000 }, (_, index) => ({
          id: `s${String(index).padStart(5, '0')}`,
          status: 'delivered' as const,
          createdAtMs: OLD_MS,
          body,
        })),
      );
    await fill();
    const fullBytes = await storeBytes(store.db);
    await pruneAt(NOW_MS);
    await shrinkFile(store.db, new PacedBatches(store.engine, PAUSE.foreground));
    if (store.engine === 'sqlite') {
      expect(await storeBytes(store.db)).toBeLessThan(fullBytes / 4);
      return;
    }
    await vacuum(store.url);
    await fill();
    expect(await storeBytes(store.db)).toBeLessThan(fullBytes * 1.1);
  });
});

onEveryEngine('retention during other work', (store) => {
  test('what another instance has locked is skipped without waiting, and removed the next time', async () => {
    const entityId = await newEntity(store.db);
    await seedAged(store.db, entityId, [
      { id: 'free', status: 'delivered', createdAtMs: OLD_MS },
      { id: 'taken', status: 'delivered', createdAtMs: OLD_MS },
    ]);
    const run = () =>
      prune(store.db, {
        olderThanMs: MINUTE_MS,
        batches: new PacedBatches(store.engine, PAUSE.foreground),
        nowMs: NOW_MS,
      });
    // SQLite has one writer, and the transaction waits for it.
    if (store.engine === 'postgres') {
      const other = new SQL(store.url, { max: 1 });
      await other.begin(async (held) => {
        await held`select id from deliveries where id = 'taken' for update`;
        expect(await run()).toMatchObject({ deliveries: 1, events: 1 });
      });
      await other.close();
    }
    await run();
    expect(await store.db.all('select id from deliveries')).toEqual([]);
    expect(await store.db.all('select id from events')).toEqual([]);
  });

  test('an event that is removed while it is sent again can be sent once more, and is no conflict', async () => {
    const entityId = await newEntity(store.db);
    await seedEvents(store.db, entityId, [{ id: 'again', createdAtMs: OLD_MS }]);
    const event = {
      entityId,
      eventId: 'again',
      event: 'LatePayment',
      networkId: 1,
      body: '{}',
      createdAtMs: NOW_MS,
      firstDelayMs: 0,
    };
    const results = await store.db.transaction((queries) => {
      const get = async <Row>(sql: string, params?: readonly SqlValue[]) => {
        await queries.run('delete from events where entity_id = $1', [entityId]);
        return queries.get<Row>(sql, params);
      };
      const racing = { get, all: queries.all.bind(queries), run: queries.run.bind(queries) };
      return acceptEvents(racing, store.db.dialect, [event]);
    });
    expect(results).toMatchObject([{ kind: 'event_just_removed' }]);
  });

  test('it ends early when it is stopped, and the rest is removed the next time', async () => {
    const entityId = await newEntity(store.db);
    const many = Array.from({ length: 1_200 }, (_, index) => ({
      id: `d${index}`,
      status: 'delivered' as const,
      createdAtMs: OLD_MS - index,
    }));
    await seedAged(store.db, entityId, many);
    const stopping = new AbortController();
    const batches = new PacedBatches(store.engine, PAUSE.background, stopping.signal);
    const onProgress = () => stopping.abort();
    const first = await prune(store.db, { olderThanMs: MINUTE_MS, batches, nowMs: NOW_MS, onProgress });
    expect(first.deliveries).toBeGreaterThan(0);
    expect(first.deliveries).toBeLessThan(1_200);
    const rest = await prune(store.db, {
      olderThanMs: MINUTE_MS,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      nowMs: NOW_MS,
    });
    expect(first.deliveries + rest.deliveries).toBe(1_200);
    expect(await store.db.all('select 1 from attempts')).toEqual([]);
  });
});

/** The plan of each statement of the work. */
async function plansOf(store: TestStore, work: (db: TestStore['db']) => Promise<void>): Promise<string[]> {
  const statements: Statement[] = [];
  const note =
    <Rest>(call: (sql: string, params?: readonly SqlValue[]) => Rest) =>
    (sql: string, params: readonly SqlValue[] = []) => {
      statements.push([sql, params]);
      return call(sql, params);
    };
  const noting = (queries: Pick<Queries, 'all' | 'get'>) => ({
    all: note(queries.all.bind(queries)) as Queries['all'],
    get: note(queries.get.bind(queries)) as Queries['get'],
  });
  await work(
    alteredStore(store.db, {
      ...noting(store.db),
      transaction: (inner) =>
        store.db.transaction((queries) => inner({ ...noting(queries), run: note(queries.run.bind(queries)) })),
    }),
  );
  return store.engine === 'sqlite' ? explainOnSqlite(store.url, statements) : explainOnPostgres(store.db, statements);
}

type Statement = [sql: string, params: readonly SqlValue[]];

function explainOnSqlite(url: string, statements: readonly Statement[]): string[] {
  using connection = new Connection(url.replace('sqlite:', ''), { readonly: true });
  return statements.flatMap(([sql, params]) => {
    const rows = connection.prepare(`explain query plan ${sql.replace(/\$(\d+)/g, '?$1')}`).all(...params);
    return (rows as { detail: string }[]).map(({ detail }) => detail);
  });
}

/** With sequential scans disabled, because with so few rows PostgreSQL would prefer them. */
function explainOnPostgres(db: Database, statements: readonly Statement[]): Promise<string[]> {
  return db.transaction(async (queries) => {
    await queries.run('set local enable_seqscan = off');
    const lines: string[] = [];
    for (const [sql, params] of statements) {
      const rows = await queries.all<{ 'QUERY PLAN': string }>(`explain (costs off) ${sql}`, params);
      lines.push(...rows.map((row) => row['QUERY PLAN']));
    }
    return lines;
  });
}

async function vacuum(url: string): Promise<void> {
  const client = new SQL(url, { max: 1 });
  await client.unsafe('vacuum deliveries, attempts, events');
  await client.close();
}
