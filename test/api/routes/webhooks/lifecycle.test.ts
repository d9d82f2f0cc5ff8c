import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Coverage, Webhook, WebhookList } from '../../../../src/contract/webhooks.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { wrongCounters } from '../../../support/webhooks.ts';

const NOW_S = 1_763_168_400;
const OLD = 'https://example.com/old';
const NEW = 'https://example.com/new';
const EVENTS = ['LatePayment', 'TransferCreated', 'TransferFinalized'];

onSuiteEngine('the life of a registration', (store) => {
  let app: App;
  let tenant: Tenant;
  let first: Webhook;
  let nowS: number;

  /** Two networks and three events: six webhooks. */
  beforeEach(async () => {
    nowS = NOW_S;
    app = testApp(store.db, {}, { nowMs: () => nowS * 1000 });
    tenant = await createTenant(store.db);
    const { webhooks } = await register(OLD, [1, 8453], EVENTS);
    expect(webhooks).toHaveLength(6);
    first = webhooks[0] as Webhook;
    nowS += 60;
  });

  async function register(postUrl: string, networkIds: number[], events: string[]): Promise<WebhookList> {
    const response = await call(app, tenant, WEBHOOKS, { json: { postUrl, networkIds, events } });
    expect(response.status).toBe(201);
    return (await response.json()) as WebhookList;
  }
  const at = ({ webhookId }: Webhook) => `${WEBHOOKS}/${webhookId}`;
  const read = (webhook: Webhook) => call(app, tenant, at(webhook));
  const move = (webhook: Webhook, postUrl: string, headers: Record<string, string> = {}) =>
    call(app, tenant, at(webhook), { method: 'PATCH', json: { postUrl }, headers });
  const remove = (webhook: Webhook, headers: Record<string, string> = {}) =>
    call(app, tenant, at(webhook), { method: 'DELETE', headers });
  const total = async (query = '') =>
    ((await (await call(app, tenant, `${WEBHOOKS}${query}`)).json()) as WebhookList).totalResults;
  const changes = async (query = '') => (await listAudit(app, tenant, `?sortDir=asc${query}`)).audit.map(shown);
  const etagOf = async (webhook: Webhook) => (await read(webhook)).headers.get('etag') ?? '';

  test('goes from six registered to moved, refused, deleted and counted, with a row of audit for each change', async () => {
    expect(await total()).toBe(6);
    expect(await (await read(first)).json()).toEqual(first);

    const moved = await move(first, NEW);
    expect(moved.status).toBe(200);
    expect(await moved.json()).toEqual({ ...first, postUrl: NEW });
    expect(await (await read(first)).json()).toEqual({ ...first, postUrl: NEW });
    expect(await total()).toBe(6);

    const { webhooks } = await register(OLD, [first.networkId], [first.event]);
    const { detail } = await expectProblem(await move(first, OLD), 'conflict');
    expect(detail).toContain(webhooks[0]?.webhookId ?? 'missing');
    expect(await (await read(first)).json()).toMatchObject({ postUrl: NEW });

    expect((await remove(first)).status).toBe(204);
    await expectProblem(await read(first), 'not_found');
    expect(await total()).toBe(6);
    expect(await total(`?webhookId=${first.webhookId}`)).toBe(0);
    expect(await total('?networkId=1&event=LatePayment')).toBe(1);
    expect(await wrongCounters(store.db)).toEqual([]);

    const by = { actor: tenant.keyId, dateCreated: nowS };
    const pair = { networkId: first.networkId, event: first.event };
    const entity = { target: tenant.entityId };
    expect((await changes(`&actor=${tenant.keyId}&since=${nowS}`)).toSorted(byAction)).toEqual(
      [
        { ...by, action: 'webhook.updated', target: first.webhookId, before: first, after: { ...first, postUrl: NEW } },
        { ...by, ...entity, action: 'webhooks.registered', before: null, after: { postUrl: OLD, registered: [pair] } },
        { ...by, action: 'webhook.deleted', target: first.webhookId, before: { ...first, postUrl: NEW }, after: null },
      ].toSorted(byAction),
    );
  });

  test('leaves neither a key nor a secret in the audit', async () => {
    const secrets = '/api/v1/crypto/webhooks/secret';
    await call(app, tenant, `${secrets}/rotate`, { method: 'POST' });
    await move(first, NEW);
    const text = JSON.stringify(await listAudit(app, tenant));
    expect(text).toContain('secret.rotated');
    expect(text).toContain('key.created');
    const listed = (await (await call(app, tenant, secrets)).json()) as { secrets: { secret: string }[] };
    expect(listed.secrets).toHaveLength(2);
    for (const { secret } of listed.secrets) expect(text).not.toContain(secret.slice('whsec_'.length));
    expect(text).not.toContain(tenant.apiKey.slice(4, 34));
    expect(text).not.toMatch(/whsec_|whsk_|pbk_/);
  });

  test('moved to the URL that it has is 200 and leaves no row', async () => {
    const before = await changes();
    const response = await move(first, OLD);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(first);
    expect(await changes()).toEqual(before);
  });

  test('changed only if unchanged: If-Match with its tag succeeds, with an old or a weak one is 412', async () => {
    const etag = await etagOf(first);
    for (const stale of ['"other"', `W/${etag}`, '', `${etag.slice(0, -2)}"`]) {
      await expectProblem(await move(first, NEW, { 'if-match': stale }), 'precondition_failed');
      await expectProblem(await remove(first, { 'if-match': stale }), 'precondition_failed');
    }
    expect(await (await read(first)).json()).toEqual(first);

    const moved = await move(first, NEW, { 'if-match': `"other", ${etag}` });
    expect(moved.status).toBe(200);
    const next = moved.headers.get('etag') ?? '';
    expect(next).toBe(await etagOf(first));
    expect(next).not.toBe(etag);

    await expectProblem(await move(first, OLD, { 'if-match': etag }), 'precondition_failed');
    await expectProblem(await remove(first, { 'if-match': etag }), 'precondition_failed');
    expect((await move(first, OLD, { 'if-match': '*' })).status).toBe(200);
    expect((await remove(first, { 'if-match': etag })).status).toBe(204);
  });

  test('changed by ten at once with one tag changes once', async () => {
    const etag = await etagOf(first);
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => move(first, `${NEW}/${index}`, { 'if-match': etag })),
    );
    const statuses = responses.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...Array(9).fill(412)]);
    expect(await changes('&action=webhook.updated')).toHaveLength(1);
  });

  test('read again is 304 while it is unchanged', async () => {
    const headers = { 'if-none-match': await etagOf(first) };
    expect((await call(app, tenant, at(first), { headers })).status).toBe(304);
    await move(first, NEW);
    expect((await call(app, tenant, at(first), { headers })).status).toBe(200);
  });

  test('deleted is gone for good: a second delete is 404, and the same registration is a new webhook', async () => {
    expect((await remove(first)).status).toBe(204);
    for (const response of [await remove(first), await move(first, NEW), await read(first)]) {
      await expectProblem(response, 'not_found');
    }
    const { webhooks } = await register(OLD, [first.networkId], [first.event]);
    expect(webhooks[0]?.webhookId).not.toBe(first.webhookId);
    expect(await changes('&action=webhook.deleted')).toHaveLength(1);
  });

  test('deleted leaves a gap in the grid', async () => {
    await remove(first);
    const response = await call(app, tenant, '/api/v1/crypto/webhooks/coverage');
    const { networks } = (await response.json()) as Coverage;
    const cell = networks.find(({ networkId }) => networkId === first.networkId)?.events;
    expect(cell?.find(({ event }) => event === first.event)).toEqual({
      event: first.event,
      webhooks: 0,
      suspended: 0,
      ownFinality: 0,
    });
    expect(cell?.find(({ event }) => event === 'TransferCreated')).toMatchObject({ webhooks: 1 });
  });

  test.each([
    ['http://example.com/', 'postUrl'],
    ['https://127.0.0.1/', 'postUrl'],
    ['https://user@example.com/', 'postUrl'],
    ['', 'postUrl'],
    [7, 'postUrl'],
  ])('moved to %p is refused like a registration for it', async (postUrl, name) => {
    const patch = call(app, tenant, at(first), { method: 'PATCH', json: { postUrl } });
    const post = call(app, tenant, WEBHOOKS, { json: { postUrl } });
    const refused = messagesByName(await expectProblem(await patch, 'invalid_request'));
    expect(refused).toEqual(messagesByName(await expectProblem(await post, 'invalid_request')));
    expect(Object.keys(refused)).toEqual([name]);
  });

  test.each([
    [{ postUrl: NEW, event: 'LatePayment' }, ['event']],
    [{ posturl: NEW }, ['postUrl', 'posturl']],
    [{}, ['postUrl']],
    [[], ['']],
    [null, ['']],
  ])('changed by %j is 400 that names every invalid field, and changes nothing', async (json, names) => {
    const response = await call(app, tenant, at(first), { method: 'PATCH', json });
    expect(Object.keys(messagesByName(await expectProblem(response, 'invalid_request'))).toSorted()).toEqual(names);
    expect(await (await read(first)).json()).toEqual(first);
  });
});

function byAction(a: { action: string }, b: { action: string }): number {
  return a.action < b.action ? -1 : 1;
}
