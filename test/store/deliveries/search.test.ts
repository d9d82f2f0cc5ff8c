import { afterEach, expect, test } from 'bun:test';
import { type DeliveryListQuery, deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { subjectKey } from '../../../src/store/database/sql.ts';
import { countStatuses, listDeliveries } from '../../../src/store/deliveries/read.ts';
import { countRedelivering } from '../../../src/store/deliveries/redeliver/count.ts';
import { keysOfEvent, SubjectRuns } from '../../../src/store/events/subjects.ts';
import { moveWebhook } from '../../../src/store/webhooks/change.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, addReceiver, completeAll, forgetDeliveries, LATE_ON_1, newEvent } from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const SINCE = { since: 1 };

onSuiteEngine('searching deliveries', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  const list = (entityId: string, given: Partial<DeliveryListQuery>) =>
    listDeliveries(store.db, entityId, { ...deliveryListQuerySchema.parse({ limit: '100' }), ...given });
  const eventsOf = async (entityId: string, given: Partial<DeliveryListQuery>) =>
    (await list(entityId, given)).deliveries.map(({ eventId }) => eventId).sort();

  /** As `POST /events` reads it from the payload. */
  const about = (entityId: string, eventId: string, subjects: { transferId?: string; agreementId?: string }) =>
    accept(store.db, newEvent(entityId, { eventId, ...subjects, body: JSON.stringify({ ...LATE_ON_1, ...subjects }) }));

  async function twoHosts() {
    const entityId = await newEntity(store.db);
    const shop = await addReceiver(store.db, entityId, 'https://shop.example.com/hooks/a_b');
    const other = await addReceiver(store.db, entityId, 'https://other.example.com:8443/hooks/axb');
    return { entityId, shop, other };
  }

  test('finds the exact id of a delivery and of an event, of Paybell and of the sender', async () => {
    const { entityId } = await twoHosts();
    await accept(store.db, newEvent(entityId, { eventId: 'order 7%' }), newEvent(entityId, { eventId: 'order 70' }));
    await accept(store.db, newEvent(entityId, { eventId: null }));
    const { deliveries } = await list(entityId, {});
    for (const { deliveryId } of deliveries) {
      const found = await list(entityId, { q: deliveryId });
      expect([found.totalResults, found.deliveries.map((one) => one.deliveryId)]).toEqual([1, [deliveryId]]);
    }
    for (const { eventId } of deliveries) expect(await eventsOf(entityId, { q: eventId })).toEqual([eventId, eventId]);
    for (const q of ['order 7', 'order', 'dlv_', `dlv_${'0'.repeat(32)}`, `evt_${'0'.repeat(32)}`, '%', '_', "'"]) {
      expect({ q, ...(await list(entityId, { q })) }).toMatchObject({ q, totalResults: 0, deliveries: [] });
    }
  });

  test('finds the events of a transfer and of an agreement, and no others with the same hash', async () => {
    const { entityId } = await twoHosts();
    await about(entityId, 'created', { transferId: 't-1', agreementId: 'a-1' });
    await about(entityId, 'finalized', { transferId: 't-1', agreementId: 'a-1' });
    await about(entityId, 'another', { transferId: 't-2', agreementId: 'a-1' });
    await about(entityId, 'named alike', { agreementId: 't-2' });
    const twice = (...ids: string[]) => ids.flatMap((id) => [id, id]);
    expect(await eventsOf(entityId, { q: 't-1' })).toEqual(twice('created', 'finalized'));
    expect(await eventsOf(entityId, { q: 'a-1' })).toEqual(twice('another', 'created', 'finalized'));
    expect(await eventsOf(entityId, { q: 't-2' })).toEqual(twice('another', 'named alike'));
    expect(await eventsOf(entityId, { q: 't-' })).toEqual([]);
    await store.db.transaction((queries) => queries.run('update events set transfer_key = $1', [subjectKey('t-9')]));
    expect(await eventsOf(entityId, { q: 't-9' })).toEqual([]);
  });

  test('finds the newest of them in every run of keys, and those without a run', async () => {
    const { entityId } = await twoHosts();
    const runs = new SubjectRuns(1);
    const ids = Array.from({ length: 6 }, (_, index) => `event ${index}`);
    for (const eventId of ids) await about(entityId, eventId, { transferId: 't-1', agreementId: 'a-1' });
    await about(entityId, 'another', { transferId: 't-2', agreementId: 'a-2' });
    for (const [index, eventId] of ids.entries()) {
      // The first two as PostgreSQL stores them, and the others as SQLite does.
      const uuid = index < 2 ? 'uuid' : 'blob';
      const subjects = { transferId: 't-1', agreementId: 'a-1' };
      const { transfer, agreement } = keysOfEvent({ uuid }, subjects, Date.UTC(2027, 0), runs);
      const sql = 'update events set transfer_key = $1, agreement_key = $2 where event_id = $3';
      await store.db.transaction((queries) => queries.run(sql, [transfer, agreement, eventId]));
    }
    for (const q of ['t-1', 'a-1']) {
      expect(await eventsOf(entityId, { q })).toEqual(ids.flatMap((eventId) => [eventId, eventId]));
    }
    expect(await eventsOf(entityId, { q: 't-2' })).toEqual(['another', 'another']);
    expect(await eventsOf(entityId, { q: 't-3' })).toEqual([]);
  });

  test('begins a run after as many events, later than all before it, whatever the clock says', () => {
    const runs = new SubjectRuns(2);
    const at = (ms: number) => runs.next(ms);
    const taken = [at(Date.UTC(2027, 0)), at(0), at(0), at(0), at(Date.UTC(2028, 0)), at(Date.UTC(2027, 0))];
    const [first = 0] = taken;
    expect(taken.slice(0, 4)).toEqual([first, first, first + 1, first + 1]);
    expect(taken[4]).toBe(first + 365 * 86_400);
    expect(taken[5]).toBe(taken[4] ?? 0);
    // Beyond the last run, the keys stay integers that a JSON number represents.
    const { transfer } = keysOfEvent({ uuid: 'blob' }, { transferId: 't-1' }, Date.UTC(2100, 0), new SubjectRuns());
    expect(Number.isSafeInteger(transfer)).toBe(true);
  });

  test('finds no more than the newest hundred events of an agreement', async () => {
    const entityId = await newEntity(store.db);
    await addReceiver(store.db, entityId, 'https://shop.example.com/');
    for (let index = 100; index < 205; index++) await about(entityId, `event ${index}`, { agreementId: 'long' });
    const { totalResults, deliveries } = await list(entityId, { q: 'long', limit: 100 });
    expect(totalResults).toBe(100);
    expect([deliveries[0]?.eventId, deliveries.at(-1)?.eventId]).toEqual(['event 204', 'event 105']);
    const second = await list(entityId, { q: 'long', limit: 30, page: 2, sortDir: 'asc' });
    expect(second.deliveries.map(({ eventId }) => eventId)).toEqual(
      Array.from({ length: 30 }, (_, index) => `event ${135 + index}`),
    );
  });

  test('finds what goes to a URL or a host that begins with the text, in which no character stands for others', async () => {
    const { entityId, shop, other } = await twoHosts();
    await accept(store.db, newEvent(entityId));
    const hostsOf = async (q: string) =>
      (await list(entityId, { q })).deliveries.map(({ webhookId }) => webhookId).sort();
    const [both, first, second] = [[shop, other].sort(), [shop], [other]];
    const expected: [string, string[]][] = [
      ['https://', both],
      ['https://shop', first],
      ['https://SHOP.example.com', first],
      ['https://shop.example.com/hooks/a_', first],
      ['https://other.example.com:8443/hooks/a', second],
      ['shop.example', first],
      ['Other.Example.com:8443', second],
      ['other.example.com:8443/hooks/axb', second],
      ['example.com', []],
      ['http://shop', []],
      ['https://shop.example.com/hooks/axb', []],
      ['https://other.example.com:8443/hooks/a_b', []],
      ['%', []],
      ['https://%', []],
      ['ftp://shop', []],
    ];
    for (const [q, found] of expected) expect({ q, found: await hostsOf(q) }).toEqual({ q, found });
    await moveWebhook(store.db, entityId, shop, 'https://moved.example.com/', () => true, TEST_CHANGE);
    expect([await hostsOf('shop'), await hostsOf('moved')]).toEqual([[], first]);
  });

  test('goes together with every other filter, with counts and with what a bulk redelivery takes', async () => {
    const { entityId, shop } = await twoHosts();
    await about(entityId, 'failed', { transferId: 't-1' });
    await completeAll(store.db, entityId, 'failed');
    await about(entityId, 'waiting', { transferId: 't-1' });
    const deliveryId = (await list(entityId, { webhookId: shop, status: 'failed' })).deliveries[0]?.deliveryId ?? '';
    const nowS = Math.floor(Date.now() / 1000);
    const expected: [Partial<DeliveryListQuery>, number][] = [
      [{ q: 't-1' }, 4],
      [{ q: 't-1', status: 'failed' }, 2],
      [{ q: 't-1', webhookId: shop }, 2],
      [{ q: 't-1', webhookId: shop, status: 'pending' }, 1],
      [{ q: 't-1', eventId: 'waiting' }, 2],
      [{ q: 'failed', eventId: 'waiting' }, 0],
      [{ q: 't-1', until: nowS - 3_600 }, 0],
      [{ q: 't-1', since: nowS - 3_600, event: LATE_ON_1.event }, 4],
      [{ q: 'shop', status: 'failed' }, 1],
      [{ q: 'shop', eventId: 'waiting' }, 1],
      [{ q: deliveryId, since: nowS - 3_600 }, 1],
      [{ q: deliveryId, until: nowS - 3_600 }, 0],
      [{ q: deliveryId, status: 'pending' }, 0],
    ];
    for (const [query, total] of expected) {
      for (const sortBy of ['dateCreated', 'dateNextAttempt'] as const) {
        const found = await list(entityId, { ...query, sortBy });
        expect({ query, found: [found.totalResults, found.deliveries.length] }).toEqual({
          query,
          found: [total, total],
        });
      }
      expect({ query, count: await countRedelivering(store.db, entityId, query) }).toEqual({ query, count: total });
      const { status, ...filter } = query;
      const counts = await countStatuses(store.db, entityId, filter);
      expect({ query, count: counts[status ?? 'total'] }).toEqual({ query, count: total });
    }
  });

  test('does not find what belongs to another entity', async () => {
    const { entityId } = await twoHosts();
    await about(entityId, 'theirs', { transferId: 't-1' });
    const { deliveryId } = (await list(entityId, {})).deliveries[0] ?? { deliveryId: '' };
    const { entityId: other } = await twoHosts();
    await about(other, 'own', { transferId: 't-2' });
    for (const q of ['theirs', 't-1', deliveryId]) expect((await list(other, { q })).totalResults).toBe(0);
    expect(await eventsOf(other, { q: 'shop' })).toEqual(['own']);
  });

  test('finds a text in payloads, and says how far it has looked', async () => {
    const { entityId, shop } = await twoHosts();
    for (const memo of ['50% off', '50x off', 'a_b', 'axb', 'ÄÖ']) {
      await accept(store.db, newEvent(entityId, { eventId: memo, body: JSON.stringify({ ...LATE_ON_1, memo }) }));
    }
    const payload = (text: string, given: Partial<DeliveryListQuery> = {}) =>
      list(entityId, { payload: text, ...SINCE, ...given });
    const oldest = (await list(entityId, { sortDir: 'asc', limit: 1 })).deliveries[0]?.dateCreated ?? 0;
    const found = await payload('50% off');
    expect(found.deliveries.map(({ eventId }) => eventId)).toEqual(['50% off', '50% off']);
    expect(found).toMatchObject({ totalResults: 2, searched: { deliveries: 10, dateOldest: oldest } });
    expect((await payload('a_b', { webhookId: shop })).deliveries.map(({ eventId }) => eventId)).toEqual(['a_b']);
    expect(await payload('a_b', { webhookId: shop })).toMatchObject({ searched: { deliveries: 5 } });
    expect((await payload('"memo":"ÄÖ"')).totalResults).toBe(2);
    expect((await payload('"MEMO"')).totalResults).toBe(0);
    const all = (await payload('"memo":')).deliveries.map(({ deliveryId }) => deliveryId);
    const paged = [];
    for (let page = 1; page <= 4; page++) {
      paged.push(...(await payload('"memo":', { page, limit: 3, sortDir: 'asc' })).deliveries);
    }
    expect(paged.map(({ deliveryId }) => deliveryId)).toEqual(all.toReversed());
    const none = { totalResults: 0, deliveries: [], searched: { deliveries: 0, dateOldest: null } };
    expect(await payload('memo', { status: 'failed' })).toEqual(none);
    expect(await payload('memo', { q: 'nothing' })).toEqual(none);
  });
});
