import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { onSuiteEngine } from '../../support/stores.ts';

onSuiteEngine('a list response', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
    await register(tenant, 'https://example.com/first');
  });

  const register = (who: Tenant, postUrl: string) =>
    call(app, who, WEBHOOKS, { json: { postUrl, networkIds: [1], events: ['LatePayment'] } });
  const list = (headers: Record<string, string> = {}, method = 'GET', query = '') =>
    call(app, tenant, `${WEBHOOKS}${query}`, { headers, method });
  /** The service keeps a response from the second equal request on. */
  const keptInMemory = async (who: Tenant) => {
    for (let request = 0; request < 3; request++) await call(app, who, WEBHOOKS);
    return call(app, who, WEBHOOKS);
  };
  const etagOf = (response: Response) => response.headers.get('etag') ?? 'none';

  test('may be kept by its owner alone, and only to be asked about again', async () => {
    const response = await list();
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    expect(response.headers.get('vary')).toBe('api-key, entity-id');
    expect(etagOf(response)).toMatch(/^"[\w-]{20,}"$/);
  });

  test('is 304 without a body while nothing changed, for GET and for HEAD', async () => {
    const etag = etagOf(await list());
    for (const method of ['GET', 'HEAD']) {
      const response = await list({ 'if-none-match': etag }, method);
      expect(response.status).toBe(304);
      expect(await response.text()).toBe('');
      expect(etagOf(response)).toBe(etag);
      expect(response.headers.get('cache-control')).toBe('private, no-cache');
      expect(response.headers.get('vary')).toBe('api-key, entity-id');
      expect(response.headers.get('x-request-id')).not.toBeNull();
    }
  });

  test.each([
    ['a weak tag', (etag: string) => `W/${etag}`],
    ['one of several', (etag: string) => `"other", ${etag} ,"more"`],
    ['a star', () => '*'],
  ])('is 304 for %s', async (_name, header) => {
    expect((await list({ 'if-none-match': header(etagOf(await list())) })).status).toBe(304);
  });

  test.each([
    ['another tag', () => '"other"'],
    ['the tag without quotes', (etag: string) => etag.slice(1, -1)],
    ['half the tag', (etag: string) => `${etag.slice(0, 10)}"`],
    ['garbage', () => ',,"'],
  ])('is 200 for %s', async (_name, header) => {
    expect((await list({ 'if-none-match': header(etagOf(await list())) })).status).toBe(200);
  });

  test('is new as soon as a webhook was registered', async () => {
    const etag = etagOf(await keptInMemory(tenant));
    await register(tenant, 'https://example.com/second');
    const response = await list({ 'if-none-match': etag });
    expect(response.status).toBe(200);
    expect(etagOf(response)).not.toBe(etag);
  });

  test('has the tag of its body: other pages have other tags, and equal bodies equal ones', async () => {
    const tags = await Promise.all(
      ['', '?limit=1', '?limit=1&page=2'].map(async (q) => etagOf(await list({}, 'GET', q))),
    );
    expect(new Set(tags).size).toBe(3);
    expect(etagOf(await list({}, 'GET', '?limit=1&page=1'))).toBe(tags[1] ?? '');
  });

  test('of two entities at equal revisions shares no tag, and one’s tag gets no 304 from the other', async () => {
    const [one, two] = await Promise.all([createTenant(store.db), createTenant(store.db)]);
    for (const who of [one, two]) await register(who, 'https://example.com/same');
    const revisions = await store.db.all('select distinct revision from entities where id in ($1, $2)', [
      one.entityId,
      two.entityId,
    ]);
    expect(revisions).toHaveLength(1);
    const etag = etagOf(await keptInMemory(one));
    const response = await call(app, two, WEBHOOKS, { headers: { 'if-none-match': etag } });
    expect(response.status).toBe(200);
    expect(etagOf(response)).not.toBe(etag);
    expect(await response.json()).toEqual(await (await keptInMemory(two)).json());
  });

  test('is refused before it is compared: a bad key gets 401 and not 304', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await call(app, { ...tenant, apiKey: 'wrong' }, WEBHOOKS, { headers })).status).toBe(401);
    expect((await list(headers, 'GET', '?limit=0')).status).toBe(400);
  });
});
