import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { ApiContext } from '../../../../src/api/context.ts';
import { EventStreams } from '../../../../src/api/http/event-stream.ts';
import type { ListenRequest } from '../../../../src/contract/listen/listen-session.ts';
import { bodySignature } from '../../../../src/domain/signing.ts';
import { createLogger } from '../../../../src/log.ts';
import { revokeApiKey } from '../../../../src/store/tenants/api-keys.ts';
import { KeyLookup } from '../../../../src/store/tenants/key-lookup.ts';
import { verify } from '../../../../src/verify/verify.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { HOOK, LATE_ON_1, newEvent, readDeliveries } from '../../../support/deliveries.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';
import { register } from '../../../support/webhooks.ts';

const BASE = '/api/v1/crypto';
const SESSIONS = `${BASE}/listen-sessions`;

type Session = { sessionId: string; secret: string };
type Setting = {
  tenant: Tenant;
  app: App;
  session: Session;
  path: string;
  send: (count?: number) => Promise<string[]>;
};

async function createIn(app: App, tenant: Tenant, json: object = {}): Promise<Session> {
  const response = await call(app, tenant, SESSIONS, { json });
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
  return (await response.json()) as Session;
}

async function setUp(
  { db }: TestStore,
  settings: Record<string, string> = {},
  overrides: Partial<ApiContext> = {},
): Promise<Setting> {
  const tenant = await createTenant(db);
  const app = testApp(db, settings, overrides);
  const session = await createIn(app, tenant);
  const send = async (count = 1) => {
    const bodies = Array.from({ length: count }, () => newEvent(tenant.entityId).body);
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' };
      expect((await call(app, tenant, `${BASE}/events`, { body, headers })).status).toBe(202);
    }
    return bodies;
  };
  return { tenant, app, session, path: `${SESSIONS}/${session.sessionId}`, send };
}

type Reader = { next: () => Promise<{ event: string; data: string } | null>; cancel: () => Promise<void> };

async function read(app: App, tenant: Tenant, path: string): Promise<Reader> {
  const response = await call(app, tenant, `${path}/requests`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async () => {
    for (;;) {
      const found = /event: (\w+)\n(?:id: .+\n)?data: (.*)\n\n/.exec(text);
      if (found !== null) {
        text = text.slice(found.index + found[0].length);
        return { event: found[1] ?? '', data: found[2] ?? '' };
      }
      const { value, done } = (await reader?.read()) ?? { value: '', done: true };
      if (done) return null;
      text += value;
    }
  };
  return { next, cancel: async () => reader?.cancel() };
}

async function nextRequest({ next }: Reader): Promise<ListenRequest> {
  const found = await next();
  expect(found?.event).toBe('request');
  return JSON.parse(found?.data ?? '') as ListenRequest;
}

onSuiteEngine('listen sessions', (store) => {
  const report = ({ app, tenant, path }: Setting, result: object) =>
    call(app, tenant, `${path}/results`, { json: { durationMs: 1, statusCode: 200, ...result } });

  test('hand out signed requests with the headers of a delivery as they come, and take their results', async () => {
    const setting = await setUp(store, { BODY_SIGNATURE_HEADER: 'x-body-signature' });
    const { app, tenant, session, path, send } = setting;
    const [waiting] = await send();
    const reader = await read(app, tenant, path);
    const first = await nextRequest(reader);
    expect(first).toMatchObject({ attempt: 1, body: waiting });
    const [later] = await send();
    const second = await nextRequest(reader);
    expect(second.body).toBe(later ?? '');
    for (const { deliveryId, headers, body } of [first, second]) {
      expect(Object.keys(headers).toSorted()).toEqual([
        'content-type',
        'paybell-event-id',
        'user-agent',
        'webhook-id',
        'webhook-signature',
        'webhook-timestamp',
        'x-body-signature',
      ]);
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': deliveryId });
      expect(headers['x-body-signature']).toBe(bodySignature(session.secret, body));
      // One signature, of the session's own secret: none of the entity's.
      expect(headers['webhook-signature']).toMatch(/^v1,\S+$/);
      expect(await verify(body, headers, session.secret)).toMatchObject(LATE_ON_1);
    }
    for (const { deliveryId, token } of [first, second]) {
      const response = await report(setting, { deliveryId, token, response: 'ok' });
      expect([response.status, await response.text()]).toEqual([204, '']);
    }
    await reader.cancel();
    const again = await read(app, tenant, path);
    const [last] = await send();
    expect((await nextRequest(again)).body).toBe(last ?? '');
    await again.cancel();
  });

  test('a new reader ends the one before, and gets what that has not reported, with the same webhook-id', async () => {
    const { app, tenant, path, send } = await setUp(store);
    await send(2);
    const first = await read(app, tenant, path);
    const taken = [await nextRequest(first), await nextRequest(first)];
    const second = await read(app, tenant, path);
    const again = [await nextRequest(second), await nextRequest(second)];
    expect(again.map(({ headers }) => headers['webhook-id'])).toEqual(taken.map(({ deliveryId }) => deliveryId));
    expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
    expect(again.map(({ token }) => token)).not.toEqual(taken.map(({ token }) => token));
    expect(await first.next()).toBeNull();
    await second.cancel();
  });

  test('tell the reader how many were dropped', async () => {
    const { app, tenant, path, send } = await setUp(store);
    await send(1);
    await store.db.transaction((queries) => queries.run('update listen_sessions set dropped = 3'));
    const reader = await read(app, tenant, path);
    expect(await reader.next()).toEqual({ event: 'dropped', data: '{"dropped":3}' });
    expect((await reader.next())?.event).toBe('request');
    await reader.cancel();
  });

  test('409 for a token that is used, expired or of another session', async () => {
    const setting = await setUp(store);
    const { app, tenant, path, send } = setting;
    const other = `${SESSIONS}/${(await createIn(app, tenant)).sessionId}`;
    await send(1);
    const reader = await read(app, tenant, path);
    const { deliveryId, token } = await nextRequest(reader);
    const otherReader = await read(app, tenant, other);
    const foreign = await nextRequest(otherReader);
    await expectProblem(await report(setting, foreign), 'invalid_request');
    await expectProblem(await report(setting, { deliveryId: foreign.deliveryId, token: foreign.token }), 'conflict');
    await expectProblem(await report(setting, { deliveryId, token: foreign.token }), 'conflict');
    const newer = await read(app, tenant, path);
    const again = await nextRequest(newer);
    await expectProblem(await report(setting, { deliveryId, token }), 'conflict');
    expect((await report(setting, { deliveryId, token: again.token })).status).toBe(204);
    await expectProblem(await report(setting, { deliveryId, token: again.token }), 'conflict');
    for (const one of [reader, otherReader, newer]) await one.cancel();
  });

  test("404 for a webhook's delivery, an unknown request, and a session that ended or is another entity's", async () => {
    const setting = await setUp(store);
    const { app, tenant, path, send } = setting;
    await register(store.db, tenant.entityId, HOOK, [LATE_ON_1]);
    await send(1);
    const reader = await read(app, tenant, path);
    const { token, deliveryId } = await nextRequest(reader);
    const [delivery] = await readDeliveries(store.db, tenant.entityId);
    for (const id of [delivery?.deliveryId, 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', 'x']) {
      await expectProblem(await report(setting, { deliveryId: id, token }), 'not_found');
    }
    const stranger = await createTenant(store.db);
    await expectProblem(await report({ ...setting, tenant: stranger }, { deliveryId, token }), 'not_found');
    expect((await call(app, tenant, path, { method: 'DELETE' })).status).toBe(204);
    expect(await reader.next()).toBeNull();
    await expectProblem(await call(app, tenant, path, { method: 'DELETE' }), 'not_found');
    await expectProblem(await call(app, tenant, `${path}/requests`), 'not_found');
    await expectProblem(await report(setting, { deliveryId, token }), 'not_found');
  });

  test('400 with every invalid input', async () => {
    const setting = await setUp(store);
    const { app, tenant } = setting;
    const json = { events: ['NoSuchEvent'], networkIds: [-1], filter: { amount: { min: 'x' } }, other: 1 };
    const created = await expectProblem(await call(app, tenant, SESSIONS, { json }), 'invalid_request');
    expect(Object.keys(messagesByName(created)).toSorted()).toEqual([
      'events.0',
      'filter.amount.min',
      'networkIds.0',
      'other',
    ]);
    const wrong = async (result: object) =>
      Object.keys(messagesByName(await expectProblem(await report(setting, result), 'invalid_request'))).toSorted();
    expect(await wrong({ token: 1 })).toEqual(['deliveryId', 'token']);
    const none = { body: 'null', headers: { 'content-type': 'application/json' } };
    await expectProblem(await call(app, tenant, `${setting.path}/results`, none), 'invalid_request');
    const valid = { deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', token: 'x' };
    for (const statusCode of [99, 600, 200.5, '200'])
      expect(await wrong({ ...valid, statusCode })).toEqual(['statusCode']);
    expect(await wrong({ ...valid, error: 'both' })).toEqual(['statusCode']);
    expect(await wrong({ ...valid, statusCode: undefined })).toEqual(['statusCode']);
    expect(await wrong({ ...valid, response: 'x'.repeat(4_097), durationMs: -1 })).toEqual(['durationMs', 'response']);
    expect(await wrong({ ...valid, statusCode: undefined, error: 'x'.repeat(501) })).toEqual(['error']);
    await expectProblem(await report(setting, { ...valid, response: 'x'.repeat(4_096) }), 'not_found');
  });

  test('429 beyond FEED_LIMIT, for feeds and listen sessions together', async () => {
    const { app, tenant, path } = await setUp(store, { FEED_LIMIT: '1' });
    const reader = await read(app, tenant, path);
    await expectProblem(await call(app, tenant, `${path}/requests`), 'rate_limited');
    await reader.cancel();
    await until('the first is closed', async () => {
      const response = await call(app, tenant, `${path}/requests`);
      await response.body?.cancel();
      return response.status === 200;
    });
  });

  test('the stream ends with its key and with the service', async () => {
    const keys = new KeyLookup(store.db, Date.now);
    const timing = { commentMs: 15_000, keyCheckMs: 20 };
    const streams = new EventStreams((keyHash) => keys.find(keyHash), createLogger('silent'), timing);
    const revoked = await setUp(store, {}, { streams });
    const reader = await read(revoked.app, revoked.tenant, revoked.path);
    const ended = reader.next();
    await revokeApiKey(store.db, revoked.tenant.keyId, TEST_CHANGE);
    expect(await ended).toBeNull();
    const stopped = await setUp(store, {}, { streams });
    const last = await read(stopped.app, stopped.tenant, stopped.path);
    const over = last.next();
    streams.close();
    expect(await over).toBeNull();
  });

  test('are no webhooks: nothing lists, counts or limits them', async () => {
    const { app, tenant, send } = await setUp(store, { ENTITY_BACKLOG_LIMIT: '1', ENTITY_WEBHOOK_LIMIT: '1' });
    await send(3);
    const total = async (path: string) =>
      ((await (await call(app, tenant, `${BASE}${path}`)).json()) as { totalResults: number }).totalResults;
    expect(await total('/webhooks/classic')).toBe(0);
    expect(await total('/endpoints')).toBe(0);
    expect(await total('/deliveries')).toBe(0);
    const events = (await (await call(app, tenant, `${BASE}/events`)).json()) as { events: { deliveries: number }[] };
    expect(events.events.map(({ deliveries }) => deliveries)).toEqual([0, 0, 0]);
    const coverage = await (await call(app, tenant, `${BASE}/webhooks/coverage`)).text();
    expect(coverage).not.toMatch(/"webhooks":[1-9]/);
  });
});
