import { beforeEach, describe, expect, test } from 'bun:test';
import { Webhook as Verifier } from 'standardwebhooks';
import type { App } from '../../../../src/api/app.ts';
import { healthSchema } from '../../../../src/contract/webhook-health.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { addReceiver } from '../../../support/deliveries.ts';
import { Ledger } from '../../../support/ledger.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { startTestService } from '../../../support/service.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const NOTICE_URL = '/api/v1/crypto/webhooks/notice-url';
const NOW_S = 1_763_168_400;

const BAD_NOTICE_URLS: [body: unknown, errors: Record<string, RegExp>][] = [
  [{}, { noticeUrl: /required|string/ }],
  [{ noticeUrl: 7 }, { noticeUrl: /string/ }],
  [{ noticeUrl: '' }, { noticeUrl: /empty/ }],
  [{ noticeUrl: 'http://example.com/' }, { noticeUrl: /https/ }],
  [{ noticeUrl: 'https://127.0.0.1/' }, { noticeUrl: /not public/ }],
  [{ noticeUrl: 'https://localhost/' }, { noticeUrl: /local network/ }],
  [{ noticeUrl: 'https://user:pass@example.com/' }, { noticeUrl: /user information/ }],
  [{ noticeUrl: 'https://example.com/', more: 1 }, { more: /not a known field/ }],
  [{ noticeURL: null }, { noticeUrl: /required|string/, noticeURL: /did you mean noticeUrl\?/ }],
  [[], { '': /JSON object/ }],
];

onSuiteEngine('the health of a webhook', (store) => {
  let app: App;
  let tenant: Tenant;
  let webhookId: string;

  beforeEach(async () => {
    app = testApp(store.db, {}, { nowMs: () => NOW_S * 1000 });
    tenant = await createTenant(store.db);
    webhookId = await addReceiver(store.db, tenant.entityId, 'https://example.com/hook');
  });

  const put = (json: unknown) => call(app, tenant, NOTICE_URL, { method: 'PUT', json });
  const health = async () => {
    const response = await call(app, tenant, `${WEBHOOKS}/${webhookId}/health`);
    expect(response.status).toBe(200);
    return healthSchema.parse(await response.json());
  };

  test('is active until it is suspended, then says why, and is active again when it is resumed', async () => {
    const active = {
      webhookId,
      state: 'active',
      reason: null,
      failuresInARow: 0,
      dateLastSuccess: null,
      dateLastFailure: null,
    } as const;
    expect(await health()).toEqual(active);
    await suspendWebhook(store.db, tenant.entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await health()).toEqual({ ...active, state: 'suspended', reason: 'gone' });
    await call(app, tenant, `${WEBHOOKS}/${webhookId}/resume`, { method: 'POST' });
    expect(await health()).toEqual(active);
  });

  describe('and the notice URL', () => {
    const read = async () => (await call(app, tenant, NOTICE_URL)).json();

    test('is null until it is set, comes back as it was given, and null switches it off', async () => {
      expect(await read()).toEqual({ noticeUrl: null });
      const noticeUrl = 'https://Example.com:443/notices?a=1';
      const response = await put({ noticeUrl });
      expect([response.status, await response.json()]).toEqual([200, { noticeUrl }]);
      expect(await read()).toEqual({ noticeUrl });
      expect(await (await put({ noticeUrl: null })).json()).toEqual({ noticeUrl: null });
      expect(await read()).toEqual({ noticeUrl: null });
    });

    test('belongs to the entity alone', async () => {
      await put({ noticeUrl: 'https://example.com/mine' });
      const stranger = await createTenant(store.db);
      expect(await (await call(app, stranger, NOTICE_URL)).json()).toEqual({ noticeUrl: null });
    });

    test('leaves a row of audit for each change, and none where nothing changes', async () => {
      const noticeUrl = 'https://example.com/notices';
      await put({ noticeUrl });
      await put({ noticeUrl });
      await put({ noticeUrl: null });
      const row = (before: string | null, after: string | null) => ({
        actor: tenant.keyId,
        action: 'entity.updated',
        target: tenant.entityId,
        before: { noticeUrl: before },
        after: { noticeUrl: after },
        dateCreated: NOW_S,
      });
      expect((await listAudit(app, tenant, '?action=entity.updated')).audit.map(shown)).toEqual([
        row(noticeUrl, null),
        row(null, noticeUrl),
      ]);
    });

    test.each(BAD_NOTICE_URLS)('%j is 400 and changes nothing', async (body, errors) => {
      const named = messagesByName(await expectProblem(await put(body), 'invalid_request'));
      expect(Object.keys(named).toSorted()).toEqual(Object.keys(errors).toSorted());
      for (const [name, message] of Object.entries(errors)) expect(named[name]).toMatch(message);
      expect(await read()).toEqual({ noticeUrl: null });
    });
  });
});

onSuiteEngine('a receiver that is gone', (store) => {
  test('has its owner told by exactly one signed post, and is back with what was held once it is resumed', async () => {
    await using receiver = new Ledger(() => new Response(null, { status: 410 }));
    await using notices = new Ledger((_, earlier) => new Response(null, { status: earlier === 0 ? 503 : 200 }));
    await using service = await startTestService(store.url, { RETRY_SCHEDULE: '0s,0s,1h' });
    const client = service.client();
    const webhookId = await client.register(receiver.url());
    const { status } = await client.request(
      'PUT',
      '/webhooks/notice-url',
      JSON.stringify({ noticeUrl: notices.url() }),
    );
    expect(status).toBe(200);
    const events = await Promise.all(Array.from({ length: 5 }, () => client.send({})));

    const read = async (path: string) => (await client.request('GET', path)).json() as Promise<Record<string, unknown>>;
    const health = () => read(`/webhooks/classic/${webhookId}/health`);
    const held = async () => (await read('/deliveries?status=held')).totalResults;
    await until('the notice is delivered', () => notices.requests.length === 2);
    await until('all are held', async () => (await held()) === 5);
    await until('its health is written', async () => Number((await health()).failuresInARow) > 0);
    expect(await health()).toMatchObject({ state: 'suspended', reason: 'gone', dateLastSuccess: null });

    const { secrets } = await client.secrets();
    const [first, second] = notices.requests;
    const body = new TextDecoder().decode(first?.body);
    expect(new Verifier(secrets[0]?.secret ?? '').verify(body, first?.headers ?? {})).toMatchObject({
      event: 'webhook.suspended',
      reason: 'gone',
      webhook: { webhookId, postUrl: receiver.url() },
    });
    expect([second?.deliveryId, new TextDecoder().decode(second?.body)]).toEqual([first?.deliveryId ?? '', body]);

    receiver.reply = () => new Response('ok');
    await client.request('POST', `/webhooks/classic/${webhookId}/resume`);
    await until('all are delivered', async () => (await read('/deliveries?status=delivered')).totalResults === 6);
    expect(receiver.eventIds()).toEqual(new Set(events.map(({ eventId }) => eventId)));
    await until('the success is noted', async () => (await health()).dateLastSuccess !== null);
    expect(await health()).toMatchObject({ state: 'active', reason: null, failuresInARow: 0 });
    expect(notices.requests).toHaveLength(2);
  });
});
