import { expect, test } from 'bun:test';
import { call, createTenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const API = '/api/v1/crypto';

onSuiteEngine('a kind of EXTRA_EVENTS', (store) => {
  test('is a filter wherever an event is one, except in the list of the contract', async () => {
    const app = testApp(store.db, { EXTRA_EVENTS: 'RefundIssued' });
    const tenant = await createTenant(store.db);
    const registration = {
      postUrl: 'https://example.com/old',
      networkIds: [1],
      events: ['RefundIssued', 'LatePayment'],
    };
    await call(app, tenant, WEBHOOKS, { json: registration });
    for (const event of registration.events)
      await call(app, tenant, `${API}/events`, { json: { event, networkId: 1 } });
    const total = async (path: string, options = {}) => {
      const response = await call(app, tenant, path, options);
      expect(response.status).toBe(200);
      return ((await response.json()) as { totalResults: number }).totalResults;
    };
    const moved = { method: 'PATCH', json: { postUrl: 'https://example.com/new' } };
    expect(await total(`${API}/events?event=RefundIssued`)).toBe(1);
    expect(await total(`${API}/deliveries?event=RefundIssued`)).toBe(1);
    expect(await total(`${API}/deliveries/redeliver?event=RefundIssued&dryRun=true`, { method: 'POST' })).toBe(1);
    expect(await total(`${WEBHOOKS}?event=RefundIssued`, moved)).toBe(1);
    expect(await total(`${WEBHOOKS}?event=RefundIssued`, { method: 'DELETE' })).toBe(1);
    expect(await total(WEBHOOKS)).toBe(1);
    await expectProblem(await call(app, tenant, `${WEBHOOKS}?event=RefundIssued`), 'invalid_request');
  });

  test('that the server does not know is 400, with all that it knows', async () => {
    const app = testApp(store.db, { EXTRA_EVENTS: 'RefundIssued' });
    const tenant = await createTenant(store.db);
    for (const [method, path] of [
      ['GET', `${API}/events`],
      ['GET', `${API}/deliveries`],
      ['POST', `${API}/deliveries/redeliver`],
      ['DELETE', WEBHOOKS],
    ]) {
      const response = await call(app, tenant, `${path}?event=refundIssued`, { method: method ?? '' });
      const { event } = messagesByName(await expectProblem(response, 'invalid_request'));
      expect(event).toMatch(/^must be one of AgreementSignedUp, .*, LatePayment, RefundIssued(, EventRetracted)? /);
    }
  });
});
