import { describe, expect, spyOn, test } from 'bun:test';
import { FAILURE_KINDS, RpcFailure } from '../../../src/chain/rpc/failures.ts';
import { type Fetch, type HttpOptions, httpExchange } from '../../../src/chain/rpc/http-exchange.ts';
import { rejection } from '../../support/rejection.ts';

const URL_WITH_KEY = 'https://node.example.com/v3/s3cr3tkey';
const NEVER = new Promise<never>(() => {});

function exchangeWith(fetch: Fetch, options: Partial<HttpOptions> = {}) {
  return httpExchange({ url: URL_WITH_KEY, fetch, ...options });
}

async function failureOf(response: Response | Promise<Response>, options?: Partial<HttpOptions>): Promise<RpcFailure> {
  const error = await rejection(exchangeWith(async () => response, options)({}));
  if (!(error instanceof RpcFailure)) throw error;
  return error;
}

/** A body in chunks that says how much of it was read. */
function endless(chunkBytes: number): {
  body: ReadableStream<Uint8Array>;
  read: () => number;
  isCancelled: () => boolean;
} {
  let bytes = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      bytes += chunkBytes;
      controller.enqueue(new Uint8Array(chunkBytes).fill(97));
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return { body, read: () => bytes, isCancelled: () => cancelled };
}

test('a payload is posted as JSON, and the body comes back as JSON', async () => {
  const sent: { url: string; init: RequestInit }[] = [];
  const exchange = exchangeWith(async (url, init) => {
    sent.push({ url, init });
    return Response.json({ jsonrpc: '2.0', id: 1, result: '0x1' });
  });
  expect(await exchange({ method: 'eth_chainId' })).toEqual({ jsonrpc: '2.0', id: 1, result: '0x1' });
  const [{ url, init } = { url: '', init: {} }] = sent;
  expect(url).toBe(URL_WITH_KEY);
  expect(init).toMatchObject({ method: 'POST', body: '{"method":"eth_chainId"}', redirect: 'manual' });
});

test('a name and password in the URL are sent as a header', async () => {
  const sent: { url: string; init: RequestInit }[] = [];
  const fetch: Fetch = async (url, init) => {
    sent.push({ url, init });
    return Response.json({});
  };
  await httpExchange({ url: 'https://me:p%40ss@node.example.com/', fetch })({});
  expect(sent[0]?.url).toBe('https://node.example.com/');
  expect(new Headers(sent[0]?.init.headers).get('authorization')).toBe(`Basic ${btoa('me:p@ss')}`);
});

test.each([
  ['HTML', '<html>Bad gateway</html>'],
  ['nothing', ''],
  ['half of a JSON document', '{"jsonrpc":"2.0","resu'],
])('a body of %s is garbage', async (_, body) => {
  expect((await failureOf(new Response(body))).kind).toBe('garbage');
});

test.each([301, 302, 307, 308])('a redirect with %d is not followed', async (status) => {
  const failure = await failureOf(
    new Response(null, { status, headers: { location: 'https://elsewhere.example.com' } }),
  );
  expect(failure).toMatchObject({ kind: 'http_status', message: `A node failed: http_status ${status}` });
});

test.each([201, 204, 401, 403, 404, 500, 502, 503])('a response with %d is a failure', async (status) => {
  expect((await failureOf(new Response(null, { status }))).kind).toBe('http_status');
});

test('a JSON-RPC error with the status 400 is a JSON-RPC error', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32602 } };
  expect(await exchangeWith(async () => Response.json(body, { status: 400 }))({})).toEqual(body);
  expect((await failureOf(Response.json({ message: 'no' }, { status: 400 }))).kind).toBe('http_status');
});

test.each([
  ['7', 7_000],
  ['0', 0],
  ['86400', 600_000],
  ['Thu, 01 Jan 1970 00:01:40 GMT', 90_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['Fri, 01 Jan 2100 00:00:00 GMT', 600_000],
  ['soon', null],
])('429 with a Retry-After of %p asks for a wait of %p ms', async (header, retryAfterMs) => {
  const response = new Response('', { status: 429, headers: { 'retry-after': header } });
  const failure = await failureOf(response, { dateMs: () => 10_000 });
  expect(failure).toMatchObject({ kind: 'rate_limited', retryAfterMs });
});

test('a node that does not respond is given up', async () => {
  expect((await failureOf(NEVER, { timeoutMs: 5 })).kind).toBe('timeout');
});

test('a node that stops in the middle of its body is given up', async () => {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
  expect((await failureOf(new Response(body), { timeoutMs: 5 })).kind).toBe('timeout');
});

test('a node that cannot be reached is unreachable', async () => {
  const refused: Fetch = () => Promise.reject(new Error(`connection refused: ${URL_WITH_KEY}`));
  const error = await rejection(exchangeWith(refused)({}));
  expect(error).toMatchObject({ kind: 'unreachable' });
});

test('a body without an end is read up to the limit, and its connection is dropped', async () => {
  const stream = endless(1_000);
  const signals: (AbortSignal | null | undefined)[] = [];
  const exchange = exchangeWith(async (_, { signal }) => {
    signals.push(signal);
    return new Response(stream.body);
  });
  expect(await rejection(exchange({}, 10_000))).toMatchObject({ kind: 'too_large' });
  expect(stream.read()).toBeLessThan(20_000);
  expect(stream.isCancelled()).toBe(true);
  expect(signals[0]?.aborted).toBe(true);
});

test('a body whose length says that it is too large is not read', async () => {
  const stream = endless(1_000);
  const response = new Response(stream.body, { headers: { 'content-length': '50000000' } });
  expect((await failureOf(response)).kind).toBe('too_large');
  expect(stream.read()).toBeLessThanOrEqual(1_000);
});

test('a body of more than 16 MB is more than a node may send', async () => {
  const stream = endless(1024 * 1024);
  expect((await failureOf(new Response(stream.body))).kind).toBe('too_large');
  expect(stream.read()).toBeLessThanOrEqual(19 * 1024 * 1024);
});

describe('30 MB of opening brackets', () => {
  const CHUNK = 64 * 1024;

  test.each(['[', '{'])('of the kind %s are dropped with the first chunk, and never parsed', async (bracket) => {
    let chunks = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (++chunks * CHUNK >= 30 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(CHUNK).fill(bracket.charCodeAt(0)));
      },
    });
    const parse = spyOn(JSON, 'parse');
    expect((await failureOf(new Response(body))).kind).toBe('garbage');
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect(chunks).toBeLessThan(8);
  });
});

test('no failure names the URL or quotes the node', async () => {
  const refused: Fetch = () => Promise.reject(new Error(`cannot connect to ${URL_WITH_KEY}`));
  const failures = [
    await rejection(exchangeWith(refused)({})),
    await failureOf(new Response(`no such project: ${URL_WITH_KEY}`, { status: 401 })),
    await failureOf(new Response(URL_WITH_KEY)),
    ...FAILURE_KINDS.map((kind) => new RpcFailure(kind, { status: 500, code: -32000 })),
  ];
  for (const failure of failures) {
    expect(`${failure.message} ${failure.stack} ${JSON.stringify(failure)} ${failure.cause}`).not.toContain(
      's3cr3tkey',
    );
  }
});

test('a real server is asked over HTTP', async () => {
  await using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => Response.json({ asked: await request.json() }),
  });
  const exchange = httpExchange({ url: `http://127.0.0.1:${server.port}/` });
  expect(await exchange([1, 2])).toEqual({ asked: [1, 2] });
});
