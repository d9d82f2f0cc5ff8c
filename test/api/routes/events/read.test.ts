import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { eventListSchema, eventSchema } from '../../../../src/contract/events/accepted-event.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { addReceiver } from '../../../support/deliveries.ts';
import { seedEventRows } from '../../../support/delivery-rows.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';

/** Keys out of order, a number beyond 2^53 and odd spaces: what no parser and printer would leave as it is. */
const BODY =
  '{ "z":1,"event":"LatePayment", "networkId":1,"eventId":"odd","amount":1234567890123456789012.10,"1":"ü"}\n';

const BAD_QUERIES: [query: string, errors: Record<string, RegExp>][] = [
  ['status=failed', { status: /not a known parameter/ }],
  ['matched=yes&q=', { matched: /one of true, false/, q: /1 to 256 characters/ }],
  ['webhookId=wh_1', { webhookId: /not a known parameter/ }],
  ['sortBy=dateNextAttempt', { sortBy: /one of dateCreated/ }],
  ['since=0x10&until=', { since: /Unix seconds/, until: /Unix seconds/ }],
  ['event=latepayment', { event: /case-sensitive/ }],
  ['eventId=&networkId=-1', { eventId: /empty/, networkId: /digits/ }],
  ['limit=0&page=x&sortDir=down', { limit: /from 1 to 100/, page: /digits/, sortDir: /asc, desc/ }],
];

onSuiteEngine('accepted events', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  const send = async (body: string | object) => {
    const text = typeof body === 'string' ? body : JSON.stringify({ event: 'LatePayment', networkId: 1, ...body });
    const response = await call(app, tenant, EVENTS, { body: text, headers: { 'content-type': 'application/json' } });
    expect(response.status).toBe(202);
  };
  const list = async (query = '') => {
    const response = await call(app, tenant, `${EVENTS}${query}`);
    expect(response.status).toBe(200);
    return eventListSchema.parse(await response.json());
  };
  const idsOf = async (query: string) => (await list(query)).events.map(({ eventId }) => eventId);

  test('come with the exact text that came in, and with how many webhooks matched', async () => {
    await addReceiver(store.db, tenant.entityId, 'https://example.com/a');
    await addReceiver(store.db, tenant.entityId, 'https://example.com/b');
    await send(BODY);
    const expected = {
      eventId: 'odd',
      event: 'LatePayment',
      networkId: 1,
      body: BODY,
      dateCreated: expect.any(Number),
      deliveries: 2,
      matched: true,
      retractedBy: null,
    };
    expect(await list()).toEqual({ totalResults: 1, events: [expected] });
    const one = await call(app, tenant, `${EVENTS}/odd`);
    expect([one.status, eventSchema.parse(await one.json())]).toEqual([200, expected]);
  });

  test('are narrowed, sorted by date and paged, with the count of all', async () => {
    await send({ eventId: 'a' });
    await Bun.sleep(2);
    await send({ eventId: 'b', networkId: 10 });
    await Bun.sleep(2);
    await send({ eventId: 'c', event: 'TransferCreated' });
    expect(await idsOf('')).toEqual(['c', 'b', 'a']);
    expect(await idsOf('?sortDir=asc&limit=2')).toEqual(['a', 'b']);
    expect(await idsOf('?event=TransferCreated')).toEqual(['c']);
    expect(await idsOf('?networkId=10')).toEqual(['b']);
    expect(await idsOf('?eventId=a')).toEqual(['a']);
    expect(await idsOf('?matched=false')).toEqual(['c', 'b', 'a']);
    expect(await list('?matched=true')).toEqual({ totalResults: 0, events: [] });
    expect(await list('?eventId=none')).toEqual({ totalResults: 0, events: [] });
    expect(await list('?limit=2&page=3')).toEqual({ totalResults: 3, events: [] });
    const nowS = Math.floor(Date.now() / 1000);
    expect(await idsOf(`?since=${nowS - 60}&until=${nowS + 60}`)).toHaveLength(3);
    expect(await idsOf(`?since=${nowS + 60}`)).toEqual([]);
    expect(await idsOf(`?until=${nowS - 60}`)).toEqual([]);
  });

  test('are found by the exact id of the event, its transfer or its agreement, with the other filters', async () => {
    await send({ eventId: 'a', transferId: 'trf_1', agreementId: 'agr_1' });
    await Bun.sleep(2);
    await send({ eventId: 'b', transferId: 'trf_2', agreementId: 'agr_1' });
    await send({ eventId: 'c', networkId: 10, transferId: 'trf_1' });
    expect(await idsOf('?q=b')).toEqual(['b']);
    expect(await idsOf('?q=agr_1')).toEqual(['b', 'a']);
    expect(await list('?q=agr_1&sortDir=asc&limit=1')).toMatchObject({ totalResults: 2, events: [{ eventId: 'a' }] });
    expect(await idsOf('?q=trf_1&networkId=10')).toEqual(['c']);
    expect(await idsOf('?q=trf_1&eventId=a&matched=false')).toEqual(['a']);
    expect(await idsOf('?q=trf_1&eventId=b')).toEqual([]);
    expect(await idsOf(`?q=agr_1&since=${Math.floor(Date.now() / 1000) + 60}`)).toEqual([]);
    expect(await list('?q=agr')).toEqual({ totalResults: 0, events: [] });
    expect(await (await call(app, await createTenant(store.db), `${EVENTS}?q=agr_1`)).json()).toEqual({
      ...{ totalResults: 0, events: [] },
    });
  });

  test('are counted in ranges that begin or end within an hour', async () => {
    // Thirteen minutes after a full hour.
    const acceptedS = 1_700_000_000;
    const event = { id: 'old', event: 'LatePayment', networkId: 1, body: '{}', createdAtMs: acceptedS * 1000 };
    await seedEventRows(store.db, tenant.entityId, [event]);
    const totals = [`since=${acceptedS}`, `since=${acceptedS + 1}`, `until=${acceptedS}`, `until=${acceptedS + 1}`];
    const found = await Promise.all(totals.map((query) => list(`?${query}`)));
    expect(found.map(({ totalResults, events }) => [totalResults, events.length])).toEqual([
      [1, 1],
      [0, 0],
      [0, 0],
      [1, 1],
    ]);
  });

  test('of another entity are not there', async () => {
    await send({ eventId: 'mine' });
    const stranger = await createTenant(store.db);
    await expectProblem(await call(app, stranger, `${EVENTS}/mine`), 'not_found');
    expect(await (await call(app, stranger, EVENTS)).json()).toEqual({ totalResults: 0, events: [] });
    const body = JSON.stringify({ event: 'LatePayment', networkId: 1, eventId: 'theirs' });
    await call(app, stranger, EVENTS, { body, headers: { 'content-type': 'application/json' } });
    expect(await idsOf('')).toEqual(['mine']);
    expect(await idsOf('?since=1')).toEqual(['mine']);
  });

  test.each(BAD_QUERIES)('?%s is 400 and names every invalid parameter', async (query, errors) => {
    const named = messagesByName(await expectProblem(await call(app, tenant, `${EVENTS}?${query}`), 'invalid_request'));
    expect(Object.keys(named).toSorted()).toEqual(Object.keys(errors).toSorted());
    for (const [name, message] of Object.entries(errors)) expect(named[name]).toMatch(message);
  });
});
