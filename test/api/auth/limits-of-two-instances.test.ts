import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { RateLimits } from '../../../src/api/auth/rate-limits.ts';
import { loadConfig } from '../../../src/config.ts';
import { makeApiKey } from '../../../src/domain/keys/api-keys.ts';
import { Metrics } from '../../../src/metrics/paybell-metrics.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { randomBytes } from '../../../src/store/new-id.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { createTarget } from '../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';

/**
 * What holds across instances and what does not: a rate is each instance's own, since it is there to save work; whatever
 * bounds what is stored is the store's.
 */
describe('the limits of two instances on one PostgreSQL', () => {
  const pools: Database[] = [];

  beforeAll(async () => {
    const { target } = await createTarget('postgres');
    pools.push(await openDatabase(target), await openDatabase(target));
    await migrate(pools[0] as Database);
  });

  afterAll(async () => {
    for (const pool of pools) await pool.close();
  });

  /** Their clocks stand still, so that no bucket fills up again meanwhile. */
  const instances = (settings: Record<string, string>): App[] =>
    pools.map((db) =>
      testApp(db, settings, { limits: new RateLimits(loadConfig(settings), new Metrics(), () => 1_000) }),
    );

  const countOf = (responses: readonly Response[], status: number) =>
    responses.filter((response) => response.status === status).length;

  test('on requests are each instance’s own: a key gets twice the burst in all, and not one request more', async () => {
    const tenant = await createTenant(pools[0] as Database);
    const apps = instances({ RATE_LIMIT: '1/s:20' });
    const responses = await Promise.all(
      apps.flatMap((app) => Array.from({ length: 50 }, () => call(app, tenant, WEBHOOKS))),
    );
    expect([countOf(responses, 200), countOf(responses, 429)]).toEqual([40, 60]);
  });

  test('on wrong keys are each instance’s own as well, by address', async () => {
    const tenant = await createTenant(pools[0] as Database);
    const apps = instances({});
    const guess = (app: App) =>
      call(app, { ...tenant, apiKey: makeApiKey(randomBytes) }, WEBHOOKS, { from: '203.0.113.9' });
    for (const app of apps) {
      const responses: Response[] = [];
      for (let times = 0; times < 60; times++) responses.push(await guess(app));
      expect([countOf(responses, 401), countOf(responses, 429)]).toEqual([50, 10]);
    }
  });

  test('on webhooks are the store’s: registering through both at once never makes more than are allowed', async () => {
    const tenant = await createTenant(pools[0] as Database);
    const apps = instances({ RATE_LIMIT: 'off', ENTITY_WEBHOOK_LIMIT: '10' });
    const register = (app: App, index: number) =>
      call(app, tenant, WEBHOOKS, {
        json: { postUrl: `https://example.com/${index}`, networkIds: [1], events: ['LatePayment'] },
      });
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, index) => register(apps[index % 2] as App, index)),
    );
    expect([countOf(responses, 201), countOf(responses, 409)]).toEqual([10, 30]);
    expect(await (await call(apps[1] as App, tenant, WEBHOOKS)).json()).toMatchObject({ totalResults: 10 });
  });

  test('on waiting deliveries are shared: what one has accepted counts for the other at its next count', async () => {
    const tenant = await createTenant(pools[0] as Database);
    const settings = { RATE_LIMIT: 'off', ENTITY_BACKLOG_LIMIT: '5' };
    const [one] = instances(settings) as [App, App];
    await call(one, tenant, WEBHOOKS, {
      json: { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] },
    });
    const send = (app: App) => call(app, tenant, EVENTS, { json: { event: 'LatePayment', networkId: 1 } });
    for (let times = 0; times < 5; times++) expect((await send(one)).status).toBe(202);
    // It has counted nothing yet, as one whose count is a second old has to count again.
    const [, two] = instances(settings) as [App, App];
    const refused = await send(two);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'backlog_full' });
  });
});
