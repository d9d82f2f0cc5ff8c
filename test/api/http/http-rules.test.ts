import { beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const registration = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };
const EVENTS = '/api/v1/crypto/events';
const ORIGIN = 'https://app.example.com';

onSuiteEngine('every request', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  test.each([
    '/nothing',
    '/api/v1/other/webhooks/classic',
    '/api/v1/Crypto/webhooks/classic',
    '/api/v2/crypto/webhooks/classic',
    '/api/v1/crypto/webhooks',
    `${WEBHOOKS}/`,
    '//',
    '/%',
    '/%ff',
    '/..%2f..%2fetc/passwd',
  ])('to %s is 404, with or without a key', async (path) => {
    for (const who of [tenant, null]) await expectProblem(await call(app, who, path), 'not_found');
  });

  test.each([
    ['/api/v1/other/webhooks/classic', WEBHOOKS],
    ['/api/v1/Crypto/webhooks/classic/wh_1', `${WEBHOOKS}/{webhookId}`],
    [`${WEBHOOKS}/`, WEBHOOKS],
    ['/api/v1/evm/events/', EVENTS],
    ['/docs/', '/docs'],
  ])('to %s names the right path in its 404', async (path, meant) => {
    const { detail } = await expectProblem(await call(app, tenant, path), 'not_found');
    expect(detail).toBe(`There is nothing at this path. Did you mean ${meant}?`);
    const { detail: other } = await expectProblem(await call(app, tenant, `/nothing${path}`), 'not_found');
    expect(other).toContain('/openapi.json');
  });

  test('goes by the PROCESSOR of the settings', async () => {
    const other = testApp(store.db, { PROCESSOR: 'paybridge' });
    expect((await call(other, tenant, WEBHOOKS.replace('crypto', 'paybridge'))).status).toBe(200);
    await expectProblem(await call(other, tenant, WEBHOOKS), 'not_found');
  });

  test.each(['PUT', 'OPTIONS', 'PROPFIND'])('%s on the list is 405 with Allow, also without a key', async (method) => {
    const response = await call(app, null, WEBHOOKS, { method });
    expect(response.headers.get('allow')?.split(', ').sort()).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']);
    await expectProblem(response, 'method_not_allowed');
  });

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    '%s on a path that has only POST is 405 with Allow, although it looks like the path of an id',
    async (method) => {
      for (const path of ['redeliver', '%72edeliver']) {
        const response = await call(app, tenant, `/api/v1/crypto/deliveries/${path}`, { method });
        expect(response.headers.get('allow')).toBe('POST');
        await expectProblem(response, 'method_not_allowed');
      }
    },
  );

  test('finds its path however it is percent-encoded', async () => {
    expect((await call(app, tenant, WEBHOOKS.replace('classic', 'cl%61ssic'))).status).toBe(200);
    for (const id of ['wh_%31', 'a%2Fb', '%00', '%ff', '%25', '%2525']) {
      const { detail } = await expectProblem(await call(app, tenant, `${WEBHOOKS}/${id}`), 'not_found');
      expect(detail).toContain('no webhook with this id');
    }
  });

  test.each(['/healthz', '/readyz', '/openapi.json', '/docs'])('POST to %s is 405 with Allow', async (path) => {
    const response = await call(app, null, path, { method: 'POST' });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    await expectProblem(response, 'method_not_allowed');
  });

  test.each([WEBHOOKS, `${WEBHOOKS}?page=2`, '/healthz', '/readyz', '/openapi.json', '/docs'])(
    'HEAD of %s has the status and headers of GET and no body',
    async (path) => {
      const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => call(app, tenant, path, { method })));
      expect(head?.status).toBe(get?.status ?? 0);
      expect(comparable(head)).toEqual(comparable(get));
      expect(await head?.text()).toBe('');
    },
  );

  test.each([
    [`${WEBHOOKS}?limit=0`, 400],
    ['/nothing', 404],
  ])('HEAD of %s is %d', async (path, status) => {
    expect((await call(app, tenant, path, { method: 'HEAD' })).status).toBe(status);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/jsonp',
  ])('with a body of %s is 415', async (type) => {
    const options = { body: JSON.stringify(registration), headers: { 'content-type': type } };
    await expectProblem(await call(app, tenant, WEBHOOKS, options), 'unsupported_media_type');
  });

  test.each(['application/json', 'Application/JSON;charset=UTF-8', 'application/json; charset="utf-8"'])(
    'with a body of %s is taken',
    async (type) => {
      const options = { body: JSON.stringify(registration), headers: { 'content-type': type } };
      expect([200, 201]).toContain((await call(app, tenant, WEBHOOKS, options)).status);
    },
  );

  test.each(['gzip', 'br', 'deflate, gzip', 'x-unknown'])('with the content-encoding %s is 415', async (encoding) => {
    const headers = { 'content-encoding': encoding };
    for (const path of [WEBHOOKS, EVENTS]) {
      const response = await call(app, tenant, path, { json: registration, headers });
      expect(response.headers.get('accept-encoding')).toBe('identity');
      const { errors } = await expectProblem(response, 'unsupported_media_type');
      expect(errors).toMatchObject([{ in: 'header', name: 'content-encoding' }]);
    }
    const identity = { json: registration, headers: { 'content-encoding': 'Identity' } };
    expect([200, 201]).toContain((await call(app, tenant, WEBHOOKS, identity)).status);
  });

  test('has nosniff on every response with JSON', async () => {
    const event = { event: 'LatePayment', networkId: 1 };
    for (const response of [
      await call(app, tenant, WEBHOOKS),
      await call(app, tenant, EVENTS, { json: event }),
      await call(app, tenant, '/nothing'),
      await call(app, null, WEBHOOKS),
      await call(app, null, '/healthz'),
      await call(app, null, '/openapi.json'),
    ]) {
      expect(response.headers.get('content-type')).toMatch(/json$/);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  test('with a body where none is taken is 400, so that no filter in it seems to have counted', async () => {
    const tenant = await createTenant(store.db);
    const path = '/api/v1/crypto/deliveries/redeliver?status=delivered';
    const response = await call(testApp(store.db), tenant, path, { json: { dryRun: true } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ in: 'body' }] });
  });

  test('with a body of 256 KiB is read, and of one byte more is 413', async () => {
    const padded = (bytes: number) => {
      const text = JSON.stringify(registration);
      return text + ' '.repeat(bytes - text.length);
    };
    const send = (body: string) =>
      call(app, tenant, WEBHOOKS, { body, headers: { 'content-type': 'application/json' } });
    expect([200, 201]).toContain((await send(padded(256 * 1024))).status);
    await expectProblem(await send(padded(256 * 1024 + 1)), 'body_too_large');
  });

  test('with a body that is streamed without a length is cut off at the limit', async () => {
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
      },
    });
    const request = new Request(`http://paybell.test${WEBHOOKS}`, {
      method: 'POST',
      headers: { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId, 'content-type': 'application/json' },
      body: endless,
    });
    await expectProblem(await app.fetch(request), 'body_too_large');
    expect(pulled).toBeLessThan(20);
  });

  test('with a URL of more than 8,192 characters is 414', async () => {
    await expectProblem(await call(app, tenant, `${WEBHOOKS}?webhookId=${'x'.repeat(8_192)}`), 'url_too_long');
    expect((await call(app, tenant, `${WEBHOOKS}?webhookId=${'x'.repeat(8_000)}`)).status).toBe(200);
  });

  test.each(['', 'a b', 'a,b', 'example.com:port', 'example.com/path', 'user@example.com', '[::1', 'exa mple.com'])(
    'with the Host %j is 400',
    async (host) => {
      await expectProblem(await call(app, tenant, WEBHOOKS, { headers: { host } }), 'malformed_host');
    },
  );

  test.each(['example.com', 'example.com:8080', 'LOCALHOST', '127.0.0.1:1', '[::1]:8080', 'a_b.example'])(
    'with the Host %j is accepted',
    async (host) => {
      expect((await call(app, tenant, WEBHOOKS, { headers: { host } })).status).toBe(200);
    },
  );

  test('has an x-request-id of its own on every response', async () => {
    const paths = [WEBHOOKS, `${WEBHOOKS}?limit=0`, '/nothing', '/healthz', '/readyz', '/docs', '/openapi.json'];
    const ids = await Promise.all(
      paths.map(async (path) => (await call(app, tenant, path)).headers.get('x-request-id')),
    );
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(ids).size).toBe(paths.length);
  });

  /** Each request has one error and all that come after it in the order; the response has the first. */
  describe('with several errors has the first of 404, 405, 401, 403, 415, 413, 400:', () => {
    const large = 'x'.repeat(300_000);
    const text = { 'content-type': 'text/plain' };

    test('404 before 405 and all others', async () => {
      await expectProblem(await call(app, null, '/nothing', { method: 'PUT', body: large }), 'not_found');
    });
    test('405 before 401', async () => {
      await expectProblem(await call(app, null, WEBHOOKS, { method: 'PUT', body: large }), 'method_not_allowed');
    });
    test('401 before 415', async () => {
      await expectProblem(
        await call(app, null, `${WEBHOOKS}?a=1`, { method: 'POST', body: large, headers: text }),
        'unauthenticated',
      );
    });
    test('401 before 403', async () => {
      const stranger = { ...tenant, apiKey: `${tenant.apiKey}x`, entityId: 'ent_none' };
      await expectProblem(await call(app, stranger, WEBHOOKS), 'unauthenticated');
    });
    test('403 before 415', async () => {
      const reader = await createTenant(store.db, ['webhooks:read']);
      const response = await call(app, reader, `${WEBHOOKS}?a=1`, { method: 'POST', body: large, headers: text });
      await expectProblem(response, 'missing_permission');
    });
    test('415 before 413', async () => {
      const response = await call(app, tenant, `${WEBHOOKS}?a=1`, { method: 'POST', body: large, headers: text });
      await expectProblem(response, 'unsupported_media_type');
    });
    test.each([WEBHOOKS, EVENTS])('413 before 400, for %s', async (path) => {
      const headers = { 'content-type': 'application/json' };
      const response = await call(app, tenant, `${path}?a=1`, { method: 'POST', body: large, headers });
      await expectProblem(response, 'body_too_large');
    });
    test.each([EVENTS, `${EVENTS}/batch`])('415 before 400, for %s', async (path) => {
      const response = await call(app, tenant, `${path}?a=1`, { method: 'POST', body: '{}', headers: text });
      await expectProblem(response, 'unsupported_media_type');
    });
  });
});

onSuiteEngine('requests from other origins', (store) => {
  const preflight = (app: App, origin: string, path = WEBHOOKS) =>
    call(app, null, path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'GET' } });

  test('are not allowed by default', async () => {
    const app = testApp(store.db);
    const response = await preflight(app, ORIGIN);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    await expectProblem(response, 'method_not_allowed');
    const listed = await call(app, await createTenant(store.db), WEBHOOKS, { headers: { origin: ORIGIN } });
    expect(listed.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('are allowed for the origins of CORS_ORIGINS, by name', async () => {
    const app = testApp(store.db, { CORS_ORIGINS: `${ORIGIN},https://two.example.com` });
    const response = await preflight(app, ORIGIN);
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    expect(response.headers.get('access-control-allow-headers')).toContain('api-key, entity-id, content-type');
    for (const name of ['last-event-id', 'traceparent', 'tracestate']) {
      expect(response.headers.get('access-control-allow-headers')).toContain(name);
    }
    expect(response.headers.get('vary')).toContain('origin');
  });

  test('see the headers they need on responses and on errors, and the responses vary by origin', async () => {
    const app = testApp(store.db, { CORS_ORIGINS: ORIGIN });
    const tenant = await createTenant(store.db);
    for (const who of [tenant, null]) {
      const response = await call(app, who, WEBHOOKS, { headers: { origin: ORIGIN } });
      expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(response.headers.get('access-control-expose-headers')).toContain('x-request-id');
      expect(response.headers.get('vary')).toContain('origin');
    }
  });

  test('of any other origin stay refused, and unknown paths stay 404', async () => {
    const app = testApp(store.db, { CORS_ORIGINS: ORIGIN });
    for (const origin of ['https://evil.example.com', `${ORIGIN}.evil.example`, 'null', ORIGIN.toUpperCase()]) {
      const response = await preflight(app, origin);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
      expect(response.headers.get('vary')).toContain('origin');
      await expectProblem(response, 'method_not_allowed');
    }
    await expectProblem(await preflight(app, ORIGIN, '/nothing'), 'not_found');
  });
});

/** All but what differs from response to response, and what only the server adds to GET. */
function comparable(response: Response | undefined): Record<string, string> {
  const { 'x-request-id': _, 'content-length': length, date, ...headers } = Object.fromEntries(response?.headers ?? []);
  return headers;
}
