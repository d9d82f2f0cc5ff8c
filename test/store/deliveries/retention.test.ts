import { Database as Connection } from 'bun:sqlite';
import { beforeEach, expect, spyOn, test } from 'bun:test';
import { SQL } from 'bun';
import type { DeliveryStatus } from '../../../src/domain/attempt.ts';
import { firstHexAt } from '../../../src/domain/ids.ts';
import type { Database, Queries, SqlValue } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { shrinkFile, storeBytes } from '../../../src/store/database/sqlite/vacuum.ts';
import type { Pruned } from '../../../src/store/deliveries/retention/prune-run.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { findEventNo } from '../../../src/store/events/event-ids.ts';
import { startEventTask } from '../../../src/store/events/fan-out-task.ts';
import { listSecrets, rotateSecret } from '../../../src/store/tenants/secrets.ts';
import { rotateSigningKey } from '../../../src/store/tenants/signing-keys.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { type AgedDelivery, eventOf, namesLeft, seedAged, seedEvents } from '../../support/aged-deliveries.ts';
import { createTenant, TEST_BOX, TEST_CHANGE } from '../../support/api.ts';
import { accept, claim, forgetDeliveries, newEvent, newReceiver } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { beforeStatement } from '../../support/interrupted-store.ts';
import { CITUS, WITHOUT_CITUS_ONLY } from '../../support/requirements.ts';
import {
  alteredQueries,
  alteredStore,
  alteredTransactions,
  onSuiteEngine,
  type TestStore,
} from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity } from '../../support/webhooks.ts';

const MINUTE_MS = 60_000;
const NOW_MS = 1_800_000_000_000;
const OLD_MS = NOW_MS - 61_000;
const YOUNG_MS = NOW_MS - 59_000;

const NOTHING: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0, facts: 0 };

function sumOf(one: Pruned, other: Pruned): Pruned {
  const names = Object.keys(NOTHING) as (keyof Pruned)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Pruned;
}

onSuiteEngine('retention of a minute', (store) => {
  let entityId: string;

  /** By a clock of the test's own. */
  const pruneAt = (nowMs: number, dryRun = false) =>
    prune(store.db, {
      olderThanMs: MINUTE_MS,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      dryRun,
      nowMs,
    });

  const left = async () => (await namesLeft(store.db)).sort();
  const eventsLeft = async () => {
    const sql = 'select event_id from events where entity_id = $1';
    const rows = await store.db.all<{ event_id: string }>(sql, [entityKey(store.db.dialect, entityId)]);
    return rows.map(({ event_id }) => event_id).sort();
  };

  const seed = (...deliveries: AgedDelivery[]) => seedAged(store.db, entityId, deliveries);

  beforeEach(async () => {
    await forgetDeliveries(store.db);
    await store.db.transaction(async (queries) => {
      for (const table of ['redeliveries', 'signing_secrets']) await queries.run(`delete from ${table}`);
    });
    entityId = await newEntity(store.db);
  });

  test('settled ones go with their attempts and events, and nothing that is still on its way', async () => {
    const aged = (name: string, status: DeliveryStatus, redeliver = 0) => ({
      name,
      status,
      createdAtMs: OLD_MS,
      attempts: 3,
      redeliver,
    });
    await seed(
      aged('delivered', 'delivered'),
      aged('failed', 'failed'),
      aged('cancelled', 'cancelled'),
      aged('pending', 'pending'),
      aged('retrying', 'retrying'),
      aged('held', 'held'),
      aged('redelivered_after_success', 'delivered', 1),
      aged('redelivered_after_failure', 'failed', 1),
    );
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 3, attempts: 9, events: 3 });
    const staying = ['held', 'pending', 'redelivered_after_failure', 'redelivered_after_success', 'retrying'];
    expect(await left()).toEqual(staying);
    expect(await store.db.all('select 1 from attempts')).toHaveLength(3 * staying.length);
    expect(await eventsLeft()).toEqual(staying.map(eventOf));
  });

  test('the clock decides: a second before its minute is over everything stays, a second after it goes', async () => {
    await seed({ name: 'one', status: 'delivered', createdAtMs: NOW_MS });
    expect(await pruneAt(NOW_MS + 59_000)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + MINUTE_MS)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + 61_000)).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
    expect(await eventsLeft()).toEqual([]);
  });

  test('the head of a webhook that is gone goes with its counters, but not one that is restored in the same moment', async () => {
    const receiver = await newReceiver(store.db);
    const key = [entityKey(store.db.dialect, receiver.entityId)];
    const headsLeft = async () =>
      (await store.db.all('select 1 as one from queue_heads where entity_id = $1', key)).length;
    const change = (sql: string) => store.db.transaction((queries) => queries.run(sql, key));
    await accept(store.db, newEvent(receiver.entityId));
    await change('delete from queue where entity_id = $1');
    await change('update queue_heads set blocked = 4 where entity_id = $1');
    const before = await headsLeft();
    expect(before).toBeGreaterThan(0);
    const restoring = beforeStatement(
      store.db,
      (sql) => sql.startsWith('delete from queue_heads'),
      // SQLite has one writer, and nothing happens in between.
      async () =>
        void (store.engine === 'postgres' && (await change('update queue_heads set blocked = 0 where entity_id = $1'))),
    );
    await prune(restoring, { olderThanMs: MINUTE_MS, batches: new PacedBatches(store.engine, PAUSE.foreground) });
    expect(await headsLeft()).toBe(store.engine === 'postgres' ? before : 0);
    await forgetDeliveries(store.db);
  });

  test('the head of a deleted webhook stays while a task watches its queue', async () => {
    const { entityId: owner, webhookId } = await newReceiver(store.db);
    await deleteWebhook(store.db, owner, webhookId, () => true, TEST_CHANGE);
    await runTasks(store.db);
    const headsLeft = async () => {
      await pruneAt(NOW_MS);
      const key = [entityKey(store.db.dialect, owner)];
      return (await store.db.all('select 1 as one from queue_heads where entity_id = $1', key)).length;
    };
    expect(await headsLeft()).toBe(1);
    await store.db.transaction((queries) => queries.run('delete from tasks'));
    expect(await headsLeft()).toBe(0);
  });

  test('without a clock of its own it goes by that of the database', async () => {
    const hourAgoMs = Date.now() - 3_600_000;
    await seed(
      { name: 'old', status: 'delivered', createdAtMs: hourAgoMs },
      { name: 'young', status: 'delivered', createdAtMs: Date.now() },
    );
    const aheadMs = Date.now() + 3_600_000;
    using _ = spyOn(Date, 'now').mockReturnValue(aheadMs);
    await prune(store.db, { olderThanMs: 30 * MINUTE_MS, batches: new PacedBatches(store.engine, PAUSE.foreground) });
    expect(await left()).toEqual(['young']);
  });

  test('an event stays as long as one of its deliveries does, and one that nobody asked for goes by its own age', async () => {
    await seed(
      { name: 'done', status: 'delivered', createdAtMs: OLD_MS, eventId: 'shared' },
      { name: 'waiting', status: 'held', createdAtMs: OLD_MS, eventId: 'shared' },
      { name: 'young', status: 'delivered', createdAtMs: YOUNG_MS },
    );
    await seedEvents(store.db, entityId, [
      { eventId: 'unasked', createdAtMs: OLD_MS },
      { eventId: 'unasked_young', createdAtMs: YOUNG_MS },
    ]);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
    expect(await left()).toEqual(['shared', 'young']);
    expect(await eventsLeft()).toEqual([eventOf('young'), 'shared', 'unasked_young']);
    expect(await pruneAt(NOW_MS)).toEqual(NOTHING);
  });

  test('an event stays while a task makes its deliveries or those of its retraction', async () => {
    const names = ['fan-out', 'retracted', 'without a task'];
    await seedEvents(
      store.db,
      entityId,
      names.map((eventId) => ({ eventId, createdAtMs: OLD_MS })),
    );
    const { dialect } = store.db;
    const noOf = async (name: string) => (await findEventNo(store.db, dialect, entityId, name)) ?? '';
    const task = { event: { entityId }, dueMs: 0, made: 0, revision: 1, cursor: '' };
    const [fanOut, retracted] = [await noOf('fan-out'), await noOf('retracted')];
    await store.db.transaction(async (queries) => {
      await startEventTask(queries, dialect, { ...task, kind: 'fan_out', eventNo: fanOut });
      const retraction = { eventNo: firstHexAt(NOW_MS), subject: dialect.bindUuid(retracted) };
      await startEventTask(queries, dialect, { ...task, kind: 'retract', ...retraction });
    });
    expect(await pruneAt(NOW_MS, true)).toEqual({ ...NOTHING, events: 1 });
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, events: 1 });
    expect(await eventsLeft()).toEqual(['fan-out', 'retracted']);
    await store.db.transaction((queries) => queries.run('delete from tasks'));
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, events: 2 });
  });

  test('a dry run counts exactly what the real one then removes, and removes nothing', async () => {
    await seed(
      { name: 'a', status: 'delivered', createdAtMs: OLD_MS, eventId: 'of_two', attempts: 2 },
      { name: 'b', status: 'failed', createdAtMs: OLD_MS, eventId: 'of_two', attempts: 4 },
      { name: 'c', status: 'delivered', createdAtMs: OLD_MS, eventId: 'half' },
      { name: 'd', status: 'pending', createdAtMs: OLD_MS, eventId: 'half' },
      { name: 'e', status: 'delivered', createdAtMs: YOUNG_MS },
    );
    const counted = await pruneAt(NOW_MS, true);
    expect(counted).toEqual({ ...NOTHING, deliveries: 3, attempts: 7, events: 1 });
    expect(await left()).toEqual(['e', 'half', 'half', 'of_two', 'of_two']);
    expect(await pruneAt(NOW_MS)).toEqual(counted);
  });

  test('more than fits a part goes too, all accepted in the same millisecond, with what stays among them', async () => {
    const many = Array.from({ length: 1_500 }, (_, index) => ({
      name: `d${String(index).padStart(5, '0')}`,
      status: index % 3 === 0 ? ('pending' as const) : ('delivered' as const),
      createdAtMs: OLD_MS,
    }));
    await seed(...many);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, deliveries: 1_000, attempts: 1_000, events: 1_000 });
    expect(await left()).toHaveLength(500);
    expect(await eventsLeft()).toHaveLength(500);
  });

  test.each(['deliveries', 'events'])(
    'two instances that found the same %s remove and count them once',
    async (table) => {
      await seed(
        { name: 'older', status: 'delivered', createdAtMs: OLD_MS - 10_000 },
        { name: 'old', status: 'delivered', createdAtMs: OLD_MS },
      );
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
      let others: Pruned | null = null;
      const all: Database['all'] = async (sql, params) => {
        const rows = await store.db.all(sql, params);
        // The other is at the older of the two.
        if (rows.length > 0 && others === null && sql.includes(`from ${table}`)) others = await pruneAt(NOW_MS - 5_000);
        return rows as never;
      };
      const ours = await prune(alteredStore(store.db, { all }), {
        olderThanMs: MINUTE_MS,
        batches: new PacedBatches(store.engine, PAUSE.foreground),
        nowMs: NOW_MS,
      });
      expect(sumOf(ours, others ?? NOTHING)).toEqual({ ...NOTHING, deliveries: 2, attempts: 2, events: 2 });
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  test('every entity has its turn, also with more of them than fit one look', async () => {
    const ids = Array.from({ length: 110 }, (_, index) => `ent_many_${String(index).padStart(3, '0')}`);
    await store.db.transaction(async (queries) => {
      for (const id of ids) {
        await queries.run(`insert into entities (id, name, created_at) values ($1, 'Many', 1)`, [id]);
      }
    });
    for (const id of ids) await seedEvents(store.db, id, [{ eventId: 'same', createdAtMs: OLD_MS }]);
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, events: 110 });
  });

  test('bulk redeliveries that have ended go, those that run stay', async () => {
    await store.db.transaction(async (queries) => {
      for (const [id, finishedAt] of [
        ['ended', OLD_MS / 1000],
        ['lately', YOUNG_MS / 1000],
        ['running', null],
      ] as const) {
        await queries.run(
          `insert into redeliveries (entity_id, id, filter, total, until_ms, actor, created_at, finished_at)
           values ($1, $2, '{}', 1, 1, 'test', 1, $3)`,
          [entityId, id, finishedAt],
        );
      }
    });
    expect(await pruneAt(NOW_MS)).toEqual({ ...NOTHING, redeliveries: 1 });
    const rows = await store.db.all<{ id: string }>('select id from redeliveries order by id');
    expect(rows.map(({ id }) => id)).toEqual(['lately', 'running']);
  });

  test('signing secrets go once they have expired, and those in force stay', async () => {
    const { entityId: rotated } = await createTenant(store.db);
    const nowS = NOW_MS / 1000;
    await rotateSecret(store.db, TEST_BOX, rotated, 1, { actor: 'test', nowS });
    expect(await pruneAt(NOW_MS + 3_599_000)).toEqual(NOTHING);
    expect(await pruneAt(NOW_MS + 3_600_000)).toEqual({ ...NOTHING, secrets: 1 });
    expect(await listSecrets(store.db, TEST_BOX, rotated, nowS)).toMatchObject({ totalResults: 1 });
  });

  test('signing keys go once they have expired, and those in force stay', async () => {
    const { entityId: rotated } = await createTenant(store.db);
    const nowS = NOW_MS / 1000;
    await rotateSigningKey(store.db, TEST_BOX, rotated, 1, { actor: 'test', nowS });
    const kept = async () =>
      (await store.db.all('select public_key from signing_keys where entity_id = $1', [rotated])).length;
    expect(await pruneAt(NOW_MS + 3_599_000)).toEqual(NOTHING);
    expect(await kept()).toBe(2);
    expect(await pruneAt(NOW_MS + 3_600_000)).toEqual({ ...NOTHING, secrets: 1 });
    expect(await kept()).toBe(1);
  });

  // The planner of a worker reads a shard of a few rows from end to end: settings of a connection end at its coordinator.
  const isOnWorkers = store.engine === 'postgres' && CITUS.isMet;
  const planned = `no statement of it reads a whole table${isOnWorkers ? ` ${WITHOUT_CITUS_ONLY}` : ''}`;
  test.skipIf(isOnWorkers)(planned, async () => {
    await seed(
      { name: 'done', status: 'delivered', createdAtMs: OLD_MS },
      { name: 'waiting', status: 'pending', createdAtMs: OLD_MS },
    );
    const plans = await plansOf(store, async (db) => {
      const batches = new PacedBatches(store.engine, PAUSE.foreground);
      await prune(db, { olderThanMs: MINUTE_MS, batches, dryRun: true, nowMs: NOW_MS });
      await prune(db, { olderThanMs: MINUTE_MS, batches, nowMs: NOW_MS });
    });
    expect(plans.length).toBeGreaterThan(10);
    expect(
      plans.filter((line) =>
        /SCAN (d|t|queue|deliveries|events|attempts)\b|Seq Scan on (queue|deliveries|events|attempts)/.test(line),
      ),
    ).toEqual([]);
  });

  test('the space is given back or used again', async () => {
    const body = JSON.stringify({ filler: 'x'.repeat(2_000) });
    const fill = () =>
      seed(
        ...Array.from({ length: 2_000 }, (_, index) => ({
          name: `s${String(index).padStart(5, '0')}`,
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

onSuiteEngine('retention beside others', (store) => {
  beforeEach(() => forgetDeliveries(store.db));

  test('what another instance holds at the moment is passed over without waiting, and goes the next time', async () => {
    const entityId = await newEntity(store.db);
    await seedAged(store.db, entityId, [
      { name: 'free', status: 'delivered', createdAtMs: OLD_MS },
      { name: 'taken', status: 'delivered', createdAtMs: OLD_MS },
    ]);
    const run = () =>
      prune(store.db, {
        olderThanMs: MINUTE_MS,
        batches: new PacedBatches(store.engine, PAUSE.foreground),
        nowMs: NOW_MS,
      });
    // SQLite has one writer, and a transaction waits for its turn there.
    if (store.engine === 'postgres') {
      const other = new SQL(store.url, { max: 1 });
      await other.begin(async (held) => {
        const entity = entityKey(store.db.dialect, entityId) as string;
        await held`select id from deliveries where entity_id = ${entity}::uuid order by id desc limit 1 for update`;
        expect(await run()).toMatchObject({ deliveries: 1, events: 1 });
      });
      await other.close();
    }
    await run();
    expect(await store.db.all('select 1 from deliveries')).toEqual([]);
    expect(await store.db.all('select 1 from events')).toEqual([]);
  });

  test('an event that goes in the very moment in which it is sent again is to be tried again, and is no conflict', async () => {
    const entityId = await newEntity(store.db);
    await seedEvents(store.db, entityId, [{ eventId: 'again', createdAtMs: OLD_MS }]);
    const event = {
      entityId,
      eventId: 'again',
      event: 'LatePayment',
      networkId: 1,
      body: '{}',
      firstDelayMs: 0,
    };
    const { results } = await store.db.transaction((queries) => {
      const get = async <Row>(sql: string, params?: readonly SqlValue[]) => {
        if (sql.includes('body')) await queries.run('delete from events');
        return queries.get<Row>(sql, params);
      };
      return acceptEvents(alteredQueries(queries, { get }), store.db.dialect, [event]);
    });
    expect(results).toMatchObject([{ kind: 'event_just_removed' }]);
  });

  test('an event that another instance removes and that is accepted again meanwhile stays, with its id and counters', async () => {
    const { entityId } = await newReceiver(store.db);
    await seedEvents(store.db, entityId, [{ eventId: 'again', createdAtMs: OLD_MS }]);
    const run = (db: Database) =>
      prune(db, {
        olderThanMs: MINUTE_MS,
        batches: new PacedBatches(store.engine, PAUSE.foreground),
        nowMs: NOW_MS,
      });
    const again = newEvent(entityId, { eventId: 'again' });
    let isRepeated = false;
    const racing = alteredStore(store.db, {
      all: async (sql, params) => {
        const rows = await store.db.all<never>(sql, params);
        // The first one has read what it is about to remove.
        if (!isRepeated && sql.includes('from events')) {
          isRepeated = true;
          expect(await run(store.db)).toMatchObject({ events: 1 });
          expect(await accept(store.db, again)).toMatchObject([{ eventId: 'again', repeated: false }]);
        }
        return rows;
      },
    });
    expect(await run(racing)).toMatchObject({ events: 0 });
    expect(isRepeated).toBe(true);
    expect(await accept(store.db, again)).toMatchObject([{ eventId: 'again', deliveries: 1, repeated: true }]);
    expect(await claim(store.db, entityId)).toMatchObject([{ eventId: 'again', body: again.body }]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('two at once remove each delivery and event once, and count it once', async () => {
    const { entityId } = await newReceiver(store.db);
    const many = Array.from({ length: 1_200 }, (_, index) => ({
      name: `p${index}`,
      status: 'delivered' as const,
      createdAtMs: OLD_MS - index,
    }));
    await seedAged(store.db, entityId, many);
    const run = () =>
      prune(store.db, {
        olderThanMs: MINUTE_MS,
        batches: new PacedBatches(store.engine, PAUSE.foreground),
        nowMs: NOW_MS,
      });
    const [one, two] = await Promise.all([run(), run()]);
    const rest = await run();
    expect(one.deliveries + two.deliveries + rest.deliveries).toBe(1_200);
    expect(one.events + two.events + rest.events).toBe(1_200);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('it ends early when it is stopped, and what is left goes the next time', async () => {
    const entityId = await newEntity(store.db);
    const many = Array.from({ length: 1_200 }, (_, index) => ({
      name: `d${index}`,
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

/** What the engine plans for each statement that the work sends. */
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
  const notingTransactions = alteredTransactions(store.db, (queries) => ({
    ...noting(queries),
    run: note(queries.run.bind(queries)),
  }));
  await work(alteredStore(notingTransactions, noting(store.db)));
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

/** Told not to scan where it can do otherwise: with so few rows it would. */
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
  await client.unsafe('vacuum deliveries, queue, attempts, events, event_ids');
  await client.close();
}
