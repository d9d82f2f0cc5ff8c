import { expect } from 'bun:test';
import { type Database, type Queries, TRANSACTION_LIMITS } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import { FIRST_HEAD, findDueHeads } from '../../../src/store/deliveries/claim/due-heads.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { stepNext } from '../../../src/store/tasks/run.ts';
import { acceptMany, addReceiver, LATE_ON_1, LEASE_MS, newEvent, respondedWith } from '../../support/deliveries.ts';
import { onlyOn } from '../../support/only-on.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register, seedWebhooks } from '../../support/webhooks.ts';

const MAX_DELIVERIES = TRANSACTION_LIMITS.deliveries;

const TABLES = [
  ...['queue', 'queue_heads', 'deliveries', 'attempts', 'events', 'event_ids', 'endpoints'],
  ...['queue_counts', 'delivery_counts', 'event_counts', 'event_day_counts'],
];
const WEBHOOKS = 40;
const DELIVERED = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
const RETRIED = { status: 'retrying', steps: 1, delayMs: 1_000, suspend: null } as const;

type RowsRead = Map<string, number>;

async function rowsRead(queries: Queries): Promise<RowsRead> {
  const rows = await queries.all<{ relname: string; read: string }>(
    `select relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables`,
  );
  return new Map(rows.map(({ relname, read }) => [relname, Number(read)]));
}

/** How many rows of each table the work reads. */
async function measure<Value>(
  db: Database,
  work: (queries: Queries) => Promise<Value>,
): Promise<{ value: Value; read: RowsRead }> {
  return db.transaction(async (queries) => {
    const before = await rowsRead(queries);
    const value = await work(queries);
    const after = await rowsRead(queries);
    return { value, read: new Map([...after].map(([name, read]) => [name, read - (before.get(name) ?? 0)])) };
  });
}

onSuiteEngine('with statistics that say empty', (store) => {
  const onPostgres = onlyOn('postgres', store);
  /** As in a service whose queue was empty when it was analysed. */
  async function forgetStatistics(db: Database): Promise<void> {
    for (const table of TABLES) {
      await db.transaction(async (queries) => {
        await queries.run(`alter table ${table} set (autovacuum_enabled = false)`);
        await queries.run(`delete from ${table}`);
        await queries.run(`analyze ${table}`);
      });
    }
  }

  onPostgres('acceptance, claims and records read the rows that they are about, and no others', async () => {
    const { db } = store;
    const entityId = await newEntity(db);
    for (let index = 0; index < WEBHOOKS; index++) await addReceiver(db, entityId, `https://h${index}.example.com/`);
    await acceptMany(db, entityId, 1);
    await forgetStatistics(db);
    for (let round = 0; round < 5; round++) await acceptMany(db, entityId, 20);

    const accepted = await measure(db, (queries) =>
      acceptEvents(queries, db.dialect, [newEvent(entityId), newEvent(entityId)]),
    );
    expect(accepted.read.get('queue') ?? 0).toBe(0);
    expect(accepted.read.get('queue_heads') ?? 0).toBeLessThanOrEqual(2 * WEBHOOKS);
    expect(accepted.read.get('events') ?? 0).toBe(0);

    const { due } = await findDueHeads(db, FIRST_HEAD, 1_000);
    const picks = due.map(({ destination }) => ({ destination, most: 10 }));
    const claims = await measure(db, (queries) =>
      claimDeliveries(alteredStore(db, { transaction: (work) => work(queries) }), picks, LEASE_MS),
    );
    const { claimed } = claims.value;
    expect(claimed).toHaveLength(10 * WEBHOOKS);
    expect(claims.read.get('queue') ?? 0).toBeLessThanOrEqual(2 * claimed.length);
    expect(claims.read.get('queue_heads') ?? 0).toBeLessThanOrEqual(4 * WEBHOOKS);
    expect(claims.read.get('events') ?? 0).toBeLessThanOrEqual(claimed.length);

    const made = claimed.map((delivery, index) =>
      index % 2 === 0
        ? { delivery, startedAtMs: 0, outcome: respondedWith(200), next: DELIVERED }
        : { delivery, startedAtMs: 0, outcome: respondedWith(500), next: RETRIED },
    );
    const records = await measure(db, (queries) => recordAttempts(queries, db.dialect, made));
    expect(records.value.size).toBe(claimed.length);
    expect(records.read.get('queue') ?? 0).toBeLessThanOrEqual(2 * claimed.length);
    expect(records.read.get('queue_heads') ?? 0).toBeLessThanOrEqual(2 * WEBHOOKS);
    expect(records.read.get('deliveries') ?? 0).toBe(0);
  });
});

onSuiteEngine('with statistics from before many webhooks were registered', (store) => {
  const onPostgres = onlyOn('postgres', store);

  onPostgres('the rest of a large event reads its own webhooks, however many others the entity has', async () => {
    const { db } = store;
    const [first, entityId] = [await newEntity(db), await newEntity(db)];
    const onNetwork = (networkId: number, host: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...LATE_ON_1, networkId, postUrl: `https://${host}/${at}` }));
    await db.transaction((queries) => queries.run('alter table webhooks set (autovacuum_enabled = false)'));
    await seedWebhooks(db, first, onNetwork(1, 'a.example.com', 10));
    await db.transaction((queries) => queries.run('analyze webhooks'));
    const others = onNetwork(2, 'y.example.com', 500);
    await seedWebhooks(db, entityId, [...onNetwork(1, 'z.example.com', MAX_DELIVERIES + 100), ...others]);
    const accepted = await measure(db, (queries) => acceptEvents(queries, db.dialect, [newEvent(entityId)]));
    expect(accepted.value.hasRest).toBe(true);
    expect(accepted.read.get('webhooks') ?? 0).toBeLessThanOrEqual(3 * MAX_DELIVERIES);
    expect(accepted.read.get('queue_heads') ?? 0).toBeLessThanOrEqual(4 * MAX_DELIVERIES);
    const rest = await measure(db, (queries) =>
      stepNext(alteredStore(db, { transaction: (work) => work(queries) }), entityKey(db.dialect, entityId)),
    );
    expect(rest.value?.made).toHaveLength(100);
    expect(rest.read.get('webhooks') ?? 0).toBeLessThanOrEqual(2 * 100);
  });

  onPostgres('acceptance reads the webhooks that its events are for, however many others the entity has', async () => {
    const { db } = store;
    const entityId = await newEntity(db);
    const analyze = () => db.transaction((queries) => queries.run('analyze webhooks'));
    await db.transaction((queries) => queries.run('alter table webhooks set (autovacuum_enabled = false)'));
    await analyze();
    const pairs = Array.from({ length: 500 }, (_, index) => ({ ...LATE_ON_1, networkId: index + 1 }));
    await register(db, entityId, 'https://one.example.com/', pairs);
    for (const statistics of ['old', 'new']) {
      const events = [7, 77, 177, 477].map((networkId) => newEvent(entityId, { networkId }));
      const { value, read } = await measure(db, (queries) => acceptEvents(queries, db.dialect, events));
      const results = events.map(({ eventId }) => ({ eventId, deliveries: 1 }));
      expect({ statistics, results: value.results }).toMatchObject({ statistics, results });
      expect(read.get('webhooks') ?? 0).toBeLessThanOrEqual(2 * events.length);
      await analyze();
    }
  });
});
