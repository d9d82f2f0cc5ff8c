import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Database, SqlValue } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { DAY_MS, dayAt, daysBefore } from '../../../src/store/database/partitions/layout.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { findEventNo } from '../../../src/store/events/event-ids.ts';
import { eventOf, namesLeft, seedAged, seedEvents } from '../../support/aged-deliveries.ts';
import {
  accept,
  claim,
  forgetDeliveries,
  newEvent,
  newReceiver,
  readAttempts,
  statuses,
} from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { attemptThat, record } from '../../support/order.ts';
import { attachedTo, openPartitionedStore } from '../../support/partitioned-store.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredTransactions } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const HOUR_MS = 3_600_000;
const NOTHING = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0, facts: 0 };

/** Each test has the next day, which is old from the end of it on. */
describe('retention of a store that is partitioned by day', () => {
  let db: Database;
  let entityId: string;
  let dayMs: number;

  /** With a limit of an hour. */
  const pruneAt = (nowMs: number, options: { db?: Database; dryRun?: boolean; keepsDays?: boolean } = {}) => {
    const { db: given = db, ...rest } = options;
    const batches = new PacedBatches('postgres', PAUSE.foreground);
    return prune(given, { olderThanMs: HOUR_MS, batches, keepsDays: true, nowMs, ...rest });
  };
  const left = async () => (await namesLeft(db)).sort();
  const countOf = async (from: string) => Number((await db.get<{ n: string }>(`select count(*) as n from ${from}`))?.n);
  const dayAfter = () => dayMs + DAY_MS + 2 * HOUR_MS;

  /** One of each kind: three go, five stay. */
  const seedDay = async () => {
    const aged = { createdAtMs: dayMs + HOUR_MS, attempts: 2 };
    await seedAged(db, entityId, [
      { name: 'delivered', status: 'delivered', ...aged },
      { name: 'failed', status: 'failed', ...aged },
      { name: 'half_done', status: 'delivered', ...aged, eventId: 'half' },
      { name: 'half_held', status: 'held', ...aged, eventId: 'half' },
      { name: 'pending', status: 'pending', ...aged },
      { name: 'sent_again', status: 'failed', redeliver: 1, ...aged },
      { name: 'young', status: 'delivered', createdAtMs: dayMs + DAY_MS + 90 * 60_000 },
    ]);
    await seedEvents(db, entityId, [{ eventId: 'unasked', createdAtMs: dayMs }]);
  };
  const GONE = { ...NOTHING, deliveries: 3, attempts: 6, events: 3 };
  const LEFT = ['half', 'pending', 'sent_again', 'young'];

  beforeAll(async () => {
    const opened = await openPartitionedStore();
    db = opened.db;
    dayMs = opened.firstDayMs - DAY_MS;
  });

  beforeEach(async () => {
    await forgetDeliveries(db);
    entityId = await newEntity(db);
    dayMs += DAY_MS;
  });

  afterAll(() => db.close());

  test('moves what waits of the rows from before the conversion, and records its completion later', async () => {
    const receiver = await newReceiver(db);
    await accept(db, newEvent(receiver.entityId), newEvent(receiver.entityId));
    const [first, second] = await claim(db, receiver.entityId);
    if (first === undefined || second === undefined) throw new Error('too little was claimed');
    await record(db, attemptThat('retried', second));
    expect(await attachedTo(db, 'deliveries')).toContain(daysBefore(dayMs).suffix);
    expect(await pruneAt(dayMs + 2 * HOUR_MS)).toEqual(NOTHING);
    expect(await attachedTo(db, 'deliveries')).not.toContain(daysBefore(dayMs).suffix);
    expect(await readAttempts(db, receiver.entityId)).toHaveLength(1);
    await record(db, attemptThat('delivered', first));
    expect((await statuses(db, receiver.entityId)).sort()).toEqual(['delivered', 'retrying']);
    expect(await countOf('deliveries_other')).toBe(1);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    expect(await pruneAt(dayMs + 2 * HOUR_MS)).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
  });

  test('drops a day once all of it is old, and keeps what waits with its attempts and its event', async () => {
    await seedDay();
    expect(await pruneAt(dayMs + DAY_MS + HOUR_MS - 1)).toEqual(NOTHING);
    expect(await pruneAt(dayAfter(), { dryRun: true })).toEqual(GONE);
    expect(await pruneAt(dayAfter())).toEqual(GONE);
    expect(await left()).toEqual(LEFT);
    for (const table of ['events', 'deliveries', 'attempts'] as const) {
      expect(await attachedTo(db, table)).not.toContain(dayAt(dayMs).suffix);
    }
    expect(await countOf('attempts')).toBe(3 * 2 + 1);
    const named = await db.all<{ event_id: string }>('select event_id from events order by 1');
    expect(named.map(({ event_id }) => event_id)).toEqual([...['pending', 'sent_again', 'young'].map(eventOf), 'half']);
    expect(await countOf('event_ids')).toBe(named.length);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    expect(await countOf('delivery_counts where created = 0')).toBe(0);
    expect(await pruneAt(dayAfter())).toEqual(NOTHING);
  });

  test('forgets the ids of events far apart in a day of many that have none', async () => {
    const unnamed = Array.from({ length: 2_500 }, (_, index) => ({
      event: 'AgreementCreated',
      createdAtMs: dayMs + 1_000 + index,
    }));
    const named = [0, 1_024, 2_600].map((ms) => ({
      event: 'AgreementCreated',
      eventId: `far-${ms}`,
      createdAtMs: dayMs + 1_000 + ms,
    }));
    await seedEvents(db, entityId, [...unnamed, ...named]);
    expect(await countOf('event_ids')).toBe(named.length);
    expect(await pruneAt(dayAfter())).toMatchObject({ events: unnamed.length + named.length });
    expect(await countOf('event_ids')).toBe(0);
  });

  test('leaves a day that is old only in part, unless it is to go to the second', async () => {
    await seedDay();
    expect(await pruneAt(dayMs + 12 * HOUR_MS)).toEqual(NOTHING);
    expect(await pruneAt(dayMs + 12 * HOUR_MS, { keepsDays: false })).toEqual(GONE);
    expect(await attachedTo(db, 'events')).toContain(dayAt(dayMs).suffix);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
  });

  test.each(['create temp table gone', 'insert into event_counts'])(
    'goes on after an interruption before: %s',
    async (begin) => {
      await seedDay();
      const breaking = alteredTransactions(db, (queries) => ({
        run: (sql, params) => {
          if (sql.startsWith(begin) && /_\d{8}\b/.test(sql)) throw new Error('the connection is lost');
          return queries.run(sql, params);
        },
      }));
      expect(String(await rejection(pruneAt(dayAfter(), { db: breaking })))).toContain('is lost');
      await pruneAt(dayAfter());
      expect(await left()).toEqual(LEFT);
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    },
  );

  test('keeps the deliveries of a payment that can still be undone, with their attempts and its event', async () => {
    await seedDay();
    await payBy('delivered', 'lost');
    await payBy('failed', 'final');
    await holdFor('unasked');
    expect(await pruneAt(dayAfter(), { dryRun: true })).toMatchObject({ deliveries: 2, attempts: 4, events: 1 });
    expect(await pruneAt(dayAfter())).toMatchObject({ deliveries: 2, attempts: 4, events: 1 });
    expect(await left()).toEqual(['delivered', ...LEFT]);
    expect(await attachedTo(db, 'deliveries')).not.toContain(dayAt(dayMs).suffix);
    expect(await countOf('attempts')).toBe(4 * 2 + 1);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    await db.transaction((queries) => queries.run(`update facts set state = 'final'`));
    expect(await pruneAt(dayAfter())).toMatchObject({ deliveries: 1, attempts: 2, events: 2 });
    expect(await left()).toEqual(LEFT);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
  });

  const numberOf = async (eventId: string) => {
    const no = await findEventNo(db, db.dialect, entityId, eventId);
    return no === null ? null : db.dialect.bindUuid(no);
  };
  const addFact = (name: string, state: string, eventNo: SqlValue) =>
    db.transaction((queries) =>
      queries.run(
        `insert into facts (entity_id, id, network_id, state, revision, kind, is_silent, transaction_hash, fields,
           event_no, created_at_ms, changed_at_ms) values ($1, $2, 1, $3, 1, 'Transfer', 0, '0x1', '{}', $4, $5, $5)`,
        [entityId, name, state, eventNo, dayMs],
      ),
    );
  const holdFor = async (eventId: string) => addFact(eventId, 'lost', await numberOf(eventId));
  /** The event of the delivery with this name is of a payment. */
  const payBy = async (name: string, state: string) => {
    const no = await numberOf(eventOf(name));
    await addFact(name, state, null);
    await db.transaction((queries) =>
      queries.run(
        `insert into fact_events (entity_id, fact_id, revision, event, finality, network_id, no, event_no)
         values ($1, $2, 1, 'LatePayment', 'seen', 1, 1, $3)`,
        [entityId, name, no],
      ),
    );
  };

  test('counts a day once where two instances drop it', async () => {
    await seedDay();
    const [one, other] = await Promise.all([pruneAt(dayAfter()), pruneAt(dayAfter())]);
    const rest = await pruneAt(dayAfter());
    for (const name of ['deliveries', 'attempts', 'events'] as const) {
      expect(one[name] + other[name] + rest[name]).toBe(GONE[name]);
    }
    expect(await left()).toEqual(LEFT);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
  });

  test('removes by batches what is old in a day of which much is needed', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => ({
      name: `held_${index}`,
      status: 'held' as const,
      createdAtMs: dayMs + index,
    }));
    await seedAged(db, entityId, [...many, { name: 'done', status: 'delivered', createdAtMs: dayMs }]);
    expect(await pruneAt(dayAfter())).toEqual({ ...NOTHING, deliveries: 1, attempts: 1, events: 1 });
    expect(await attachedTo(db, 'events')).toContain(dayAt(dayMs).suffix);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
  });
});
