import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Endpoint, EndpointDetail, EndpointList } from '../../../../src/contract/endpoints/endpoint.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { listAudit } from '../../../support/audit.ts';
import { acceptMany, HOOK, LATE_ON_1, readDeliveries } from '../../../support/deliveries.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const ENDPOINTS = '/api/v1/crypto/endpoints';
const PAYMENT_ON_1 = { networkId: 1, event: 'TransferProcessed' };

onSuiteEngine('endpoints', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, { BODY_SIGNATURE_HEADER: 'x-old-signature' });
    tenant = await createTenant(store.db);
  });

  const list = async (query = ''): Promise<EndpointList> => {
    const response = await call(app, tenant, `${ENDPOINTS}${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as EndpointList;
  };
  const urls = async (query = '') => (await list(query)).endpoints.map(({ postUrl }) => postUrl);
  const newEndpoint = async (postUrl = HOOK): Promise<Endpoint> => {
    await register(store.db, tenant.entityId, postUrl, [LATE_ON_1, PAYMENT_ON_1]);
    const { endpoints } = await list(`?postUrl=${encodeURIComponent(postUrl)}`);
    return endpoints.find((endpoint) => endpoint.postUrl === postUrl) as Endpoint;
  };
  const patch = (id: string, json: unknown, by = tenant) =>
    call(app, by, `${ENDPOINTS}/${id}`, { method: 'PATCH', json });
  const update = async (id: string, json: unknown): Promise<Endpoint> => {
    const response = await patch(id, json);
    expect({ status: response.status, body: await response.clone().text() }).toMatchObject({ status: 200 });
    return (await response.json()) as Endpoint;
  };

  test('are listed with an exact total, and read alone as in the list, with a tag', async () => {
    expect(await list()).toEqual({ totalResults: 0, endpoints: [] });
    const made = await newEndpoint();
    expect(await list()).toEqual({ totalResults: 1, endpoints: [made] });
    const response = await call(app, tenant, `${ENDPOINTS}/${made.endpointId}`);
    expect(await response.json()).toEqual({ ...made, oldestStuck: null });
    const headers = { 'if-none-match': response.headers.get('etag') ?? '' };
    expect((await call(app, tenant, `${ENDPOINTS}/${made.endpointId}`, { headers })).status).toBe(304);
  });

  test('are filtered by the beginning of the URL, by host and by state, and sorted', async () => {
    const [a, b, c] = ['https://a.example.com/one', 'https://A.example.com:8443/two', 'https://b.example.com/one%20'];
    for (const postUrl of [a, b, c]) await newEndpoint(postUrl);
    expect(await urls('?sortDir=asc')).toEqual([b, a, c].toSorted());
    expect(await urls()).toEqual([b, a, c].toSorted().reverse());
    expect(await urls('?postUrl=https://a.example.com/')).toEqual([a]);
    expect(await urls('?postUrl=https://b.example.com/one%2520')).toEqual([c]);
    expect(await urls('?postUrl=https://b.example.com/one_')).toEqual([]);
    expect(await urls('?host=A.EXAMPLE.com&sortDir=asc')).toEqual([b, a].toSorted());
    const { endpoints } = await list(`?host=b.example.com`);
    await update(endpoints[0]?.endpointId ?? '', { paused: true });
    const { webhooks } = await register(store.db, tenant.entityId, a, [LATE_ON_1]);
    await suspendWebhook(store.db, tenant.entityId, webhooks[0]?.webhookId ?? '', 'gone', TEST_CHANGE);
    expect(await urls('?state=paused')).toEqual([c]);
    expect(await urls('?state=suspended')).toEqual([a]);
    expect(await urls('?state=active')).toEqual([b]);
    expect(await list('?state=active&limit=1&page=2')).toEqual({ totalResults: 1, endpoints: [] });
  });

  test('are sorted by what waits, and every one is on exactly one page', async () => {
    for (const host of ['a', 'b', 'c', 'd', 'e']) {
      await register(store.db, tenant.entityId, `https://${host}.example.com/`, [
        host < 'c' ? LATE_ON_1 : PAYMENT_ON_1,
      ]);
    }
    await acceptMany(store.db, tenant.entityId, 2);
    for (const sortBy of ['postUrl', 'waiting', 'lastSequence']) {
      const pages = await Promise.all([1, 2, 3].map((page) => urls(`?sortBy=${sortBy}&limit=2&page=${page}`)));
      expect(new Set(pages.flat()).size).toBe(5);
    }
    const { endpoints } = await list('?sortBy=waiting');
    expect(endpoints.map(({ waiting }) => waiting)).toEqual([2, 2, 0, 0, 0]);
  });

  test('that keep order name the agreement that has waited longest for its first delivery', async () => {
    const { endpointId } = await newEndpoint();
    await update(endpointId, { ordering: 'agreement' });
    const names = ['quick', 'stuck', 'stuck', 'later', 'later', 'stuck'];
    for (const [index, agreementId] of names.entries()) {
      const event = { ...LATE_ON_1, eventId: `event-${index}`, agreementId };
      expect((await call(app, tenant, '/api/v1/crypto/events', { json: event })).status).toBe(202);
    }
    const shown = (await (await call(app, tenant, `${ENDPOINTS}/${endpointId}`)).json()) as EndpointDetail;
    const deliveries = await readDeliveries(store.db, tenant.entityId);
    const first = deliveries.find(({ eventId }) => eventId === 'event-1');
    expect(shown.oldestStuck).toEqual({
      agreementId: 'stuck',
      deliveryId: first?.deliveryId ?? '',
      attempts: 0,
      waiting: 2,
      dateCreated: expect.any(Number),
    });
  });

  test('that keep no order name no agreement, however many of its deliveries wait', async () => {
    const { endpointId } = await newEndpoint();
    const shown = async () =>
      ((await (await call(app, tenant, `${ENDPOINTS}/${endpointId}`)).json()) as EndpointDetail).oldestStuck;
    const accept = async (eventId: string) => {
      const event = { ...LATE_ON_1, eventId, agreementId: 'unordered' };
      expect((await call(app, tenant, '/api/v1/crypto/events', { json: event })).status).toBe(202);
    };
    for (const eventId of ['unordered-1', 'unordered-2']) await accept(eventId);
    expect(await shown()).toBeNull();
    await update(endpointId, { ordering: 'agreement' });
    for (const eventId of ['ordered-1', 'ordered-2']) await accept(eventId);
    expect(await shown()).toMatchObject({ agreementId: 'unordered' });
    await update(endpointId, { ordering: 'none' });
    expect(await shown()).toBeNull();
  });

  test('change only in the fields that are given, and each change is in the audit', async () => {
    const { endpointId } = await newEndpoint();
    expect(await update(endpointId, { name: 'Büro & Co', rateLimit: 50 })).toMatchObject({
      name: 'Büro & Co',
      rateLimit: 50,
      ordering: 'none',
    });
    expect(await update(endpointId, { ordering: 'agreement' })).toMatchObject({
      name: 'Büro & Co',
      rateLimit: 50,
      ordering: 'agreement',
    });
    expect(await update(endpointId, { name: null, rateLimit: null, ordering: 'none' })).toMatchObject({
      name: null,
      rateLimit: null,
      ordering: 'none',
    });
    await update(endpointId, { name: null });
    const { audit } = await listAudit(app, tenant, `?target=${endpointId}`);
    expect(audit.map(({ action, actor, before, after }) => ({ action, actor, before, after })).reverse()).toEqual([
      {
        action: 'endpoint.updated',
        actor: tenant.keyId,
        before: { name: null, rateLimit: null },
        after: { name: 'Büro & Co', rateLimit: 50 },
      },
      {
        action: 'endpoint.updated',
        actor: tenant.keyId,
        before: { ordering: 'none' },
        after: { ordering: 'agreement' },
      },
      {
        action: 'endpoint.updated',
        actor: tenant.keyId,
        before: { name: 'Büro & Co', rateLimit: 50, ordering: 'agreement' },
        after: { name: null, rateLimit: null, ordering: 'none' },
      },
    ]);
  });

  test('show the names of their headers and nowhere a value; null removes one and the others stay', async () => {
    const { endpointId } = await newEndpoint();
    const value = 'Bearer d0-not-sh0w';
    const set = await update(endpointId, { headers: { Authorization: value, 'X-Gate': 'two words' } });
    expect(set.headerNames).toEqual(['authorization', 'x-gate']);
    expect((await update(endpointId, { headers: { 'x-gate': null } })).headerNames).toEqual(['authorization']);
    expect((await update(endpointId, { headers: { 'x-absent': null } })).headerNames).toEqual(['authorization']);
    const everywhere = [
      await (await call(app, tenant, `${ENDPOINTS}/${endpointId}`)).text(),
      JSON.stringify(await list()),
      JSON.stringify(await listAudit(app, tenant)),
      JSON.stringify(await store.db.all('select * from endpoint_headers')),
      JSON.stringify(await store.db.all('select * from audit')),
    ];
    for (const text of everywhere) expect(text).not.toContain('d0-not-sh0w');
    expect((await update(endpointId, { headers: { authorization: null } })).headerNames).toEqual([]);
  });

  test('have one header for names that differ by a hyphen and an underscore', async () => {
    const { endpointId } = await newEndpoint();
    expect((await update(endpointId, { headers: { 'x-gate': 'a', x_key: 'b' } })).headerNames).toEqual([
      'x-gate',
      'x_key',
    ]);
    expect((await update(endpointId, { headers: { X_Gate: 'c' } })).headerNames).toEqual(['x_gate', 'x_key']);
    expect((await update(endpointId, { headers: { 'x-key': null } })).headerNames).toEqual(['x_gate']);
  });

  const TOO_LONG = 'x'.repeat(8 * 1024 + 1);
  const SAME_TO_MANY_SERVERS = [
    'webhook_id',
    'Webhook_Signature',
    'paybell_sequence',
    'content_type',
    'transfer_encoding',
    'user_agent',
    'x_old_signature',
  ];

  test.each<[string, unknown, Record<string, RegExp>]>([
    ['an unknown ordering', { ordering: 'transfer' }, { ordering: /one of none, agreement/ }],
    ['a rate limit of 0', { rateLimit: 0 }, { rateLimit: /from 1 to 10000/ }],
    ['a rate limit that is not whole', { rateLimit: 1.5 }, { rateLimit: /whole number/ }],
    ['a rate limit as text', { rateLimit: '5' }, { rateLimit: /whole number/ }],
    ['a pause that is no truth value', { paused: 'true' }, { paused: /true or false/ }],
    ['an empty name', { name: '' }, { name: /1 to 100 characters/ }],
    ['a long name', { name: 'x'.repeat(101) }, { name: /1 to 100 characters/ }],
    ['a name with a line break', { name: 'a\nb' }, { name: /control characters/ }],
    ['a source of secrets that does not exist', { secret: 'whsec_abc' }, { secret: /one of entity, own/ }],
    ['an unknown field', { postURL: 'https://example.com' }, { postURL: /not a known field/ }],
    ['nothing to change', {}, { '': /at least one field/ }],
    ['headers that are a list', { headers: ['a'] }, { headers: /object of header names/ }],
    [
      'headers of Paybell, of HTTP and of the setting',
      {
        headers: {
          'Webhook-Id': 'a',
          'paybell-endpoint': 'a',
          host: 'a',
          'Content-Type': 'a',
          'transfer-encoding': 'a',
          'X-Old-Signature': 'a',
        },
      },
      Object.fromEntries(
        ['Webhook-Id', 'paybell-endpoint', 'host', 'Content-Type', 'transfer-encoding', 'X-Old-Signature'].map(
          (name) => [`headers.${name}`, /Paybell or HTTP itself sets/],
        ),
      ),
    ],
    [
      'these headers under names that many servers read as the same ones',
      { headers: Object.fromEntries(SAME_TO_MANY_SERVERS.map((name) => [name, 'a'])) },
      Object.fromEntries(SAME_TO_MANY_SERVERS.map((name) => [`headers.${name}`, /Paybell or HTTP itself sets/])),
    ],
    [
      'header names and values that cannot be sent',
      {
        headers: {
          'x y': 'a',
          'x:y': 'a',
          'x-cr': 'a\rb',
          'x-lf': 'a\nhost: evil',
          'x-empty': '',
          'x-space': ' a',
          'x-umlaut': 'ü',
          'x-long': TOO_LONG,
          'x-number': 5,
        },
      },
      {
        'headers.x y': /letters, digits/,
        'headers.x:y': /letters, digits/,
        'headers.x-cr': /without line breaks/,
        'headers.x-lf': /without line breaks/,
        'headers.x-empty': /visible ASCII/,
        'headers.x-space': /visible ASCII/,
        'headers.x-umlaut': /visible ASCII/,
        'headers.x-long': /at most 8192 bytes/,
        'headers.x-number': /must be a text/,
      },
    ],
    [
      'one header under two spellings',
      { headers: { 'X-Gate': 'a', 'x-gate': 'b' } },
      { 'headers.x-gate': /more than once/ },
    ],
    [
      'one header with a hyphen and with an underscore',
      { headers: { 'X-Gate': 'a', x_gate: 'b' } },
      { 'headers.x_gate': /more than once.* _ counts as -/ },
    ],
    ['several faults at once', { ordering: 1, rateLimit: -1 }, { ordering: /one of/, rateLimit: /whole number/ }],
  ])('refuse %s, naming every fault, and change nothing', async (_what, body, messages) => {
    const made = await newEndpoint();
    const problem = await expectProblem(await patch(made.endpointId, body), 'invalid_request');
    const shown = messagesByName(problem);
    expect(Object.keys(shown).toSorted()).toEqual(Object.keys(messages).toSorted());
    for (const [name, message] of Object.entries(messages)) expect(shown[name] ?? '').toMatch(message);
    expect(JSON.stringify(problem)).not.toContain(TOO_LONG);
    expect(await list()).toEqual({ totalResults: 1, endpoints: [made] });
  });

  test('refuse more headers, or larger ones, than a request may carry with those that are there', async () => {
    const { endpointId } = await newEndpoint();
    const headers = (from: number, count: number, value = 'v') =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${from + index}`, value]));
    await update(endpointId, { headers: headers(0, 9) });
    const tooMany = await expectProblem(await patch(endpointId, { headers: headers(9, 2) }), 'invalid_request');
    expect(messagesByName(tooMany)).toEqual({ headers: expect.stringMatching(/11 headers, and the limit is 10/) });
    const long = 'y'.repeat(8 * 1024);
    await update(endpointId, { headers: { 'x-0': long } });
    const tooLarge = await expectProblem(await patch(endpointId, { headers: { 'x-1': long } }), 'invalid_request');
    expect(messagesByName(tooLarge)).toEqual({ headers: expect.stringMatching(/the limit is 16384/) });
    expect((await update(endpointId, { headers: headers(9, 1) })).headerNames).toHaveLength(10);
  });

  test('need the permission for secrets where the source of the secrets is to change', async () => {
    const { endpointId } = await newEndpoint();
    const { entityId } = tenant;
    const { apiKey, keyId } = await createTenant(store.db, ['webhooks:read', 'webhooks:write']);
    await store.db.transaction((queries) =>
      queries.run('update api_keys set entity_id = $1 where id = $2', [entityId, keyId]),
    );
    const limited = { entityId, apiKey, keyId };
    expect((await patch(endpointId, { name: 'Allowed' }, limited)).status).toBe(200);
    const { permission } = await expectProblem(
      await patch(endpointId, { secret: 'own', name: 'Not' }, limited),
      'missing_permission',
    );
    expect(permission).toBe('secrets:write');
    expect(await list()).toMatchObject({ endpoints: [{ name: 'Allowed', secret: 'entity' }] });
  });
});
