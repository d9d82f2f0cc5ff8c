import { beforeEach, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { RateLimits } from '../../../src/api/auth/rate-limits.ts';
import { loadConfig } from '../../../src/config.ts';
import { makeApiKey } from '../../../src/domain/keys/api-keys.ts';
import { Metrics } from '../../../src/metrics/paybell-metrics.ts';
import { revokeApiKey } from '../../../src/store/tenants/api-keys.ts';
import {
  type CallOptions,
  call,
  createTenant,
  TEST_CHANGE,
  type Tenant,
  testApp,
  WEBHOOKS,
} from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';
import { parseMetrics, sampleOf } from '../../support/prometheus.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';
const BATCH = `${EVENTS}/batch`;
const ADMIN_KEY = 'operator-'.repeat(5);
const STRANGER = '203.0.113.7';
const event = { event: 'LatePayment', networkId: 1 };
const ndjson = (count: number): CallOptions => ({
  body: Array.from({ length: count }, () => JSON.stringify(event)).join('\n'),
  headers: { 'content-type': 'application/x-ndjson' },
});

onSuiteEngine('a rate limit', (store) => {
  let nowMs = 0;
  let metrics: Metrics;
  let tenant: Tenant;

  beforeEach(async () => {
    nowMs = 1_000;
    metrics = new Metrics();
    tenant = await createTenant(store.db);
  });

  function limitedApp(settings: Record<string, string>): App {
    const limits = new RateLimits(loadConfig(settings), metrics, () => nowMs);
    return testApp(store.db, settings, { limits, metrics });
  }

  const refusals = async (limit: string) =>
    sampleOf(parseMetrics(await metrics.registry.text()), 'paybell_rate_limited_total', { limit });

  describe('of requests', () => {
    test('responds with 429 beyond the burst, says when to retry, and is over by then', async () => {
      const app = limitedApp({ RATE_LIMIT: '2/s:3' });
      for (let times = 0; times < 3; times++) expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
      const refused = await call(app, tenant, WEBHOOKS);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('ratelimit')).toBe('"default";r=0;t=2');
      await expectProblem(refused, 'rate_limited');
      nowMs += 1_000;
      expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
      expect(await refusals('requests')).toBe(1);
    });

    test('is told on every response to a key, good or bad', async () => {
      const app = limitedApp({ RATE_LIMIT: '100/s:200' });
      const headersOf = (response: Response) => [
        response.headers.get('ratelimit-policy'),
        response.headers.get('ratelimit'),
      ];
      expect(headersOf(await call(app, tenant, WEBHOOKS))).toEqual(['"default";q=200;w=2', '"default";r=199;t=1']);
      const bad = await call(app, tenant, `${WEBHOOKS}?limit=0`);
      expect([bad.status, ...headersOf(bad)]).toEqual([400, '"default";q=200;w=2', '"default";r=198;t=1']);
      expect(headersOf(await call(app, null, WEBHOOKS))).toEqual([null, null]);
      expect(headersOf(await call(app, null, '/healthz'))).toEqual([null, null]);
    });

    test('is each key’s own', async () => {
      const app = limitedApp({ RATE_LIMIT: '1/s:1' });
      await call(app, tenant, WEBHOOKS);
      await expectProblem(await call(app, tenant, WEBHOOKS), 'rate_limited');
      expect((await call(app, await createTenant(store.db), WEBHOOKS)).status).toBe(200);
    });

    test('comes after 401 and 403 and before 415 and 400', async () => {
      const app = limitedApp({ RATE_LIMIT: '1/s:1' });
      const reader = await createTenant(store.db, ['webhooks:read']);
      await call(app, reader, WEBHOOKS);
      await expectProblem(await call(app, reader, WEBHOOKS, { method: 'PUT' }), 'method_not_allowed');
      await expectProblem(await call(app, reader, WEBHOOKS, { json: {} }), 'missing_permission');
      await expectProblem(await call(app, reader, `${WEBHOOKS}?limit=0`), 'rate_limited');
      await call(app, tenant, WEBHOOKS);
      await expectProblem(await call(app, tenant, WEBHOOKS, { body: 'x' }), 'rate_limited');
    });

    test('does not hold for the operator, who sets it', async () => {
      const app = limitedApp({ RATE_LIMIT: '1/s:1', EVENT_RATE_LIMIT: '1/s:1', ADMIN_KEY });
      const operator = { ...tenant, apiKey: ADMIN_KEY };
      for (let times = 0; times < 3; times++) {
        const response = await call(app, operator, WEBHOOKS);
        expect([response.status, response.headers.get('ratelimit')]).toEqual([200, null]);
        expect((await call(app, operator, EVENTS, { json: event })).status).toBe(202);
        expect((await call(app, operator, '/admin/v1/entities')).status).toBe(200);
      }
    });
  });

  describe('of events', () => {
    test('is 2,000 a second with a burst of 10,000 by default, also for batches', async () => {
      const limits = new RateLimits(loadConfig({}), metrics, () => nowMs);
      const app = testApp(store.db, {}, { limits, metrics });
      expect((await call(app, tenant, EVENTS, { json: event })).headers.get('ratelimit-policy')).toBe(
        '"events";q=10000;w=5',
      );
      expect(limits.admitEvents(tenant.keyId, 10_000).admitted).toBe(9_999);
      await expectProblem(await call(app, tenant, EVENTS, { json: event }), 'rate_limited');
      nowMs += 1_000;
      expect(limits.admitEvents(tenant.keyId, 10_000).admitted).toBe(2_000);
    });

    test('can be off where requests are limited', async () => {
      const app = limitedApp({ RATE_LIMIT: '1/s:1', EVENT_RATE_LIMIT: 'off' });
      for (let times = 0; times < 3; times++) {
        const response = await call(app, tenant, EVENTS, { json: event });
        expect([response.status, response.headers.get('ratelimit')]).toEqual([202, null]);
      }
      expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
    });

    test('holds for events in place of that of requests', async () => {
      const app = limitedApp({ RATE_LIMIT: '1/s:1', EVENT_RATE_LIMIT: '5/s:2' });
      for (let times = 0; times < 2; times++)
        expect((await call(app, tenant, EVENTS, { json: event })).status).toBe(202);
      const refused = await call(app, tenant, EVENTS, { json: event });
      expect(refused.headers.get('ratelimit-policy')).toBe('"events";q=2;w=1');
      await expectProblem(refused, 'rate_limited');
      expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
      expect(await refusals('events')).toBe(1);
    });

    test('counts every event of a batch, and refuses on its own each that is too many', async () => {
      const app = limitedApp({ EVENT_RATE_LIMIT: '5/s:4' });
      const response = await call(app, tenant, BATCH, ndjson(6));
      expect(response.headers.get('ratelimit')).toBe('"events";r=0;t=1');
      const { results } = (await response.json()) as { results: { status: number; code: string | null }[] };
      expect(results.map(({ status, code }) => [status, code])).toEqual([
        ...Array(4).fill([202, null]),
        ...Array(2).fill([429, 'rate_limited']),
      ]);
      await expectProblem(await call(app, tenant, BATCH, ndjson(1)), 'rate_limited');
      expect(await refusals('events')).toBe(3);
    });

    test('takes nothing for a batch that is refused for another reason', async () => {
      const app = limitedApp({ EVENT_RATE_LIMIT: '5/s:4' });
      await expectProblem(await call(app, tenant, BATCH, { body: 'x' }), 'unsupported_media_type');
      const response = await call(app, tenant, BATCH, ndjson(4));
      const { results } = (await response.json()) as { results: { status: number }[] };
      expect(results.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    });
  });

  describe('of wrong keys', () => {
    const guess = (app: App, from: string | undefined, headers: Record<string, string> = {}) =>
      call(app, { ...tenant, apiKey: makeApiKey((count) => crypto.getRandomValues(new Uint8Array(count))) }, WEBHOOKS, {
        ...(from !== undefined && { from }),
        headers,
      });

    async function exhaust(app: App, from: string, headers?: Record<string, string>): Promise<void> {
      for (let times = 0; times < 50; times++) expect((await guess(app, from, headers)).status).toBe(401);
    }

    test('lets an address make fifty mistakes at once, and then ten a second', async () => {
      const app = limitedApp({});
      await exhaust(app, STRANGER);
      const refused = await guess(app, STRANGER);
      expect(refused.headers.get('retry-after')).toBe('1');
      await expectProblem(refused, 'rate_limited');
      nowMs += 1_000;
      for (let times = 0; times < 10; times++) expect((await guess(app, STRANGER)).status).toBe(401);
      await expectProblem(await guess(app, STRANGER), 'rate_limited');
      expect(await refusals('authentication')).toBe(2);
    });

    test('never refuse a valid key that was not seen before, and refuse one as soon as it is revoked', async () => {
      const app = limitedApp({});
      await exhaust(app, STRANGER);
      expect((await call(app, tenant, WEBHOOKS, { from: STRANGER })).status).toBe(200);
      const revoked = await createTenant(store.db);
      expect((await call(app, revoked, WEBHOOKS, { from: STRANGER })).status).toBe(200);
      await revokeApiKey(store.db, revoked.keyId, TEST_CHANGE);
      await expectProblem(await call(app, revoked, WEBHOOKS, { from: STRANGER }), 'rate_limited');
      for (let times = 0; times < 50; times++) {
        expect((await call(app, revoked, WEBHOOKS, { from: '198.51.100.1' })).status).toBe(401);
      }
      await expectProblem(await guess(app, '198.51.100.1'), 'rate_limited');
    });

    test('counts a missing key, and neither a good key for another entity nor a wrong path', async () => {
      const app = limitedApp({});
      const other = await createTenant(store.db);
      for (let times = 0; times < 60; times++) {
        const wrong = await call(app, { ...tenant, entityId: other.entityId }, WEBHOOKS, { from: STRANGER });
        expect(wrong.status).toBe(403);
        expect((await call(app, null, '/nowhere', { from: STRANGER })).status).toBe(404);
      }
      for (let times = 0; times < 50; times++)
        expect((await call(app, null, WEBHOOKS, { from: STRANGER })).status).toBe(401);
      await expectProblem(await call(app, null, WEBHOOKS, { from: STRANGER }), 'rate_limited');
      await expectProblem(await call(app, null, '/nowhere', { from: STRANGER }), 'not_found');
      await expectProblem(await call(app, null, WEBHOOKS, { method: 'PUT', from: STRANGER }), 'method_not_allowed');
    });

    test('takes a network of IPv6 for one address', async () => {
      const app = limitedApp({});
      await exhaust(app, '2001:db8:1:2::1');
      await expectProblem(await guess(app, '2001:db8:1:2:ffff::9'), 'rate_limited');
      expect((await guess(app, '2001:db8:1:3::1')).status).toBe(401);
    });

    test('goes by the forwarded address where the proxy is trusted, and only there', async () => {
      const forwarded = { 'x-forwarded-for': `10.9.9.9, ${STRANGER}` };
      const trusting = limitedApp({ TRUST_PROXY: '127.0.0.1' });
      await exhaust(trusting, '127.0.0.1', forwarded);
      await expectProblem(await guess(trusting, '127.0.0.1', forwarded), 'rate_limited');
      expect((await guess(trusting, '127.0.0.1', { 'x-forwarded-for': '203.0.113.8' })).status).toBe(401);
      const plain = limitedApp({});
      await exhaust(plain, '127.0.0.1', forwarded);
      await expectProblem(await guess(plain, '127.0.0.1', { 'x-forwarded-for': '203.0.113.8' }), 'rate_limited');
    });

    test('holds for the operator’s paths too', async () => {
      const app = limitedApp({ ADMIN_KEY });
      const asOperator = (apiKey: string) =>
        call(app, null, '/admin/v1/entities', { headers: { 'api-key': apiKey }, from: STRANGER });
      for (let times = 0; times < 50; times++) expect((await asOperator(`${ADMIN_KEY}x`)).status).toBe(401);
      // People choose this key, so even the right one is refused: a guess tells nothing.
      await expectProblem(await asOperator(ADMIN_KEY), 'rate_limited');
      nowMs += 1_000;
      expect((await asOperator(ADMIN_KEY)).status).toBe(200);
      for (let times = 0; times < 10; times++) expect((await asOperator(`${ADMIN_KEY}x`)).status).toBe(401);
      await expectProblem(await asOperator(`${ADMIN_KEY}x`), 'rate_limited');
      expect((await asOperator(ADMIN_KEY)).status).toBe(200);
    });
  });
});
