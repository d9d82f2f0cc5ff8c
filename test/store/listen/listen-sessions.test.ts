import { expect, test } from 'bun:test';
import type { SqlInteger, SqlUuid } from '../../../src/store/database/database.ts';
import { LeaseClock } from '../../../src/store/database/lease-clock.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { MAX_WAITING_REQUESTS } from '../../../src/store/listen/queue-events.ts';
import { endReaderlessSessions } from '../../../src/store/listen/remove-ended.ts';
import { hasRequests, LEASE_MS, reportResult, takeRequests } from '../../../src/store/listen/requests.ts';
import {
  connectReader,
  createSession,
  endSession,
  readDropped,
  renewReader,
  type SessionKey,
  sessionExists,
  sessionKey,
  type Wanted,
} from '../../../src/store/listen/sessions.ts';
import { randomBytes } from '../../../src/store/new-id.ts';
import { SecretBox } from '../../../src/store/tenants/secret-box.ts';
import { rekeySecrets } from '../../../src/store/tenants/secrets.ts';
import { TEST_BOX, TEST_CHANGE } from '../../support/api.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { accept, addReceiver, databaseNowMs, newEvent, newReceiver, readDeliveries } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity } from '../../support/webhooks.ts';

const ALL: Wanted = { events: null, networkIds: null, filter: null };
const NEVER = new AbortController().signal;
const MANY = 2_000;

onSuiteEngine('listen sessions', (store: TestStore) => {
  const newReader = () => store.db.dialect.bindUuid(randomBytes(16).toHex());

  async function open(
    entityId: string,
    wanted: Partial<Wanted> = {},
  ): Promise<{ session: SessionKey; secret: string }> {
    const { sessionId, secret } = await createSession(store.db, TEST_BOX, entityId, { ...ALL, ...wanted });
    const session = sessionKey(store.db.dialect, entityId, sessionId);
    if (session === null) throw new Error('the session has no key');
    return { session, secret };
  }

  async function connect(session: SessionKey): Promise<SqlUuid> {
    const reader = newReader();
    expect(await connectReader(store.db, TEST_BOX, session, reader)).toStartWith('whsec_');
    return reader;
  }

  async function take(session: SessionKey, reader: SqlUuid, limit = MANY) {
    return (await takeRequests(store.db, session, reader, limit)) ?? [];
  }

  /** As if the time had passed for the session and its requests. */
  async function age(session: SessionKey, ms: number): Promise<void> {
    await store.db.transaction(async (queries) => {
      const key = [session.entity, session.id, ms];
      await queries.run('update listen_sessions set seen_ms = seen_ms - $3 where entity_id = $1 and id = $2', key);
      await queries.run(
        `update listen_requests set lease_ms = lease_ms - $3, done_at_ms = done_at_ms - $3
         where entity_id = $1 and session_id = $2`,
        key,
      );
    });
  }

  async function rowsOf(table: 'listen_requests' | 'listen_sessions', { entity }: SessionKey): Promise<number> {
    const row = await store.db.get<{ total: SqlInteger }>(
      `select count(*) as total from ${table} where entity_id = $1`,
      [entity],
    );
    return Number(row?.total);
  }

  test('hand out each accepted event once, in order and byte for byte, however many webhooks it goes to', async () => {
    const { entityId } = await newReceiver(store.db);
    await addReceiver(store.db, entityId, 'https://other.example.com/');
    const { session } = await open(entityId);
    const events = [newEvent(entityId), newEvent(entityId), newEvent(entityId)];
    await accept(store.db, ...events);
    const reader = await connect(session);
    expect(await hasRequests(store.db, session, reader)).toBeTrue();
    const taken = await take(session, reader);
    expect(taken.map(({ body }) => body)).toEqual(events.map(({ body }) => body));
    expect(taken.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId ?? ''));
    expect(taken.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await take(session, reader)).toEqual([]);
    const deliveries = await readDeliveries(store.db, entityId);
    expect(deliveries.length).toBe(6);
    const ids = new Set(deliveries.map(({ deliveryId }) => deliveryId));
    expect(taken.filter(({ deliveryId }) => ids.has(deliveryId))).toEqual([]);
  });

  test('get events of an entity that has no webhook, none of another entity, and none twice', async () => {
    const [entityId, other] = [await newEntity(store.db), await newEntity(store.db)];
    const { session } = await open(entityId);
    const event = newEvent(entityId);
    await accept(store.db, event, newEvent(other), event);
    await accept(store.db, event);
    const reader = await connect(session);
    expect((await take(session, reader)).map(({ eventId }) => eventId)).toEqual([event.eventId ?? '']);
    expect(await readDropped(store.db, session, reader)).toBe(0);
  });

  test('take a held event once its transaction has the default finality, and not before', async () => {
    const { networkId, tenant, chain, follow, acceptFacts } = await newStoredNetwork(store.db);
    const { session } = await open(tenant.entityId);
    const reader = await connect(session);
    const transaction = chain.transaction();
    const held = { event: 'TransferProcessed', networkId, heldFor: transaction.hash };
    await accept(store.db, newEvent(tenant.entityId, { ...held, eventId: 'held', body: '{"amount":"1"}' }));
    await follow(2);
    await acceptFacts();
    expect(await take(session, reader)).toEqual([]);
    chain.mine([transaction]);
    await follow(2);
    await acceptFacts();
    expect(await take(session, reader)).toMatchObject([{ eventId: 'held', body: '{"amount":"1"}' }]);
    chain.mineEmpty(5);
    await follow(5);
    await acceptFacts();
    expect(await take(session, reader)).toEqual([]);
  });

  test('take only what their filters want', async () => {
    const entityId = await newEntity(store.db);
    const sessions = [
      await open(entityId, { events: ['TransferProcessed'] }),
      await open(entityId, { networkIds: [10] }),
      await open(entityId, { filter: { token: ['0xAB'], amount: { min: '10' } } }),
    ];
    const body = (eventId: string, fields: object) => JSON.stringify({ eventId, ...fields });
    await accept(
      store.db,
      newEvent(entityId, { eventId: 'a', event: 'TransferProcessed', body: body('a', { amount: '12' }) }),
      newEvent(entityId, { eventId: 'b', networkId: 10, body: body('b', { token: '0xab', amount: '9.99' }) }),
      newEvent(entityId, { eventId: 'c', body: body('c', { token: '0xab', amount: '10' }) }),
    );
    const got: string[][] = [];
    for (const { session } of sessions) {
      got.push((await take(session, await connect(session))).map(({ eventId }) => eventId));
    }
    expect(got).toEqual([['a'], ['b'], ['c']]);
  });

  test('hand out again what a reader before did not report, with the same id and another token', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    await accept(store.db, newEvent(entityId), newEvent(entityId), newEvent(entityId));
    const first = await connect(session);
    const [one, two] = await take(session, first, 2);
    if (one === undefined || two === undefined) throw new Error('nothing was taken');
    expect(await reportResult(store.db, session, one)).toBe('reported');
    const second = await connect(session);
    expect(await takeRequests(store.db, session, first, 1)).toBeNull();
    expect(await readDropped(store.db, session, first)).toBeNull();
    const again = await take(session, second);
    expect(again.map(({ deliveryId, attempt }) => [deliveryId === two.deliveryId, attempt])).toEqual([
      [true, 2],
      [false, 1],
    ]);
    expect(again[0]?.token).not.toBe(two.token);
    expect(await reportResult(store.db, session, two)).toBe('used');
    expect(await reportResult(store.db, session, { ...two, token: again[0]?.token ?? '' })).toBe('reported');
  });

  test('hand out again what the same reader has not reported by the end of its lease', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    await accept(store.db, newEvent(entityId));
    const reader = await connect(session);
    const [taken] = await take(session, reader);
    await age(session, LEASE_MS - 30_000);
    expect(await hasRequests(store.db, session, reader)).toBeFalse();
    await age(session, 60_000);
    expect(await hasRequests(store.db, session, reader)).toBeTrue();
    expect(await take(session, reader)).toMatchObject([{ deliveryId: taken?.deliveryId ?? '', attempt: 2 }]);
  });

  test('refuse a token that is used or of another session, and a delivery of a webhook', async () => {
    const { entityId } = await newReceiver(store.db);
    const [mine, other] = [await open(entityId), await open(entityId)];
    await accept(store.db, newEvent(entityId));
    const [taken] = await take(mine.session, await connect(mine.session));
    const [foreign] = await take(other.session, await connect(other.session));
    if (taken === undefined || foreign === undefined) throw new Error('nothing was taken');
    const report = (deliveryId: string, token: string) => reportResult(store.db, mine.session, { deliveryId, token });
    expect(await report(foreign.deliveryId, foreign.token)).toBe('used');
    expect(await report(taken.deliveryId, foreign.token)).toBe('used');
    expect(await report(taken.deliveryId, 'no token')).toBe('used');
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(await report(delivery?.deliveryId ?? '', taken.token)).toBe('no request');
    expect(await report('dlv_', taken.token)).toBe('no request');
    expect(await report(taken.deliveryId, taken.token)).toBe('reported');
    expect(await report(taken.deliveryId, taken.token)).toBe('used');
    const absent = { entity: mine.session.entity, id: newReader() };
    expect(await reportResult(store.db, absent, taken)).toBe('no session');
  });

  test('keep 1,000 requests, drop the oldest beyond that, and count them', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    const events = Array.from({ length: MAX_WAITING_REQUESTS + 7 }, () => newEvent(entityId));
    await accept(store.db, ...events);
    const reader = await connect(session);
    expect(await readDropped(store.db, session, reader)).toBe(7);
    const taken = await take(session, reader);
    expect(taken.map(({ eventId }) => eventId)).toEqual(events.slice(7).map(({ eventId }) => eventId ?? ''));
    // Handed out is not reported: these wait too.
    await accept(store.db, newEvent(entityId));
    expect(await readDropped(store.db, session, reader)).toBe(8);
    const [oldest] = taken;
    expect(await reportResult(store.db, session, { deliveryId: '', token: '', ...oldest })).toBe('used');
  });

  test('drop a request whose event retention has removed', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    await accept(store.db, newEvent(entityId));
    await store.db.transaction((queries) =>
      queries.run('delete from events where entity_id = $1', [entityKey(store.db.dialect, entityId)]),
    );
    const reader = await connect(session);
    expect(await take(session, reader)).toEqual([]);
    expect(await readDropped(store.db, session, reader)).toBe(1);
    expect(await hasRequests(store.db, session, reader)).toBeFalse();
  });

  test('are at most five of an entity, also when they are made together', async () => {
    const entityId = await newEntity(store.db);
    const made = await Promise.allSettled(Array.from({ length: 8 }, () => open(entityId)));
    expect(made.filter(({ status }) => status === 'fulfilled').length).toBe(5);
    const [refused] = made.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject({ reason: { kind: 'listen_limit', facts: { limit: 5 } } });
    const first = made.find((one) => one.status === 'fulfilled');
    if (first === undefined) throw new Error('all were refused');
    expect(await endSession(store.db, first.value.session)).toBeTrue();
    expect(await endSession(store.db, first.value.session)).toBeFalse();
    expect((await open(entityId)).secret).toStartWith('whsec_');
  });

  test('end a minute after their reader, and leave no row behind', async () => {
    const entityId = await newEntity(store.db);
    const [gone, read, deleted] = [await open(entityId), await open(entityId), await open(entityId)];
    await accept(store.db, ...Array.from({ length: 600 }, () => newEvent(entityId)));
    const reader = await connect(read.session);
    for (const { session } of [gone, read]) await age(session, 61_000);
    await renewReader(store.db, read.session, reader);
    await endSession(store.db, deleted.session);
    await endReaderlessSessions(store.db, NEVER);
    expect(await sessionExists(store.db, gone.session)).toBeFalse();
    const steps = (await runTasks(store.db)).flatMap(({ task, isDone }) => (task.entityId === entityId ? isDone : []));
    expect(steps.toSorted()).toEqual([false, false, true, true]);
    expect(await sessionExists(store.db, read.session)).toBeTrue();
    expect(await rowsOf('listen_sessions', read.session)).toBe(1);
    expect(await rowsOf('listen_requests', read.session)).toBe(600);
    await accept(store.db, newEvent(entityId));
    expect(await rowsOf('listen_requests', read.session)).toBe(601);
  });

  test('stay for their reader when the clock is set forward', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    await connect(session);
    const { dialect } = store.db;
    const leaseClock = new LeaseClock();
    leaseClock.guard(LEASE_MS);
    leaseClock.note(await databaseNowMs(store.db));
    const nowMs = `(${dialect.nowMs} + 3600000)`;
    await endReaderlessSessions(alteredStore(store.db, { dialect: { ...dialect, leaseClock, nowMs } }), NEVER);
    expect(await sessionExists(store.db, session)).toBeTrue();
  });

  test('do not renew for a reader that is not the newest', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    const old = await connect(session);
    await connect(session);
    await age(session, 61_000);
    await renewReader(store.db, session, old);
    await endReaderlessSessions(store.db, NEVER);
    expect(await sessionExists(store.db, session)).toBeFalse();
  });

  test('forget what was reported after a minute', async () => {
    const entityId = await newEntity(store.db);
    const { session } = await open(entityId);
    await accept(store.db, newEvent(entityId), newEvent(entityId));
    const reader = await connect(session);
    const [one] = await take(session, reader, 1);
    if (one === undefined) throw new Error('nothing was taken');
    await reportResult(store.db, session, one);
    await endReaderlessSessions(store.db, NEVER);
    expect(await rowsOf('listen_requests', session)).toBe(2);
    await age(session, 61_000);
    await renewReader(store.db, session, reader);
    await endReaderlessSessions(store.db, NEVER);
    expect(await rowsOf('listen_requests', session)).toBe(1);
    expect(await reportResult(store.db, session, one)).toBe('no request');
  });

  test('have a secret of their own, sealed, which another SECRET_KEY opens after a rekey', async () => {
    const entityId = await newEntity(store.db);
    const [one, two] = [await open(entityId), await open(entityId)];
    expect(one.secret).not.toBe(two.secret);
    const rows = await store.db.all<{ sealed: string }>('select sealed from listen_sessions where entity_id = $1', [
      one.session.entity,
    ]);
    expect(rows.map(({ sealed }) => sealed.includes(one.secret))).toEqual([false, false]);
    const other = new SecretBox(new Uint8Array(32).fill(9));
    await rekeySecrets(store.db, TEST_BOX, other, TEST_CHANGE);
    try {
      expect(await connectReader(store.db, other, one.session, newReader())).toBe(one.secret);
      expect(await rejection(connectReader(store.db, TEST_BOX, one.session, newReader()))).toBeInstanceOf(Error);
      expect(await rejection(createSession(store.db, TEST_BOX, entityId, ALL))).toBeInstanceOf(Error);
    } finally {
      await rekeySecrets(store.db, other, TEST_BOX, TEST_CHANGE);
    }
  });
});
