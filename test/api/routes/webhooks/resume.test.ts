import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Webhook, WebhookList } from '../../../../src/contract/webhooks.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { readDeliveries } from '../../../support/deliveries.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const NOW_S = 1_763_168_400;
const EVENTS = '/api/v1/crypto/events';

onSuiteEngine('resuming a webhook', (store) => {
  let app: App;
  let tenant: Tenant;
  let webhook: Webhook;
  let wakes: number;

  beforeEach(async () => {
    wakes = 0;
    app = testApp(store.db, {}, { nowMs: () => NOW_S * 1000, onWork: () => wakes++ });
    tenant = await createTenant(store.db);
    const json = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };
    const { webhooks } = (await (await call(app, tenant, WEBHOOKS, { json })).json()) as WebhookList;
    webhook = webhooks[0] as Webhook;
  });

  const suspend = () => suspendWebhook(store.db, tenant.entityId, webhook.webhookId, 'failing', TEST_CHANGE);
  const resume = (id = webhook.webhookId) => call(app, tenant, `${WEBHOOKS}/${id}/resume`, { method: 'POST' });
  const send = (eventId: string) =>
    call(app, tenant, EVENTS, { json: { event: 'LatePayment', networkId: 1, eventId } });
  const statuses = async () => {
    const rows = await readDeliveries(store.db, tenant.entityId);
    return rows.map(({ status }) => `${status} ${status === 'held' ? 'waits' : 'due'}`);
  };

  test('ends the suspension, wakes the dispatcher, and leaves an audit entry', async () => {
    await suspend();
    const response = await resume();
    expect([response.status, await response.json()]).toEqual([200, webhook]);
    expect(wakes).toBe(1);
    expect((await listAudit(app, tenant, '?action=webhook.resumed')).audit.map(shown)).toEqual([
      {
        actor: tenant.keyId,
        action: 'webhook.resumed',
        target: webhook.webhookId,
        before: { reason: 'failing' },
        after: null,
        dateCreated: NOW_S,
      },
    ]);
  });

  test('makes due what waited when it was suspended and what came while it was', async () => {
    expect((await send('before')).status).toBe(202);
    await suspend();
    expect((await send('meanwhile')).status).toBe(202);
    expect(await statuses()).toEqual(['held waits', 'held waits']);
    await resume();
    expect(await statuses()).toEqual(['pending due', 'pending due']);
  });

  test('again, or when it never was suspended, is 200 and changes nothing', async () => {
    expect((await resume()).status).toBe(200);
    await suspend();
    for (let time = 0; time < 3; time++) {
      const response = await resume();
      expect([response.status, await response.json()]).toEqual([200, webhook]);
    }
    expect(await listAudit(app, tenant, '?action=webhook.resumed')).toMatchObject({ totalResults: 1 });
  });

  test('many times at once leaves one row', async () => {
    await suspend();
    const responses = await Promise.all(Array.from({ length: 10 }, () => resume()));
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(await listAudit(app, tenant, '?action=webhook.resumed')).toMatchObject({ totalResults: 1 });
  });

  test('is for POST alone', async () => {
    const response = await call(app, tenant, `${WEBHOOKS}/${webhook.webhookId}/resume`);
    expect(response.headers.get('allow')).toBe('POST');
    await expectProblem(response, 'method_not_allowed');
  });

  test('leaves the list as it was while it was suspended: the five fields and no others', async () => {
    await suspend();
    expect(await (await call(app, tenant, WEBHOOKS)).json()).toEqual({ totalResults: 1, webhooks: [webhook] });
  });
});
