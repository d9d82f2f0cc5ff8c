import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const API = '/api/v1/crypto';
const EVENT_ID = 'invoice-1';

/** Ids of events are the callers' own, so two entities will choose the same ones. */
onSuiteEngine('an event id that two entities use', (store) => {
  let app: App;
  let one: Tenant;
  let two: Tenant;

  const bodyOf = (tenant: Tenant) =>
    JSON.stringify({ eventId: EVENT_ID, event: 'LatePayment', networkId: 1, of: tenant.entityId });
  const asJson = { 'content-type': 'application/json' };
  const post = (tenant: Tenant, body = bodyOf(tenant)) =>
    call(app, tenant, `${API}/events`, { method: 'POST', body, headers: asJson });

  beforeAll(async () => {
    app = testApp(store.db);
    [one, two] = [await createTenant(store.db), await createTenant(store.db)];
    for (const tenant of [one, two]) {
      const json = { postUrl: `https://example.com/${tenant.entityId}`, networkIds: [1], events: ['LatePayment'] };
      await call(app, tenant, WEBHOOKS, { json });
    }
    const responses = await Promise.all([post(one), post(two)]);
    expect(responses.map(({ status }) => status)).toEqual([202, 202]);
  });

  test('names the event of each, with its own bytes', async () => {
    for (const tenant of [one, two]) {
      const response = await call(app, tenant, `${API}/events/${EVENT_ID}`);
      expect(await response.json()).toMatchObject({ eventId: EVENT_ID, body: bodyOf(tenant), deliveries: 1 });
    }
  });

  test('is a repeat for the entity that sent these bytes, and a conflict for one that sent others', async () => {
    expect((await post(one)).status).toBe(200);
    expect((await post(two)).status).toBe(200);
    expect((await post(one, bodyOf(two))).status).toBe(409);
  });

  test('is accepted from each in batches that come at once', async () => {
    const line = (tenant: Tenant) => bodyOf(tenant).replace(EVENT_ID, 'invoice-2');
    const headers = { 'content-type': 'application/x-ndjson' };
    const responses = await Promise.all(
      [one, two].map((tenant) =>
        call(app, tenant, `${API}/events/batch`, { method: 'POST', body: line(tenant), headers }),
      ),
    );
    for (const response of responses)
      expect(await response.json()).toMatchObject({ results: [{ status: 202, deliveries: 1 }] });
  });

  test('shows each its own deliveries, to its own webhook', async () => {
    for (const tenant of [one, two]) {
      const listed = await (await call(app, tenant, `${API}/deliveries?eventId=${EVENT_ID}`)).json();
      expect(listed).toMatchObject({
        totalResults: 1,
        deliveries: [{ postUrl: `https://example.com/${tenant.entityId}` }],
      });
    }
  });

  test('redelivered by one changes nothing for the other', async () => {
    const seenBy = async (tenant: Tenant) => (await call(app, tenant, `${API}/deliveries?eventId=${EVENT_ID}`)).text();
    const before = await seenBy(two);
    const response = await call(app, one, `${API}/deliveries/redeliver?eventId=${EVENT_ID}&dryRun=true`, {
      method: 'POST',
    });
    expect(await response.json()).toMatchObject({ totalResults: 1 });
    const started = await call(app, one, `${API}/deliveries/redeliver?eventId=${EVENT_ID}`, { method: 'POST' });
    expect(started.status).toBe(202);
    expect(await seenBy(two)).toBe(before);
  });
});
