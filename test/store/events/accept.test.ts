import { expect, test } from 'bun:test';
import { DomainError } from '../../../src/domain/errors.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { type Queries, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { chunks, entityKey } from '../../../src/store/database/sql.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { readEvent } from '../../../src/store/events/read.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  addReceiver,
  databaseNowMs,
  HOOK,
  LATE_ON_1,
  newEvent,
  newReceiver,
  readDeliveries,
} from '../../support/deliveries.ts';
import { keepOrder } from '../../support/order.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredQueries, onEveryEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

/** Bodies that parsing and writing them again would change. */
const DELICATE_BODIES = {
  'an amount of thirty digits': '{"event":"LatePayment","networkId":1,"amount":123456789012345678901234567890}',
  'a key that looks like a number': '{"b":1,"2":"two","1":"one","a":2}',
  'odd white space': '\r\n\t {  "event" :\t"LatePayment" ,\n\n "networkId": 1 }  \n',
  'an escaped NUL': '{"note":"before\\u0000after"}',
  'text outside ASCII': '{"note":"Ünïcödé 💶 漢字 \u2028 \ufeff"}',
  'a lone surrogate, escaped': '{"note":"\\ud800"}',
  'a key given twice': '{"amount":1,"amount":2,"__proto__":{"x":1}}',
  'numbers in all their spellings': '[1.0,1e2,-0,0.1e-7,1E400]',
};

onEveryEngine('accepting events', (store) => {
  test('makes one delivery for each webhook of the entity, network and event, and for no other', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const second = await addReceiver(store.db, entityId, 'https://second.example.com/');
    await register(store.db, entityId, 'https://example.com/', [{ networkId: 2, event: 'LatePayment' }]);
    await register(store.db, entityId, 'https://example.com/', [{ networkId: 1, event: 'TransferCreated' }]);
    const stranger = await newReceiver(store.db);
    const event = newEvent(entityId);
    expect(await accept(store.db, event)).toEqual([
      { eventId: event.eventId ?? '', deliveries: 2, supersededBy: null, repeated: false },
    ]);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map((delivery) => delivery.webhookId).sort()).toEqual([webhookId, second].sort());
    expect(deliveries.map(({ eventId, status, attempts }) => ({ eventId, status, attempts }))).toEqual(
      Array(2).fill({ eventId: event.eventId ?? '', status: 'pending', attempts: 0 }),
    );
    expect(await readDeliveries(store.db, stranger.entityId)).toEqual([]);
  });

  test('tells networks apart also within one group', async () => {
    const entityId = await newEntity(store.db);
    for (const networkId of [1, 2]) {
      await register(store.db, entityId, `https://${networkId}.example.com/`, [{ networkId, event: 'LatePayment' }]);
    }
    const events = [2, 1].map((networkId) => newEvent(entityId, { networkId }));
    expect(await accept(store.db, ...events)).toMatchObject([{ deliveries: 1 }, { deliveries: 1 }]);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.map(({ eventId, destination }) => [eventId, destination])).toEqual([
      [events[0]?.eventId ?? '', destinationKey(entityId, 'https://2.example.com/')],
      [events[1]?.eventId ?? '', destinationKey(entityId, 'https://1.example.com/')],
    ]);
  });

  test('accepts an event without webhooks, with no delivery', async () => {
    const entityId = await newEntity(store.db);
    const event = newEvent(entityId);
    expect(await accept(store.db, event)).toEqual([
      { eventId: event.eventId ?? '', deliveries: 0, supersededBy: null, repeated: false },
    ]);
    expect(await countEvents(entityId)).toBe(1);
  });

  test('writes groups of any size with few texts, because each of them is kept prepared', async () => {
    const { entityId } = await newReceiver(store.db);
    const texts = new Map([/^insert into events/, /^insert into queue \(/].map((form) => [form, new Set<string>()]));
    const noted = (queries: Queries): Queries =>
      alteredQueries(queries, {
        run: (sql, params) => {
          for (const [form, found] of texts) if (form.test(sql)) found.add(sql);
          return queries.run(sql, params);
        },
      });
    for (let size = 1; size <= 40; size++) {
      const events = Array.from({ length: size }, () => newEvent(entityId));
      await store.db.transaction((queries) => acceptEvents(noted(queries), store.db.dialect, events));
    }
    // 1, 2, 4, 8, 16 and 32 rows; on PostgreSQL, one text inserts 16 deliveries or more.
    const ofDeliveries = store.db.engine === 'postgres' ? 5 : 6;
    expect([...texts.values()].map(({ size }) => size)).toEqual([6, ofDeliveries]);
    expect(await countEvents(entityId)).toBe(820);
  });

  for (const keepsOrder of [false, true]) {
    const endpoint = keepsOrder ? 'an endpoint that keeps order' : 'an endpoint';
    test(`queues a large group for ${endpoint} as it queues events one by one`, async () => {
      const queued = async (groupSize: number) => {
        const { entityId } = await newReceiver(store.db);
        if (keepsOrder) await keepOrder(store.db, entityId, HOOK);
        const events = Array.from({ length: 40 }, (_, index) => newEvent(entityId, { agreementId: `a${index % 3}` }));
        for (const group of chunks(events, groupSize)) await accept(store.db, ...group);
        return store.db.all(
          `select webhook_no, generation, token, may_be_received, lease_ms, lease_s, sequence,
             endpoint_no = (select e.no from endpoints e where e.entity_id = queue.entity_id) as is_of_endpoint,
             case when order_key is null then 0 else 1 end as has_key,
             case when agreement_hash is null then 0 else 1 end as has_agreement, payment_hash,
             case when due_ms = created_at_ms then 1 else 0 end as is_due
           from queue where entity_id = $1 order by sequence`,
          [entityKey(store.db.dialect, entityId)],
        );
      };
      const alone = await queued(1);
      expect(alone).toHaveLength(40);
      expect(await queued(40)).toEqual(alone);
    });
  }

  test('fails with the database, and leaves no rejection that nothing handles and that would end the process', async () => {
    const { entityId } = await newReceiver(store.db);
    const outage = async () => {
      await Bun.sleep(1);
      throw new StoreUnavailableError('gone');
    };
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    const accepting = store.db.transaction((queries) => {
      const all = () => Promise.reject(new StoreUnavailableError('gone'));
      return acceptEvents(alteredQueries(queries, { get: outage, all }), store.db.dialect, [newEvent(entityId)]);
    });
    expect((await rejection(accepting)).message).toContain('gone');
    await Bun.sleep(10);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  test('stores the event and all its deliveries or nothing', async () => {
    const { entityId } = await newReceiver(store.db);
    const broken = (queries: Queries): Queries =>
      alteredQueries(queries, {
        run: async (sql, params) => {
          await queries.run(sql, params);
          throw new Error('broken off');
        },
      });
    const accepting = store.db.transaction((queries) =>
      acceptEvents(broken(queries), store.db.dialect, [newEvent(entityId)]),
    );
    expect((await rejection(accepting)).message).toContain('broken off');
    await accepting.catch(() => undefined);
    expect(await countEvents(entityId)).toBe(0);
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
  });

  test('returns the first acceptance for the same bytes, whatever was registered since', async () => {
    const { entityId } = await newReceiver(store.db);
    const event = newEvent(entityId);
    await accept(store.db, event);
    await addReceiver(store.db, entityId, 'https://later.example.com/');
    expect(await accept(store.db, event)).toEqual([
      { eventId: event.eventId ?? '', deliveries: 1, supersededBy: null, repeated: true },
    ]);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(1);
  });

  test('rejects other bytes under the same id and keeps the first', async () => {
    const { entityId } = await newReceiver(store.db);
    const event = newEvent(entityId);
    await accept(store.db, event);
    const [result] = await accept(store.db, { ...event, body: `${event.body} ` });
    expect(result).toBeInstanceOf(DomainError);
    expect(result).toMatchObject({ kind: 'event_conflict' });
    expect(await bodyOf(entityId, event.eventId)).toBe(event.body);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(1);
  });

  test('tells repeats and conflicts apart also within one group', async () => {
    const { entityId } = await newReceiver(store.db);
    const event = newEvent(entityId);
    const other = newEvent(entityId);
    const results = await accept(store.db, event, event, { ...event, body: '{}' }, other);
    expect(results).toMatchObject([
      { repeated: false, deliveries: 1 },
      { repeated: true, deliveries: 1 },
      { kind: 'event_conflict' },
      { eventId: other.eventId, repeated: false },
    ]);
    expect(await readDeliveries(store.db, entityId)).toHaveLength(2);
  });

  test('lets two entities use the same id', async () => {
    const [one, two] = [await newReceiver(store.db), await newReceiver(store.db)];
    const eventId = `shared-${one.entityId}`;
    const results = await accept(
      store.db,
      newEvent(one.entityId, { eventId, body: '1' }),
      newEvent(two.entityId, { eventId, body: '2' }),
    );
    expect(results).toMatchObject([{ repeated: false }, { repeated: false }]);
    expect([await bodyOf(one.entityId, eventId), await bodyOf(two.entityId, eventId)]).toEqual(['1', '2']);
  });

  test.each(Object.entries(DELICATE_BODIES))('keeps %s byte for byte', async (_name, body) => {
    const { entityId } = await newReceiver(store.db);
    const event = newEvent(entityId, { body });
    await accept(store.db, event);
    expect(Buffer.from((await bodyOf(entityId, event.eventId)) ?? '')).toEqual(Buffer.from(body));
    expect(await accept(store.db, event)).toMatchObject([{ repeated: true }]);
  });

  test('holds deliveries for a suspended webhook', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const active = await addReceiver(store.db, entityId, 'https://active.example.com/');
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await accept(store.db, newEvent(entityId))).toMatchObject([{ deliveries: 2 }]);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.find((delivery) => delivery.webhookId === webhookId)).toMatchObject({
      status: 'held',
    });
    expect(deliveries.find((delivery) => delivery.webhookId === active)).toMatchObject({ status: 'pending' });
  });

  test('makes the first attempt due after the first step, by the clock of the database', async () => {
    const { entityId } = await newReceiver(store.db);
    const beforeMs = await databaseNowMs(store.db);
    await accept(store.db, newEvent(entityId, { firstDelayMs: 60_000 }));
    const afterMs = await databaseNowMs(store.db);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery?.dueMs).toBeWithin(beforeMs + 60_000, afterMs + 60_001);
    expect(delivery?.nextAttemptMs).toBe(delivery?.dueMs ?? 0);
  });

  test('accepts a large group of several entities at once', async () => {
    const [one, two] = [await newReceiver(store.db), await newReceiver(store.db)];
    await addReceiver(store.db, two.entityId, 'https://second.example.com/');
    const events = Array.from({ length: 250 }, (_, index) => newEvent((index % 2 ? two : one).entityId));
    const results = await accept(store.db, ...events);
    expect(results.map((result) => (result instanceof DomainError ? result : result.deliveries))).toEqual(
      events.map((_, index) => (index % 2 ? 2 : 1)),
    );
    expect(await readDeliveries(store.db, one.entityId)).toHaveLength(125);
    expect(await readDeliveries(store.db, two.entityId)).toHaveLength(250);
  });

  test('ends without a deadlock when two processes send the same events in opposite order', async () => {
    const { entityId } = await newReceiver(store.db);
    for (let round = 0; round < 5; round++) {
      const events = Array.from({ length: 100 }, () => newEvent(entityId));
      const both = await Promise.all([accept(store.db, ...events), accept(store.db, ...events.toReversed())]);
      const fresh = both.flat().filter((result) => !(result instanceof DomainError) && !result.repeated);
      expect(fresh).toHaveLength(100);
    }
    expect(await readDeliveries(store.db, entityId)).toHaveLength(500);
  });

  async function countEvents(entityId: string): Promise<number> {
    const key = [entityKey(store.db.dialect, entityId)];
    return (await store.db.all('select no from events where entity_id = $1', key)).length;
  }

  async function bodyOf(entityId: string, eventId: string | null): Promise<string | undefined> {
    return (await readEvent(store.db, entityId, eventId ?? ''))?.body;
  }
});

test('the events of these tests have registered webhooks', () => {
  expect(newEvent('ent_1')).toMatchObject(LATE_ON_1);
});
