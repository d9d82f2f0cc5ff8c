import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { ApiContext } from '../../../../src/api/context.ts';
import { EventStreams } from '../../../../src/api/http/event-stream.ts';
import { Feeds } from '../../../../src/api/routes/endpoints/feeds.ts';
import type { Feed } from '../../../../src/contract/endpoints/feed.ts';
import { createLogger } from '../../../../src/log.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { revokeApiKey } from '../../../../src/store/tenants/api-keys.ts';
import { KeyLookup } from '../../../../src/store/tenants/key-lookup.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { HOOK, LATE_ON_1, newEvent } from '../../../support/deliveries.ts';
import { endpointIdOf } from '../../../support/endpoints.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';
import { register } from '../../../support/webhooks.ts';

const BASE = '/api/v1/crypto';
const NEVER_MS = 3_600_000;

type Setting = { tenant: Tenant; app: App; feed: string; send: (count?: number) => Promise<string[]> };

async function setUp(
  { db }: TestStore,
  settings: Record<string, string> = {},
  overrides: Partial<ApiContext> = {},
): Promise<Setting> {
  const tenant = await createTenant(db);
  const app = testApp(db, settings, overrides);
  await register(db, tenant.entityId, HOOK, [LATE_ON_1]);
  const send = async (count = 1) => {
    const bodies = Array.from({ length: count }, () => newEvent(tenant.entityId).body);
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' };
      expect((await call(app, tenant, `${BASE}/events`, { body, headers })).status).toBe(202);
    }
    return bodies;
  };
  const [first] = await send();
  expect(first).toBeDefined();
  const feed = `${BASE}/endpoints/${await endpointIdOf(db, tenant.entityId, HOOK)}/feed`;
  return { tenant, app, feed, send };
}

class CountedFeeds extends Feeds {
  entered = 0;

  override enter(entityId: string): () => void {
    const leave = super.enter(entityId);
    this.entered++;
    return leave;
  }
}

async function read(app: App, tenant: Tenant, path: string): Promise<Feed> {
  const response = await call(app, tenant, path);
  expect(response.status).toBe(200);
  return (await response.json()) as Feed;
}

const STREAM = { accept: 'text/event-stream' };

/** Reads a stream until it has so many events, and lets the rest go. */
async function readEvents(response: Response, count: number): Promise<string[]> {
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const events = () => text.split('\n\n').filter((event) => event.startsWith('event:'));
  while (events().length < count) {
    const { value, done } = (await reader?.read()) ?? { value: '', done: true };
    if (done) break;
    text += value;
  }
  await reader?.cancel();
  return events();
}

async function namesOf(response: Response): Promise<string[]> {
  expect(response.status).toBe(400);
  const { errors } = (await response.json()) as { errors: { in: string; name: string }[] };
  return errors.map((error) => `${error.in} ${error.name}`);
}

onSuiteEngine('GET /endpoints/{endpointId}/feed', (store) => {
  test('200 with every number above `after`, and the exact bodies', async () => {
    const { tenant, app, feed, send } = await setUp(store);
    const bodies = await send(4);
    const page = await read(app, tenant, `${feed}?after=1&limit=3`);
    expect(page).toMatchObject({ firstSequence: 1, lastSequence: 5 });
    expect(page.deliveries.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
    expect(page.deliveries.map(({ body }) => body)).toEqual(bodies.slice(0, 3));
    expect((await read(app, tenant, `${feed}?after=5`)).deliveries).toEqual([]);
  });

  test('`wait` is over as soon as the next number is committed', async () => {
    const feeds = new Feeds(store.db, createLogger('silent'), 10, NEVER_MS);
    const { tenant, app, feed, send } = await setUp(store, {}, { feeds });
    const waiting = read(app, tenant, `${feed}?after=1&wait=25`);
    const [body] = await send();
    expect((await waiting).deliveries).toMatchObject([{ sequence: 2, body }]);
  });

  test('`wait` is over when another process has committed the next number', async () => {
    const { tenant, app, feed } = await setUp(store);
    const waiting = read(app, tenant, `${feed}?after=1&wait=25`);
    const body = newEvent(tenant.entityId).body;
    const headers = { 'content-type': 'application/json' };
    await call(testApp(store.db), tenant, `${BASE}/events`, { body, headers });
    expect((await waiting).deliveries).toMatchObject([{ sequence: 2, body }]);
  });

  test('an empty page after `wait` seconds without a number', async () => {
    const { tenant, app, feed } = await setUp(store);
    expect(await read(app, tenant, `${feed}?after=1&wait=1`)).toMatchObject({ lastSequence: 1, deliveries: [] });
  });

  test('server-sent events go on for ever, and from `last-event-id` after a reconnect', async () => {
    const { tenant, app, feed, send } = await setUp(store);
    const response = await call(app, tenant, feed, { headers: STREAM });
    const reading = readEvents(response, 25);
    const bodies = await send(24);
    const events = await reading;
    expect(events.map((event) => /id: (\d+)/.exec(event)?.[1])).toEqual(
      Array.from({ length: 25 }, (_, index) => String(index + 1)),
    );
    const entry = JSON.parse(events.at(-1)?.split('data: ')[1] ?? '') as Feed['deliveries'][number];
    expect(entry).toMatchObject({ sequence: 25, body: bodies.at(-1) ?? '' });
    const again = await call(app, tenant, feed, { headers: { ...STREAM, 'last-event-id': '23' } });
    expect((await readEvents(again, 2)).map((event) => /id: (\d+)/.exec(event)?.[1])).toEqual(['24', '25']);
  });

  test('numbers that retention has removed are one event of a stream', async () => {
    const { tenant, app, feed, send } = await setUp(store);
    await send(3);
    await store.db.transaction((queries) =>
      queries.run('update endpoint_sequences set first_sequence = 4 where entity_id = $1', [
        entityKey(store.db.dialect, tenant.entityId),
      ]),
    );
    const events = await readEvents(await call(app, tenant, `${feed}?after=1`, { headers: STREAM }), 2);
    expect(events[0]).toBe('event: removed\nid: 3\ndata: {"firstSequence":2,"lastSequence":3}');
    expect(events[1]).toStartWith('event: delivery\nid: 4\n');
    expect(await read(app, tenant, `${feed}?after=1`)).toMatchObject({
      firstSequence: 4,
      deliveries: [{ sequence: 4 }],
    });
  });

  test('a client that waits is told at once that all numbers after its own were removed', async () => {
    const feeds = new CountedFeeds(store.db, createLogger('silent'), 2);
    const { tenant, app, feed, send } = await setUp(store, {}, { feeds });
    // With the 32nd, all numbers are in a block, and none is beside it.
    await send(31);
    const entity = [entityKey(store.db.dialect, tenant.entityId)];
    await store.db.transaction(async (queries) => {
      await queries.run('delete from endpoint_numbers where entity_id = $1', entity);
      await queries.run('update endpoint_sequences set first_sequence = 33 where entity_id = $1', entity);
    });
    const removed = { firstSequence: 33, lastSequence: 32, deliveries: [] };
    expect(await read(app, tenant, `${feed}?after=1&wait=25`)).toMatchObject(removed);
    expect(feeds.entered).toBe(0);
  });

  test('400 with every invalid input', async () => {
    const { tenant, app, feed } = await setUp(store);
    const get = (query: string, headers = {}) => call(app, tenant, `${feed}${query}`, { headers });
    expect(await namesOf(await get('?after=-1&limit=101&wait=26&order=asc'))).toEqual([
      'query order',
      'query after',
      'query limit',
      'query wait',
    ]);
    expect(await namesOf(await get('?after=2'))).toEqual(['query after']);
    expect(await namesOf(await get('', { ...STREAM, 'last-event-id': '2' }))).toEqual(['header last-event-id']);
    expect(await namesOf(await get('?after=0', { ...STREAM, 'last-event-id': '1' }))).toEqual(['query after']);
    expect(await namesOf(await get('?wait=5', { ...STREAM, 'last-event-id': 'x' }))).toEqual([
      'header last-event-id',
      'query wait',
    ]);
    expect((await get('?after=1', { 'last-event-id': '1' })).status).toBe(200);
  });

  test('429 beyond FEED_LIMIT feeds of an entity, and not for the feeds of another', async () => {
    const feeds = new CountedFeeds(store.db, createLogger('silent'), 2);
    const { tenant, app, feed, send } = await setUp(store, {}, { feeds });
    const waiting = read(app, tenant, `${feed}?after=1&wait=25`);
    await until('the first is open', () => feeds.entered === 1);
    const stream = await call(app, tenant, `${feed}?after=1`, { headers: STREAM });
    const refused = await call(app, tenant, `${feed}?after=1&wait=1`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect((await call(app, tenant, feed, { headers: STREAM })).status).toBe(429);
    expect((await call(app, tenant, feed)).status).toBe(200);
    const reading = readEvents(stream, 1);
    await send();
    await Promise.all([waiting, reading]);
    await until('both are closed', async () => {
      const again = await Promise.all([1, 2].map(() => call(app, tenant, `${feed}?after=2&wait=1`)));
      return again.every(({ status }) => status === 200);
    });
  });

  test.each([
    ['a stream takes the limit on idle connections away', STREAM, [0]],
    ['a page leaves the limit on idle connections', {}, []],
  ] as const)('%s', async (_, headers, expected) => {
    const { tenant, app, feed } = await setUp(store);
    const timeouts: number[] = [];
    const response = await call(app, tenant, feed, { headers, onTimeout: (seconds) => timeouts.push(seconds) });
    await response.body?.cancel();
    expect(timeouts).toEqual([...expected]);
  });

  test('HEAD opens no stream, and takes nothing of FEED_LIMIT', async () => {
    const { tenant, app, feed } = await setUp(store, { FEED_LIMIT: '1' });
    for (let times = 0; times < 3; times++) {
      expect((await call(app, tenant, feed, { method: 'HEAD', headers: STREAM })).status).toBe(200);
    }
  });

  test('401 for a request that waits when its key is revoked', async () => {
    const { tenant, app, feed } = await setUp(store);
    const waiting = call(app, tenant, `${feed}?after=1&wait=25`);
    await revokeApiKey(store.db, tenant.keyId, TEST_CHANGE);
    expect((await waiting).status).toBe(401);
  });

  test('feeds end when the service stops: a wait with what there is, a stream with its end', async () => {
    const log = createLogger('silent');
    const keys = new KeyLookup(store.db, Date.now);
    const streams = new EventStreams((keyHash) => keys.find(keyHash), log);
    const feeds = new Feeds(store.db, log, 10);
    const { tenant, app, feed } = await setUp(store, {}, { streams, feeds });
    const waiting = read(app, tenant, `${feed}?after=1&wait=25`);
    const stream = await call(app, tenant, `${feed}?after=1`, { headers: STREAM });
    expect(streams.size).toBe(1);
    streams.close();
    feeds.watch.close();
    expect((await waiting).deliveries).toEqual([]);
    expect(await stream.text()).toBe('');
  });
});
