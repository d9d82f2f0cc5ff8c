import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import type { Redelivery } from '../../../src/contract/deliveries/redelivery.ts';
import { redeliverySchema } from '../../../src/contract/deliveries/redelivery.ts';
import type { Delivery, DeliveryDetail } from '../../../src/contract/deliveries.ts';
import { type DeliveryList, deliveryDetailSchema, deliveryListSchema } from '../../../src/contract/deliveries.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { version } from '../../../src/version.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import {
  addReceiver,
  failedWith,
  forgetDeliveries,
  LATE_ON_1,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { endpointIdOf } from '../../support/endpoints.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { continueRedelivery } from '../../support/tasks.ts';
import { until } from '../../support/until.ts';

const API = '/api/v1/crypto';
const DELIVERIES = `${API}/deliveries`;
const HOOK = 'https://example.com/hook';

/** Keys out of order, a number beyond 2^53 and odd spaces: what no parser and printer would leave as it is. */
const BODY = '{ "z":1,"event":"LatePayment", "networkId":1,"amount":123456789012345678901234567890,"1":"ünï\\u0000"}';

const SERVER = { name: 'server', value: 'gate' };

type List = { totalResults: number; deliveries: Delivery[]; searched: DeliveryList['searched'] };

/** The beginning of what every list of deliveries and every redelivery of many refuses. */
const BAD_FILTERS: [query: string, errors: Record<string, RegExp>][] = [
  ['status=Failed', { status: /pending, retrying, delivered, failed, held, cancelled/ }],
  ['status=', { status: /one of/ }],
  ['status=failed&status=held', { status: /more than once/ }],
  ['event=webhook.suspended', { event: /one of AgreementSignedUp/ }],
  ['eventId=', { eventId: /must not be empty/ }],
  ['eventId=a%00', { eventId: /NUL/ }],
  ['webhookId=', { webhookId: /must not be empty/ }],
  ['networkId=1.5', { networkId: /plain decimal digits/ }],
  ['since=yesterday', { since: /Unix seconds/ }],
  ['since=2026-01-31', { since: /Unix seconds/ }],
  ['since=-1', { since: /Unix seconds/ }],
  ['since=9007199254740992', { since: /Unix seconds/ }],
  ['until=1e9', { until: /Unix seconds/ }],
  ['q=', { q: /1 to 256 characters/ }],
  [`q=${'a'.repeat(257)}`, { q: /1 to 256 characters/ }],
  ['q=a%00', { q: /NUL/ }],
  ['eventID=a', { eventID: /did you mean eventId\?/ }],
  [
    'outcome=failed',
    {
      outcome:
        /known parameters are eventId, event, networkId, transactionHash, since, until, webhookId, endpointId, status/,
    },
  ],
  ['until=&status=x&webhookid=a', { until: /Unix seconds/, status: /one of/, webhookid: /webhookId\?/ }],
];

const BAD_PAGING: [query: string, errors: Record<string, RegExp>][] = [
  ['limit=101', { limit: /from 1 to 100/ }],
  ['page=0', { page: /from 1/ }],
  ['sortBy=dateDelivered', { sortBy: /dateCreated, dateNextAttempt/ }],
  ['sortDir=up', { sortDir: /asc, desc/ }],
  ['payload=ab&since=1', { payload: /3 to 256 characters/ }],
  ['payload=abc', { payload: /needs `since`/ }],
  ['payload=abc&since=1&sortBy=dateNextAttempt', { sortBy: /must be dateCreated/ }],
  ['payload=abc&status=x', { payload: /needs `since`/, status: /one of/ }],
];

const BAD_REDELIVERIES: [query: string, errors: Record<string, RegExp>][] = [
  [
    '',
    { 'eventId, event, networkId, transactionHash, since, until, webhookId, endpointId, status, q': /at least one/ },
  ],
  [
    'dryRun=true',
    { 'eventId, event, networkId, transactionHash, since, until, webhookId, endpointId, status, q': /at least one/ },
  ],
  ['status=failed&dryRun=yes', { dryRun: /true, false/ }],
  ['status=failed&dryRun=', { dryRun: /true, false/ }],
  ['status=failed&dryrun=true', { dryrun: /did you mean dryRun\?/ }],
  ['status=failed&limit=5', { limit: /not a known parameter/ }],
];

onSuiteEngine('deliveries', (store) => {
  let app: App;
  let tenant: Tenant;
  let webhookId: string;
  let wakes: number;
  let kicks: number;

  beforeEach(async () => {
    wakes = 0;
    kicks = 0;
    app = testApp(store.db, {}, { onWork: () => wakes++, onTask: () => kicks++ });
    tenant = await createTenant(store.db);
    webhookId = await addReceiver(store.db, tenant.entityId, HOOK);
  });

  afterEach(() => forgetDeliveries(store.db));

  const get = (path: string) => call(app, tenant, path);
  const post = (path: string) => call(app, tenant, path, { method: 'POST' });
  const send = async (body: string = JSON.stringify(LATE_ON_1)) => {
    const response = await call(app, tenant, `${API}/events`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { eventId: string }).eventId;
  };
  const list = async (query = ''): Promise<List> => {
    const response = await get(`${DELIVERIES}${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as List;
  };
  const only = async (): Promise<Delivery> => {
    const { totalResults, deliveries } = await list();
    if (totalResults !== 1 || deliveries[0] === undefined) throw new Error(`${totalResults} deliveries`);
    return deliveries[0];
  };
  const read = async (deliveryId: string): Promise<DeliveryDetail> =>
    (await (await get(`${DELIVERIES}/${deliveryId}`)).json()) as DeliveryDetail;

  describe('GET /deliveries', () => {
    test('shows where each delivery stands, in exactly the documented fields', async () => {
      const eventId = await send();
      const found = await list();
      expect(deliveryListSchema.parse(found)).toEqual(found);
      expect(found).toEqual({
        totalResults: 1,
        deliveries: [
          {
            deliveryId: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
            kind: 'event',
            eventId,
            webhookId,
            event: 'LatePayment',
            networkId: 1,
            postUrl: HOOK,
            status: 'pending',
            attempts: 0,
            dateCreated: expect.any(Number),
            dateNextAttempt: expect.any(Number),
            dateDelivered: null,
            lastStatusCode: null,
            lastError: null,
            endpointId: expect.stringMatching(/^ep_[0-9a-f]{14}$/),
            sequence: expect.any(Number),
            supersededBy: null,
            retractedBy: null,
            waitsFor: expect.objectContaining({ kind: 'slot', dateSince: expect.any(Number) }),
            summary: null,
          },
        ],
        searched: null,
      });
      expect(Math.abs((found.deliveries[0]?.dateCreated ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    });

    test('narrows, sorts and pages, and counts all that match', async () => {
      const first = await send();
      await send();
      const third = await send();
      expect((await list(`?eventId=${first}`)).totalResults).toBe(1);
      expect(await list('?status=failed')).toEqual({ totalResults: 0, deliveries: [], searched: null });
      const beyond = { totalResults: 3, deliveries: [], searched: null };
      expect(await list(`?webhookId=${webhookId}&limit=1&page=9`)).toEqual(beyond);
      const page = await list('?limit=2&sortBy=dateNextAttempt&sortDir=asc');
      expect([page.totalResults, page.deliveries[0]?.eventId]).toEqual([3, first]);
      expect((await list('?limit=1')).deliveries[0]?.eventId).toBe(third);
    });

    test('narrows to the webhooks of one endpoint, and to none for an unknown one', async () => {
      await addReceiver(store.db, tenant.entityId, `${HOOK}/other`);
      await send();
      await send();
      const [here, other] = await Promise.all(
        [HOOK, `${HOOK}/other`].map((postUrl) => endpointIdOf(store.db, tenant.entityId, postUrl)),
      );
      const found = await list(`?endpointId=${here}`);
      expect(found.totalResults).toBe(2);
      expect(found.deliveries.map(({ postUrl }) => postUrl)).toEqual([HOOK, HOOK]);
      expect((await list(`?endpointId=${other}&webhookId=${webhookId}`)).totalResults).toBe(0);
      for (const unknown of ['ep_00000000000000', 'ep_ffffffffffffff', 'x']) {
        expect(await list(`?endpointId=${unknown}`)).toEqual({ totalResults: 0, deliveries: [], searched: null });
      }
      const counted = await post(`${DELIVERIES}/redeliver?endpointId=${other}&dryRun=true`);
      expect(await counted.json()).toEqual({ totalResults: 2 });
    });

    test('searches by the id of a transfer and by a host, and in payloads, with the text as it is', async () => {
      const about = (eventId: string, memo: string) =>
        call(app, tenant, `${API}/events`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ event: 'LatePayment', networkId: 1, eventId, transferId: 'trf 1', memo }),
        });
      await about('first', '50% off');
      await about('second', '50 off');
      const encoded = (text: string) => encodeURIComponent(text);
      expect((await list(`?q=${encoded('trf 1')}`)).totalResults).toBe(2);
      expect((await list(`?q=${encoded(new URL(HOOK).host)}&limit=1`)).totalResults).toBe(2);
      expect((await list(`?q=${encoded('%')}`)).totalResults).toBe(0);
      const found = await list(`?payload=${encoded('50% off')}&since=1`);
      expect([found.totalResults, found.deliveries[0]?.eventId, found.searched?.deliveries]).toEqual([1, 'first', 2]);
      expect(deliveryListSchema.parse(found)).toEqual(found);
      const counted = await post(`${DELIVERIES}/redeliver?q=${encoded('trf 1')}&dryRun=true`);
      expect(await counted.json()).toEqual({ totalResults: 2 });
    });

    test('has the same bytes under the same tag, and is 304 for a client that has them', async () => {
      await send();
      const response = await get(DELIVERIES);
      const etag = response.headers.get('etag') ?? '';
      const again = await call(app, tenant, DELIVERIES, { headers: { 'if-none-match': etag } });
      expect([again.status, await again.text()]).toEqual([304, '']);
      await send();
      expect((await call(app, tenant, DELIVERIES, { headers: { 'if-none-match': etag } })).status).toBe(200);
    });

    test.each([...BAD_FILTERS, ...BAD_PAGING])(
      '?%s is 400 and names every invalid parameter',
      async (query, errors) => {
        const named = messagesByName(await expectProblem(await get(`${DELIVERIES}?${query}`), 'invalid_request'));
        expectErrors(named, errors);
      },
    );
  });

  describe('the headers of an attempt', () => {
    test('are those that were sent, with signatures and the values of the endpoint masked', async () => {
      const { endpoints } = (await (await get(`${API}/endpoints`)).json()) as { endpoints: { endpointId: string }[] };
      const path = `${API}/endpoints/${endpoints[0]?.endpointId}`;
      const headers = { 'x-gate': 'very secret', authorization: 'Bearer very secret' };
      expect((await call(app, tenant, path, { method: 'PATCH', json: { headers } })).status).toBe(200);
      await send(BODY);
      const sender = new ScriptedSender();
      await withEngine(store.db, sender, () =>
        until('it is delivered', async () => (await only()).status === 'delivered'),
      );
      const [attempt] = (await read((await only()).deliveryId)).attemptLog;
      const sent = new Map(Object.entries(sender.requests[0]?.headers ?? {}));
      const masked = [...sent.keys()].filter((name) => /signature|x-gate|authorization/.test(name));
      expect(masked).toHaveLength(4);
      for (const name of masked) sent.set(name, '***');
      sent.set('host', new URL(HOOK).host).set('user-agent', `Paybell/${version}`).set('accept', '*/*');
      sent.set('content-length', String(Buffer.byteLength(BODY)));
      const shown = new Map(attempt?.requestHeaders.map(({ name, value }) => [name, value]));
      expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(sent));
      expect(attempt?.responseHeaders).toBeNull();
      expect(JSON.stringify(attempt)).not.toContain('very secret');
    });

    test.each([
      ['the only one', '0s'],
      ['the last one', '0s,0s'],
    ])('of a failure are shown where it is %s, and count as stored until they are removed', async (_, schedule) => {
      await send(BODY);
      const sender = new ScriptedSender(() => respondedWith(500, { body: 'no', headers: 'server: gate\nx-a: b' }));
      const settings = { RETRY_SCHEDULE: schedule };
      const failed = async () => (await only()).status === 'failed';
      await withEngine(store.db, sender, () => until('it has failed', failed), { settings });
      const { attemptLog } = await read((await only()).deliveryId);
      const expected = { statusCode: 500, response: 'no', responseHeaders: [SERVER, { name: 'x-a', value: 'b' }] };
      expect(attemptLog).toMatchObject(schedule.split(',').map(() => expected));
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    });
  });

  describe('GET /deliveries/counts', () => {
    const counts = async (query = '') => (await get(`${DELIVERIES}/counts${query}`)).json();
    const NONE = { pending: 0, retrying: 0, delivered: 0, failed: 0, held: 0, cancelled: 0, superseded: 0 };

    test('counts what the lists count, in each state and by every filter but the status', async () => {
      expect(await counts()).toEqual({ total: 0, ...NONE });
      const first = await send();
      await withEngine(store.db, new ScriptedSender(), () =>
        until('it is delivered', async () => (await list('?status=delivered')).totalResults === 1),
      );
      await send();
      expect(await counts()).toEqual({ total: 2, ...NONE, pending: 1, delivered: 1 });
      expect(await counts(`?eventId=${first}`)).toEqual({ total: 1, ...NONE, delivered: 1 });
      expect(await counts(`?webhookId=${webhookId}&since=1&until=9999999999`)).toMatchObject({
        total: 2,
        delivered: 1,
      });
      expect(await counts('?event=TransferCreated')).toEqual({ total: 0, ...NONE });
    });

    test.each(['status=failed', 'page=1', 'sortBy=dateCreated'])('?%s is 400: it counts every state', async (query) => {
      await expectProblem(await get(`${DELIVERIES}/counts?${query}`), 'invalid_request');
    });
  });

  describe('GET /deliveries/{deliveryId}', () => {
    test('shows the exact body, the attempts oldest first, and when the next is due', async () => {
      await send(BODY);
      const { deliveryId } = await only();
      expect(await read(deliveryId)).toMatchObject({ body: BODY, attempts: 0, attemptLog: [] });
      const sender = new ScriptedSender(() =>
        sender.requests.length === 1
          ? respondedWith(503, { body: 'busy\n', headers: 'server: gate\nset-cookie: ***' })
          : failedWith('timeout'),
      );
      const settings = { RETRY_SCHEDULE: '0s,0s,2h' };
      await withEngine(
        store.db,
        sender,
        () => until('it was tried twice', async () => (await read(deliveryId)).attempts === 2),
        { settings },
      );
      const detail = await read(deliveryId);
      expect(deliveryDetailSchema.parse(detail)).toEqual(detail);
      expect(detail).toMatchObject({
        status: 'retrying',
        lastStatusCode: null,
        lastError: 'timeout',
        dateDelivered: null,
        body: BODY,
      });
      expect(detail.attemptLog).toEqual([
        {
          attempt: 1,
          kind: 'first',
          postUrl: HOOK,
          startedAtMs: expect.any(Number),
          durationMs: 1,
          statusCode: 503,
          error: null,
          response: 'busy\n',
          requestHeaders: expect.any(Array),
          responseHeaders: [
            { name: 'server', value: 'gate' },
            { name: 'set-cookie', value: '***' },
          ],
        },
        {
          attempt: 2,
          kind: 'retry',
          postUrl: HOOK,
          startedAtMs: expect.any(Number),
          durationMs: 1,
          statusCode: null,
          error: 'timeout',
          response: null,
          requestHeaders: expect.any(Array),
          responseHeaders: null,
        },
      ]);
      const [first, second] = detail.attemptLog.map(({ startedAtMs }) => startedAtMs);
      expect(second ?? 0).toBeGreaterThanOrEqual(first ?? 0);
      const waitS = (detail.dateNextAttempt ?? 0) - (second ?? 0) / 1000;
      expect(Math.abs(waitS - 7_200)).toBeLessThan(60);
    });

    test('knows every attempt of a redelivery once it was delivered', async () => {
      await send();
      const { deliveryId } = await only();
      await withEngine(store.db, new ScriptedSender(), async (engine) => {
        await until('it is delivered', async () => (await read(deliveryId)).status === 'delivered');
        for (let time = 0; time < 3; time++)
          expect((await post(`${DELIVERIES}/${deliveryId}/redeliver`)).status).toBe(202);
        engine.wake();
        await until('three more are sent', async () => (await read(deliveryId)).attempts === 4);
      });
      const { attemptLog, dateDelivered, dateNextAttempt } = await read(deliveryId);
      expect(attemptLog.map(({ attempt, kind }) => [attempt, kind])).toEqual([
        [1, 'first'],
        [2, 'redelivery'],
        [3, 'redelivery'],
        [4, 'redelivery'],
      ]);
      expect([dateDelivered === null, dateNextAttempt]).toEqual([false, null]);
    });

    test('is 404 for what never was, and takes no parameters', async () => {
      await expectProblem(await get(`${DELIVERIES}/dlv_none`), 'not_found');
      await send();
      const { deliveryId } = await only();
      await expectProblem(await get(`${DELIVERIES}/${deliveryId}?body=true`), 'invalid_request');
    });
  });

  describe('POST /deliveries/{deliveryId}/redeliver', () => {
    test('is 202 with the delivery, and wakes the dispatcher', async () => {
      await send();
      const delivery = await only();
      const response = await post(`${DELIVERIES}/${delivery.deliveryId}/redeliver`);
      // The delivery is due from the redelivery on, which may be in a later second than the event.
      const waitsFor = { ...delivery.waitsFor, dateSince: expect.any(Number) };
      expect([response.status, await response.json()]).toEqual([202, { ...delivery, waitsFor }]);
      expect(wakes).toBe(1);
    });

    test('is 409 and says what to do when its webhook is suspended or deleted', async () => {
      await send();
      const { deliveryId } = await only();
      await suspendWebhook(store.db, tenant.entityId, webhookId, 'failing', TEST_CHANGE);
      const suspended = await expectProblem(await post(`${DELIVERIES}/${deliveryId}/redeliver`), 'conflict');
      expect(suspended.detail).toContain('Resume it');
      await call(app, tenant, `${WEBHOOKS}/${webhookId}`, { method: 'DELETE' });
      const gone = await expectProblem(await post(`${DELIVERIES}/${deliveryId}/redeliver`), 'conflict');
      expect(gone.detail).toContain('was deleted');
      // The deletion alone, for the sweep.
      expect([wakes, (await only()).status]).toEqual([1, 'cancelled']);
    });

    test('is 404 for what never was, and for POST alone', async () => {
      await expectProblem(await post(`${DELIVERIES}/dlv_none/redeliver`), 'not_found');
      const response = await get(`${DELIVERIES}/dlv_none/redeliver`);
      expect(response.headers.get('allow')).toBe('POST');
      await expectProblem(response, 'method_not_allowed');
    });
  });

  describe('POST /deliveries/redeliver', () => {
    test('with dryRun only counts', async () => {
      await send();
      await send();
      const response = await post(`${DELIVERIES}/redeliver?status=pending&dryRun=true`);
      expect([response.status, await response.json()]).toEqual([200, { totalResults: 2 }]);
      const none = await post(`${DELIVERIES}/redeliver?status=failed&dryRun=true`);
      expect(await none.json()).toEqual({ totalResults: 0 });
      const rows = await store.db.all('select id from redeliveries where entity_id = $1', [tenant.entityId]);
      expect([rows, kicks, wakes]).toEqual([[], 0, 0]);
    });

    test('is 202 with its progress, which can be read to the end', async () => {
      await send();
      await send();
      const response = await post(`${DELIVERIES}/redeliver?webhookId=${webhookId}`);
      const started = (await response.json()) as Redelivery;
      expect(redeliverySchema.parse(started)).toEqual(started);
      expect([response.status, started]).toEqual([
        202,
        {
          redeliveryId: expect.stringMatching(/^rdl_[0-9a-f]{32}$/),
          status: 'running',
          totalResults: 2,
          queued: 0,
          skipped: 0,
          sent: 0,
          delivered: 0,
          failed: 0,
          waiting: 0,
          dateCreated: expect.any(Number),
          dateFinished: null,
        },
      ]);
      expect(kicks).toBe(1);
      const progress = async () =>
        (await (await get(`${API}/redeliveries/${started.redeliveryId}`)).json()) as Redelivery;
      expect(await progress()).toEqual(started);
      await continueRedelivery(store.db, tenant.entityId, started.redeliveryId);
      expect(await progress()).toMatchObject({
        status: 'finished',
        queued: 2,
        sent: 0,
        dateFinished: expect.any(Number),
      });
      await withEngine(store.db, new ScriptedSender(), () =>
        until('both are delivered', async () => (await progress()).delivered === 2),
      );
      expect(await progress()).toMatchObject({ status: 'finished', queued: 2, sent: 2, delivered: 2, skipped: 0 });
    });

    test.each([...BAD_FILTERS.slice(0, 13), ...BAD_REDELIVERIES])(
      '?%s is 400 and starts nothing',
      async (query, errors) => {
        const named = messagesByName(
          await expectProblem(await post(`${DELIVERIES}/redeliver?${query}`), 'invalid_request'),
        );
        expectErrors(named, errors);
        expect(kicks).toBe(0);
      },
    );
  });
});

function expectErrors(named: Record<string, string>, errors: Record<string, RegExp>): void {
  expect(Object.keys(named).toSorted()).toEqual(Object.keys(errors).toSorted());
  for (const [name, message] of Object.entries(errors)) expect(named[name]).toMatch(message);
}
