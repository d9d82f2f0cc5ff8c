import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:net';
import { ConnectionError, PaybellError, ProblemError, TimeLimitError } from '../../src/client/errors.ts';
import { Paybell } from '../../src/client/paybell.ts';
import type { ClientOptions } from '../../src/client/transport.ts';

type Seen = { method: string; path: string; body: string; headers: Headers };
type Reply = Response | 'cut' | 'never';

const EMPTY = { totalResults: 0, webhooks: [] };
const json = (value: unknown, status = 200) => Response.json(value, { status });

function problem(status: number, code: string, headers: Record<string, string> = {}, extra: object = {}): Response {
  const body = {
    type: `urn:paybell:problem:${code}`,
    title: code,
    status,
    detail: 'Why.',
    code,
    requestId: 'r-1',
    ...extra,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}

/** A client whose service gives these replies in turn, and the requests that it sent. */
function scripted(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  const seen: Seen[] = [];
  const client = new Paybell({
    url: 'https://paybell.test/',
    entityId: 'ent_1',
    apiKey: 'pbk_1',
    fetch: async (url, init) => {
      const { pathname, search } = new URL(url);
      seen.push({
        method: init.method ?? '',
        path: pathname + search,
        body: String(init.body ?? ''),
        headers: new Headers(init.headers),
      });
      const reply = replies[seen.length - 1];
      if (reply === 'cut') throw new TypeError('fetch failed');
      if (reply !== undefined && reply !== 'never') return reply;
      return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    },
    ...options,
  });
  return { client, seen };
}

const caught = (call: Promise<unknown>) => call.then(() => null).catch((error: unknown) => error);
const AT_ONCE = { 'retry-after': '0' };

describe('a request', () => {
  test('carries both headers, the filters as text and the path of the service', async () => {
    const { client, seen } = scripted([json(EMPTY)]);
    await client.webhooks.list({ networkId: 8453, event: 'LatePayment', webhookId: undefined, sortBy: 'postUrl' });
    const [request] = seen;
    expect(request?.path).toBe('/api/v1/crypto/webhooks/classic?networkId=8453&event=LatePayment&sortBy=postUrl');
    expect([request?.headers.get('api-key'), request?.headers.get('entity-id')]).toEqual(['pbk_1', 'ent_1']);
  });

  test('uses the path segment of the service', async () => {
    const { client, seen } = scripted([json(EMPTY)], { processor: 'paybridge' });
    await client.webhooks.list();
    expect(seen[0]?.path).toBe('/api/v1/paybridge/webhooks/classic');
  });

  test('escapes the values in its path and its query', async () => {
    const { client, seen } = scripted([json({}), json({ totalResults: 0 })]);
    await client.webhooks.get('a/b?c');
    await client.webhooks.deleteMatching({ postUrl: 'https://example.com/?a=1&b=ü' });
    expect(seen[0]?.path).toBe('/api/v1/crypto/webhooks/classic/a%2Fb%3Fc');
    expect(seen[1]?.path).toEndWith('?postUrl=https%3A%2F%2Fexample.com%2F%3Fa%3D1%26b%3D%C3%BC');
  });

  test.each(['', '.', '..'])('is not sent for an id that would change the path: "%s"', async (id) => {
    const { client, seen } = scripted([json({})]);
    expect(await caught(client.webhooks.delete(id))).toBeInstanceOf(TypeError);
    expect(seen).toEqual([]);
  });

  test('is not sent without an entity, unless it is the operator’s', async () => {
    const options = {
      url: 'https://paybell.test',
      apiKey: 'admin',
      fetch: async () => json({ totalResults: 0, keys: [] }),
    };
    const operator = new Paybell(options);
    expect(await caught(operator.webhooks.list())).toBeInstanceOf(TypeError);
    expect(await operator.admin.listKeys()).toEqual({ totalResults: 0, keys: [] });
  });

  test.each([{ url: 'not a url' }, { apiKey: '' }])('needs valid settings: %p', (wrong) => {
    expect(() => scripted([], wrong)).toThrow(TypeError);
  });
});

describe('a problem', () => {
  test('becomes an error with all its fields, and every input error in its message', async () => {
    const errors = [{ in: 'query', name: 'limit', message: 'must be at most 100' }];
    const { client } = scripted([problem(400, 'invalid_request', {}, { errors })]);
    const error = await caught(client.webhooks.list({ limit: 500 }));
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toBeInstanceOf(PaybellError);
    expect(error).toMatchObject({
      name: 'ProblemError',
      type: 'urn:paybell:problem:invalid_request',
      status: 400,
      code: 'invalid_request',
      detail: 'Why.',
      requestId: 'r-1',
      errors,
      permission: null,
      message: '400 invalid_request: Why. query limit must be at most 100.',
    });
  });

  test('names the permission that the key needs', async () => {
    const { client } = scripted([problem(403, 'missing_permission', {}, { permission: 'webhooks:read' })]);
    expect(await caught(client.webhooks.list())).toMatchObject({ permission: 'webhooks:read' });
  });

  test.each([
    ['a page with status 200', new Response('<html>', { headers: { 'content-type': 'text/html' } }), 200],
    ['a redirect, which is not followed', new Response(null, { status: 308, headers: { location: 'https://x' } }), 308],
    [
      'a problem that is none',
      new Response('{', { status: 400, headers: { 'content-type': 'application/problem+json' } }),
      400,
    ],
    [
      'a problem of a proxy, which has other members',
      new Response('{"title":"Bad Request","status":400}', {
        status: 400,
        headers: { 'content-type': 'application/problem+json' },
      }),
      400,
    ],
  ])('that did not come from the service says so: %s', async (_, reply, status) => {
    const { client, seen } = scripted([reply]);
    const error = await caught(client.webhooks.list());
    expect(error).toMatchObject({ status, code: 'unexpected_answer' });
    expect((error as Error).message).toContain('did not come from Paybell; check the URL');
    expect(seen).toHaveLength(1);
  });
});

describe('a call is retried', () => {
  test.each([
    ['a cut connection', 'cut' as const],
    ['503', problem(503, 'unavailable', AT_ONCE)],
    ['429', problem(429, 'rate_limited', AT_ONCE)],
    ['a proxy’s 502', new Response('bad gateway', { status: 502, headers: AT_ONCE })],
  ])('after %s', async (_, first) => {
    const { client, seen } = scripted([first, json(EMPTY)]);
    expect(await client.webhooks.list()).toEqual(EMPTY);
    expect(seen).toHaveLength(2);
  });

  test('as often as configured and no more', async () => {
    const { client, seen } = scripted(
      Array(9)
        .fill(0)
        .map(() => problem(503, 'unavailable', AT_ONCE)),
    );
    expect(await caught(client.webhooks.list())).toMatchObject({ status: 503, retryAfterS: 0 });
    expect(seen).toHaveLength(4);
    expect(await caught(client.webhooks.list({}, { retries: 1 }))).toMatchObject({ status: 503 });
    expect(seen).toHaveLength(6);
    expect(await caught(client.webhooks.list({}, { retries: 0 }))).toMatchObject({ status: 503 });
    expect(seen).toHaveLength(7);
  });

  test.each([400, 401, 403, 404, 409, 412, 500])('but never after %d', async (status) => {
    const { client, seen } = scripted([problem(status, 'whatever'), json(EMPTY)]);
    expect(await caught(client.webhooks.list())).toMatchObject({ status });
    expect(seen).toHaveLength(1);
  });

  test('after as long as the service asks for, but not if that is too long', async () => {
    const soon = new Date(Date.now() - 1000).toUTCString();
    const patient = scripted([problem(503, 'unavailable', { 'retry-after': soon }), json(EMPTY)]);
    expect(await patient.client.webhooks.list()).toEqual(EMPTY);
    const { client, seen } = scripted([problem(429, 'rate_limited', { 'retry-after': '3600' }), json(EMPTY)]);
    expect(await caught(client.webhooks.list())).toMatchObject({ status: 429, retryAfterS: 3600 });
    expect(seen).toHaveLength(1);
  });

  test('with the same bytes: an event without an id gets one before the first attempt', async () => {
    const { client, seen } = scripted(['cut', json({ eventId: 'x', deliveries: 0 }, 202)]);
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    expect(seen[0]?.body).toBe(seen[1]?.body ?? '');
    expect(JSON.parse(seen[0]?.body ?? '').eventId).toMatch(/^evt_[0-9a-f]{32}$/);
  });

  test('but text without an id is not: a lost response could not be told from a lost event', async () => {
    for (const body of ['{"event":"LatePayment","networkId":1}', 'no json', '[]']) {
      const { client, seen } = scripted(['cut']);
      expect(await caught(client.events.publishText(body))).toBeInstanceOf(ConnectionError);
      expect(seen).toHaveLength(1);
    }
    const { client, seen } = scripted(['cut', json({ eventId: 'x', deliveries: 0 })]);
    await client.events.publishText('{"event":"LatePayment","networkId":1,"eventId":"x"}');
    expect(seen).toHaveLength(2);
  });

  test.each([
    ['a rotation', (client: Paybell) => client.secrets.rotate()],
    ['a new entity', (client: Paybell) => client.admin.createEntity({ name: 'Acme' })],
    ['a new key', (client: Paybell) => client.admin.createKey({ entityId: 'ent_1' })],
    ['a round of redeliveries', (client: Paybell) => client.deliveries.redeliverMatching({ status: 'failed' })],
    ['a test request', (client: Paybell) => client.webhooks.sendTest('wh_1')],
    [
      'a change of one version',
      (client: Paybell) => client.webhooks.change('wh_1', { postUrl: 'https://example.com/' }, { ifMatch: '"1"' }),
    ],
    ['the revocation of its own key', (client: Paybell) => client.keys.revoke('key_1', { self: 'true' })],
  ])(
    '%s is not after a lost reply, since a second one does something else; only when it was refused',
    async (_, make) => {
      for (const lost of ['cut' as const, new Response('', { status: 504 }), problem(503, 'unavailable', AT_ONCE)]) {
        const { client, seen } = scripted([lost, json({})]);
        expect(await caught(make(client))).toBeInstanceOf(PaybellError);
        expect(seen).toHaveLength(1);
      }
      const { client, seen } = scripted([problem(429, 'rate_limited', AT_ONCE), json({})]);
      await make(client);
      expect(seen).toHaveLength(2);
    },
  );

  test('and a webhook that the retry does not find was deleted, if the first attempt may have arrived', async () => {
    const lost = scripted(['cut', problem(404, 'not_found')]);
    expect(await lost.client.webhooks.delete('wh_1')).toBeUndefined();
    const refused = scripted([problem(429, 'rate_limited', AT_ONCE), problem(404, 'not_found')]);
    expect(await caught(refused.client.webhooks.delete('wh_1'))).toMatchObject({ status: 404 });
    const read = scripted(['cut', problem(404, 'not_found')]);
    expect(await caught(read.client.webhooks.get('wh_1'))).toMatchObject({ status: 404 });
  });

  test('a count is, though it has the same path', async () => {
    const { client, seen } = scripted(['cut', json({ totalResults: 3 })]);
    expect(await client.deliveries.countRedelivering({ status: 'failed' })).toEqual({ totalResults: 3 });
    expect(seen[1]?.path).toEndWith('?status=failed&dryRun=true');
  });
});

describe('time', () => {
  test('is limited for each attempt, and the last one says so', async () => {
    const { client, seen } = scripted(['never', 'never'], { timeoutMs: 5, retries: 1 });
    const error = await caught(client.webhooks.list());
    expect(error).toBeInstanceOf(TimeLimitError);
    expect((error as Error).message).toBe('no response within 5 ms');
    expect(seen).toHaveLength(2);
  });

  test('ends with the caller’s signal: before, during and between attempts, with the caller’s own reason', async () => {
    const before = scripted([json(EMPTY)]);
    expect(await caught(before.client.webhooks.list({}, { signal: AbortSignal.abort('gone') }))).toBe('gone');

    const during = scripted(['never']);
    const aborting = new AbortController();
    const call = caught(during.client.webhooks.list({}, { signal: aborting.signal }));
    aborting.abort('enough');
    expect(await call).toBe('enough');
    expect(during.seen).toHaveLength(1);

    const between = scripted([problem(503, 'unavailable', { 'retry-after': '20' }), json(EMPTY)]);
    const waiting = new AbortController();
    const waited = caught(between.client.webhooks.list({}, { signal: waiting.signal }));
    await Bun.sleep(5);
    waiting.abort('changed my mind');
    expect(await waited).toBe('changed my mind');
    expect(between.seen).toHaveLength(1);
  });
});

describe('over a real connection', () => {
  let server: Server;
  let connections: number;
  let script: string[];

  beforeEach(async () => {
    connections = 0;
    server = createServer((socket) => {
      const reply = script[connections++] ?? '';
      socket.on('error', () => undefined);
      socket.once('data', () => (reply === '' ? socket.destroy() : socket.end(reply)));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });
  afterEach(() => {
    server.close();
  });

  const http = (body: string, length = body.length) =>
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n${body}`;

  test('a response that is cut in the middle is requested again', async () => {
    const whole = JSON.stringify(EMPTY);
    script = ['', http(whole.slice(0, 9), whole.length), http(whole)];
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const client = new Paybell({ url: `http://127.0.0.1:${port}`, entityId: 'e', apiKey: 'k' });
    expect(await client.webhooks.list()).toEqual(EMPTY);
    expect(connections).toBe(3);
  });
});

describe('listing all pages', () => {
  const item = (number: number) => ({ webhookId: `wh_${number}` });
  const page = (totalResults: number, ...numbers: number[]) => json({ totalResults, webhooks: numbers.map(item) });
  const walk = async (client: Paybell, limit = 2) => {
    const ids: string[] = [];
    for await (const { webhookId } of client.webhooks.listAll({ limit, event: 'LatePayment' })) ids.push(webhookId);
    return ids.join(' ');
  };

  test('requests each page once, with the filters, and stops at the end', async () => {
    const { client, seen } = scripted([page(3, 1, 2), page(3, 3)]);
    expect(await walk(client)).toBe('wh_1 wh_2 wh_3');
    expect(seen.map(({ path }) => path.split('?')[1])).toEqual([
      'limit=2&event=LatePayment&page=1',
      'limit=2&event=LatePayment&page=2',
    ]);
  });

  test('yields nothing twice when an item is added in front meanwhile', async () => {
    const { client } = scripted([page(4, 4, 3), page(5, 3, 2), page(5, 1)]);
    expect(await walk(client)).toBe('wh_4 wh_3 wh_2 wh_1');
  });

  test('ends where everything was deleted meanwhile, and where there is nothing', async () => {
    expect(await walk(scripted([page(4, 1, 2), page(0)]).client)).toBe('wh_1 wh_2');
    expect(await walk(scripted([page(0)]).client)).toBe('');
  });

  test('requests no page that the caller does not read', async () => {
    const { client, seen } = scripted([page(100, 1, 2), page(100, 3, 4)]);
    for await (const { webhookId } of client.webhooks.listAll({ limit: 2 })) if (webhookId === 'wh_1') break;
    expect(seen).toHaveLength(1);
  });
});

describe('a batch', () => {
  test('of more events than the service accepts is split, and its results are in order', async () => {
    const results = (from: number, count: number) =>
      json({ results: Array.from({ length: count }, (_, index) => ({ status: 202, eventId: `e${from + index}` })) });
    const { client, seen } = scripted([results(0, 1000), results(1000, 1)]);
    const events = Array.from({ length: 1001 }, (_, index) => ({
      event: 'LatePayment',
      networkId: 1,
      eventId: `e${index}`,
    }));
    const reply = await client.events.publishBatch(events);
    expect(reply.results.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId));
    expect(seen.map(({ body }) => body.split('\n').length)).toEqual([1000, 1]);
    expect(seen[0]?.headers.get('content-type')).toBe('application/x-ndjson');
  });

  test('of large events is split into parts of at most 4 MiB, counted in bytes', async () => {
    const { client, seen } = scripted([json({ results: [] }), json({ results: [] })]);
    const note = 'ü'.repeat(120_000);
    await client.events.publishBatch(Array.from({ length: 20 }, () => ({ event: 'LatePayment', networkId: 1, note })));
    expect(seen).toHaveLength(2);
    for (const { body } of seen) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  test('of nothing sends no request', async () => {
    const { client, seen } = scripted([]);
    expect(await client.events.publishBatch([])).toEqual({ results: [] });
    expect(seen).toEqual([]);
  });
});
