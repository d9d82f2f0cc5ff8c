import { describe, expect, test } from 'bun:test';
import { PERMISSIONS } from '../../../src/domain/keys/api-keys.ts';
import { Metrics } from '../../../src/metrics/paybell-metrics.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { type CallOptions, call, createTenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';
import { parseMetrics, sampleOf } from '../../support/prometheus.ts';
import { onSuiteEngine } from '../../support/stores.ts';

/** None of this looks into the store. */
const NO_STORE = undefined as unknown as Database;
const METRICS_TOKEN = 'metrics-token-of-the-tests';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('GET /metrics', () => {
  const scrape = (options: CallOptions, settings: Record<string, string> = { METRICS_TOKEN }) =>
    call(testApp(NO_STORE, settings), null, '/metrics', options);

  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('is open to %s without a token', async (from) => {
    const response = await scrape({ from }, {});
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    parseMetrics(await response.text());
  });

  test.each(['203.0.113.7', '127.0.0.1', '::1'])('is open to %s with the token alone, once it is set', async (from) => {
    for (const headers of [
      {},
      bearer('wrong-token-of-the-tests'),
      bearer(`${METRICS_TOKEN}x`),
      { 'api-key': METRICS_TOKEN },
    ]) {
      const response = await scrape({ from, headers });
      expect(response.headers.get('www-authenticate')).toStartWith('Bearer');
      await expectProblem(response, 'unauthenticated');
    }
    expect((await scrape({ from, headers: bearer(METRICS_TOKEN) })).status).toBe(200);
    expect((await scrape({ from, headers: { authorization: `bearer ${METRICS_TOKEN}` } })).status).toBe(200);
  });

  test('is closed to others when there is no token, and to unknown addresses', async () => {
    for (const headers of [{}, bearer(''), bearer('undefined')]) {
      await expectProblem(await scrape({ from: '203.0.113.7', headers }, {}), 'unauthenticated');
    }
    await expectProblem(await scrape({}, {}), 'unauthenticated');
  });

  test.each(['x-forwarded-for', 'forwarded', 'x-real-ip'])(
    'is not opened to the world by a proxy on this machine that sends %s',
    async (header) => {
      for (const settings of [{}, { TRUST_PROXY: '127.0.0.1' }]) {
        for (const value of ['203.0.113.7', '127.0.0.1', 'for=203.0.113.7']) {
          const headers = { [header]: value };
          await expectProblem(await scrape({ from: '127.0.0.1', headers }, settings), 'unauthenticated');
          const withToken = { ...headers, ...bearer(METRICS_TOKEN) };
          const response = await scrape({ from: '127.0.0.1', headers: withToken }, { METRICS_TOKEN, ...settings });
          expect(response.status).toBe(200);
        }
      }
    },
  );

  test('limits how often the token can be guessed', async () => {
    // Its clock stands still: on a slow machine, time would allow another guess.
    const app = testApp(NO_STORE, { METRICS_TOKEN }, { nowMs: () => 1_000 });
    const options = { from: '203.0.113.7', headers: bearer('wrong-token-of-the-tests') };
    let last = new Response();
    for (let times = 0; times < 200 && last.status !== 429; times++) last = await call(app, null, '/metrics', options);
    await expectProblem(last, 'rate_limited');
    // The right token is refused as well, so a guess tells nothing.
    const right = { ...options, headers: bearer(METRICS_TOKEN) };
    await expectProblem(await call(app, null, '/metrics', right), 'rate_limited');
  });

  test('takes GET and HEAD only, and is there for every role', async () => {
    await expectProblem(await scrape({ method: 'POST', from: '127.0.0.1' }), 'method_not_allowed');
    expect((await scrape({ method: 'HEAD', from: '127.0.0.1' }, {})).status).toBe(200);
    expect((await scrape({ from: '127.0.0.1' }, { ROLE: 'delivery' })).status).toBe(200);
  });
});

onSuiteEngine('the metrics of requests', (store) => {
  test('count by the pattern of the route, and never by what stands in its place', async () => {
    const metrics = new Metrics();
    const app = testApp(store.db, {}, { metrics });
    const tenant = await createTenant(store.db, PERMISSIONS);
    await call(app, tenant, `${WEBHOOKS}?limit=5`);
    await call(app, tenant, `${WEBHOOKS}/wh_secret`);
    await call(app, tenant, `${WEBHOOKS}/wh_other`);
    await call(app, tenant, '/nowhere/at/all');
    await call(app, tenant, WEBHOOKS, { method: 'PUT' });
    const text = await metrics.registry.text();
    expect(text).not.toMatch(/wh_secret|wh_other|nowhere|limit=|ent_|key_/);
    const scraped = parseMetrics(text);
    const requests = (route: string, method: string, status: string) =>
      sampleOf(scraped, 'paybell_http_requests_total', { route, method, status });
    expect(requests(WEBHOOKS, 'GET', '200')).toBe(1);
    expect(requests(`${WEBHOOKS}/{webhookId}`, 'GET', '404')).toBe(2);
    expect(requests(WEBHOOKS, 'PUT', '405')).toBe(1);
    expect(requests('none', 'GET', '404')).toBe(1);
    expect(sampleOf(scraped, 'paybell_http_request_duration_seconds_count', { route: WEBHOOKS })).toBe(2);
  });
});
