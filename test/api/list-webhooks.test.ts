import { beforeAll, expect, test } from 'bun:test';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../support/api.ts';
import { onEveryEngine } from '../support/stores.ts';

onEveryEngine('the list operation', (store) => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(store.db);
    const registration = { postUrl: 'https://example.com/b', networkIds: [1, 8453], events: ['LatePayment'] };
    const answer = await call(testApp(store.db), tenant, WEBHOOKS, { json: registration });
    expect(answer.status).toBe(201);
  });

  test('shows the five fields of the contract and the count of all matches', async () => {
    const answer = await call(testApp(store.db), tenant, `${WEBHOOKS}?limit=1&sortDir=asc`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      totalResults: 2,
      webhooks: [
        {
          webhookId: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
          networkId: 1,
          event: 'LatePayment',
          postUrl: 'https://example.com/b',
          dateCreated: expect.any(Number),
        },
      ],
    });
  });
});
