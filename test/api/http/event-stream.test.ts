import { expect, test } from 'bun:test';
import { EventStreams, type ServerSentEvent, type StreamOptions } from '../../../src/api/http/event-stream.ts';
import { Problem } from '../../../src/contract/problems.ts';
import { createLogger } from '../../../src/log.ts';
import { cleanUpAfterEach } from '../../support/clean-up.ts';
import { until } from '../../support/until.ts';

const NEVER_MS = 3_600_000;
const reader = { entityId: 'ent_1', keyHash: 'hash', expiresAtMs: null, permission: 'deliveries:read' } as const;
const holder = { keyId: 'key_1', entityId: 'ent_1', permissions: new Set(['deliveries:read']), revision: 1 };

const cleanUp = cleanUpAfterEach();

function makeStreams(timing: { commentMs?: number; keyCheckMs?: number } = {}, findKey = async () => holder) {
  const all = { commentMs: NEVER_MS, keyCheckMs: NEVER_MS, ...timing };
  const streams = new EventStreams(findKey, createLogger('silent'), all);
  cleanUp.push(() => streams.close());
  return streams;
}

function optionsFor(source: StreamOptions['source'], method = 'GET'): StreamOptions {
  const request = new Request('http://paybell.test/feed', { method });
  return { request, reader, limit: { what: 'feeds', max: 2 }, keepOpen: () => undefined, source };
}

async function* silence(signal: AbortSignal): AsyncGenerator<ServerSentEvent, void, undefined> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

async function readAll(response: Response): Promise<string> {
  return new TextDecoder().decode(await response.bytes());
}

test('a stream has the events that its source yields, in the format of server-sent events', async () => {
  const response = makeStreams().open(
    optionsFor(async function* () {
      yield { id: '7', event: 'request', data: '{"a":1}' };
      yield { data: 'two\nlines' };
    }),
  );
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(await readAll(response)).toBe(
    'retry: 1000\n\nevent: request\nid: 7\ndata: {"a":1}\n\ndata: two\ndata: lines\n\n',
  );
});

test('the source is asked for an event only when the client has taken the one before', async () => {
  let asked = 0;
  const response = makeStreams().open(
    optionsFor(async function* () {
      for (;;) yield { data: String(++asked) };
    }),
  );
  const body = response.body?.getReader();
  for (let taken = 0; taken < 3; taken++) {
    await body?.read();
    // Time in which it could go on by itself.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(taken);
  }
  await body?.cancel();
});

test('a comment is sent while the source has nothing, and the source is not asked twice', async () => {
  const event = Promise.withResolvers<void>();
  let asked = 0;
  const response = makeStreams({ commentMs: 1 }).open(
    optionsFor(async function* () {
      asked++;
      await event.promise;
      yield { data: 'late' };
    }),
  );
  const body = response.body?.getReader();
  const texts: string[] = [];
  for (let reads = 0; reads < 4; reads++) texts.push(new TextDecoder().decode((await body?.read())?.value));
  expect(texts).toEqual(['retry: 1000\n\n', ':\n\n', ':\n\n', ':\n\n']);
  event.resolve();
  let text = '';
  while (!text.includes('late')) text += new TextDecoder().decode((await body?.read())?.value);
  expect(text.replaceAll(':\n\n', '')).toBe('data: late\n\n');
  expect(asked).toBe(1);
});

test('closing ends every stream at once, and no stream is opened afterwards', async () => {
  const streams = makeStreams();
  const texts = [readAll(streams.open(optionsFor(silence))), readAll(streams.open(optionsFor(silence)))];
  expect(streams.size).toBe(2);
  streams.close();
  await Promise.all(texts);
  expect(streams.size).toBe(0);
  expect(() => streams.open(optionsFor(silence))).toThrow(
    new Problem('unavailable', 'This instance is stopping. Connect again.'),
  );
});

test.each([
  ['revoked', null],
  ['without its permission', { ...holder, permissions: new Set<string>() }],
])('the streams of a key that is %s end, and others go on', async (_, found) => {
  const streams = makeStreams({}, async () => found as typeof holder);
  const ended = readAll(streams.open(optionsFor(silence)));
  const operator = streams.open({ ...optionsFor(silence), reader: { ...reader, keyHash: null } });
  await streams.checkKeys();
  await ended;
  expect(streams.size).toBe(1);
  await operator.body?.cancel();
});

test("the stream of an operator's key ends when the key expires", async () => {
  const streams = makeStreams();
  const operator = (expiresAtMs: number) => ({ ...reader, keyHash: null, expiresAtMs });
  const expired = readAll(streams.open({ ...optionsFor(silence), reader: operator(Date.now()) }));
  const valid = streams.open({ ...optionsFor(silence), reader: operator(Date.now() + NEVER_MS) });
  await streams.checkKeys();
  await expired;
  expect(streams.size).toBe(1);
  await valid.body?.cancel();
});

test('the keys of open streams are checked at intervals', async () => {
  const streams = makeStreams({ keyCheckMs: 1 }, async () => null as never);
  expect(await readAll(streams.open(optionsFor(silence)))).toBe('retry: 1000\n\n');
});

test('a stream outlasts a check that the store did not respond to', async () => {
  const streams = makeStreams({}, () => Promise.reject(new Error('the store is away')));
  streams.open(optionsFor(silence));
  await streams.checkKeys();
  expect(streams.size).toBe(1);
});

test('an entity has at most as many streams of a kind as the limit says', async () => {
  const streams = makeStreams();
  const first = streams.open(optionsFor(silence));
  streams.open(optionsFor(silence));
  const rejected = 'At most 2 feeds of an entity can be open at a time. Close one first.';
  expect(() => streams.open(optionsFor(silence))).toThrow(rejected);
  streams.open({ ...optionsFor(silence), reader: { ...reader, entityId: 'ent_2' } });
  await first.body?.cancel();
  streams.open(optionsFor(silence));
  expect(streams.size).toBe(3);
});

test('HEAD has the headers of the stream and opens none', async () => {
  const streams = makeStreams();
  const response = streams.open(optionsFor(silence, 'HEAD'));
  expect([response.headers.get('content-type'), response.body, streams.size]).toEqual(['text/event-stream', null, 0]);
});

test('a source that fails ends its stream', async () => {
  const streams = makeStreams();
  const response = streams.open(
    optionsFor(async function* () {
      yield { data: 'one' };
      throw new Error('the store is away');
    }),
  );
  expect(await readAll(response)).toBe('retry: 1000\n\ndata: one\n\n');
  expect(streams.size).toBe(0);
});

test('a client that disconnects ends its source', async () => {
  const streams = makeStreams();
  const ended = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, self) =>
      streams.open({
        ...optionsFor(async function* (signal) {
          yield { data: 'one' };
          yield* silence(signal);
          ended.resolve();
        }),
        request,
        keepOpen: () => self.timeout(request, 0),
      }),
  });
  cleanUp.push(() => server.stop(true));
  const abort = new AbortController();
  const response = await fetch(server.url, { signal: abort.signal });
  const body = response.body?.getReader();
  let text = '';
  while (!text.includes('one')) text += new TextDecoder().decode((await body?.read())?.value);
  abort.abort();
  await ended.promise;
  // Throws if the stream stays open.
  await until('the stream has ended', () => streams.size === 0);
});
