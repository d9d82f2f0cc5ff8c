import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../src/api/app.ts';
import type { WebhookList } from '../../src/contract/webhooks.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../support/api.ts';
import { expectProblem } from '../support/problems.ts';
import { createTarget } from '../support/stores.ts';
import { wrongCounters } from '../support/webhooks.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const SECRETS = '/api/v1/crypto/webhooks/secret';
const url = (path: string | number) => `https://example.com/${path}`;

/** Two apps with a pool each, as two processes have them, so that whatever one remembers the other does not. */
describe('two instances on one PostgreSQL', () => {
  const pools: Database[] = [];
  let one: App;
  let two: App;
  let tenant: Tenant;

  beforeAll(async () => {
    const { target } = await createTarget('postgres');
    pools.push(await openDatabase(target), await openDatabase(target));
    const [first, second] = pools as [Database, Database];
    await migrate(first);
    [one, two] = [testApp(first, { ADMIN_KEY }), testApp(second, { ADMIN_KEY })];
    tenant = await createTenant(first);
  });

  afterAll(async () => {
    for (const pool of pools) await pool.close();
  });

  /** Three times, so that the response comes from what the instance has cached. */
  const list = async (app: App, query = '') => {
    const ask = async () => (await (await call(app, tenant, `${WEBHOOKS}${query}`)).json()) as WebhookList;
    const first = await ask();
    expect([await ask(), await ask()]).toEqual([first, first]);
    return first;
  };

  test('make one set of webhooks of a registration sent a hundred times at once, and every response shows its ids', async () => {
    const json = { postUrl: url('hundred'), networkIds: [1, 8453], events: ['LatePayment', 'TransferCreated'] };
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => call(index % 2 === 0 ? one : two, tenant, WEBHOOKS, { json })),
    );
    const statuses = responses.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(99).fill(200), 201]);
    const bodies = new Set(await Promise.all(responses.map((response) => response.text())));
    expect(bodies.size).toBe(1);
    const { totalResults, webhooks } = JSON.parse([...bodies][0] ?? '') as WebhookList;
    expect(totalResults).toBe(4);
    for (const app of [one, two]) {
      const listed = await list(app, '?sortDir=asc');
      expect(listed).toEqual({ totalResults: 4, webhooks });
    }
    expect(await wrongCounters(pools[0] as Database)).toEqual([]);
  });

  test('see each other’s registrations, moves and deletes at the next read', async () => {
    const json = { postUrl: url('seen'), networkIds: [7], events: ['LatePayment'] };
    for (const [writer, reader] of [
      [one, two],
      [two, one],
    ] as const) {
      expect(await list(reader, '?networkId=7')).toMatchObject({ totalResults: 0 });
      await call(writer, tenant, WEBHOOKS, { json });
      const { totalResults, webhooks } = await list(reader, '?networkId=7');
      expect(totalResults).toBe(1);
      const path = `${WEBHOOKS}/${webhooks[0]?.webhookId}`;
      await call(writer, tenant, path, { method: 'PATCH', json: { postUrl: url('moved') } });
      expect((await list(reader, '?networkId=7')).webhooks).toMatchObject([{ postUrl: url('moved') }]);
      expect(await (await call(reader, tenant, path)).json()).toMatchObject({ postUrl: url('moved') });
      await call(writer, tenant, path, { method: 'DELETE' });
      expect(await list(reader, '?networkId=7')).toEqual({ totalResults: 0, webhooks: [] });
      await expectProblem(await call(reader, tenant, path), 'not_found');
    }
  });

  test('refuse a key from the next request after the other has revoked it on', async () => {
    const leaving = await createTenant(pools[0] as Database);
    for (const app of [one, two]) expect((await call(app, leaving, WEBHOOKS)).status).toBe(200);
    const headers = { 'api-key': ADMIN_KEY };
    const revoked = await call(one, null, `/admin/v1/keys/${leaving.keyId}`, { method: 'DELETE', headers });
    expect(revoked.status).toBe(200);
    for (const app of [two, one]) await expectProblem(await call(app, leaving, WEBHOOKS), 'unauthenticated');
  });

  test('take a key at the next request after the other has made it', async () => {
    const headers = { 'api-key': ADMIN_KEY };
    const json = { entityId: tenant.entityId };
    const made = (await (await call(one, null, '/admin/v1/keys', { json, headers })).json()) as Tenant;
    expect((await call(two, { ...tenant, apiKey: made.apiKey }, WEBHOOKS)).status).toBe(200);
  });

  test('show the same secrets after either has rotated', async () => {
    for (const app of [one, two]) {
      expect((await call(app, tenant, `${SECRETS}/rotate`, { method: 'POST' })).status).toBe(201);
      const [here, there] = await Promise.all(
        [one, two].map(async (each) => (await call(each, tenant, SECRETS)).text()),
      );
      expect(here).toBe(there ?? '');
    }
  });

  test('rotating at once through both never put more than five secrets in force', async () => {
    const rotator = await createTenant(pools[0] as Database);
    const rotations = Array.from({ length: 12 }, (_, index) =>
      call(index % 2 === 0 ? one : two, rotator, `${SECRETS}/rotate`, { method: 'POST' }),
    );
    const statuses = (await Promise.all(rotations)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(4).fill(201), ...Array(8).fill(409)]);
    expect(await (await call(two, rotator, SECRETS)).json()).toMatchObject({ totalResults: 5 });
  });

  test('bulk changes and registrations at once through both leave every counter true', async () => {
    const networkIds = Array.from({ length: 10 }, (_, index) => 100 + index);
    const work = Array.from({ length: 20 }, (_, index) => {
      const app = index % 2 === 0 ? one : two;
      if (index % 5 === 4)
        return call(app, tenant, `${WEBHOOKS}?networkId=${100 + (index % 10)}`, { method: 'DELETE' });
      return call(app, tenant, WEBHOOKS, { json: { postUrl: url(index), networkIds, events: ['LatePayment'] } });
    });
    for (const { status } of await Promise.all(work)) expect([200, 201]).toContain(status);
    expect(await wrongCounters(pools[1] as Database)).toEqual([]);
  });
});
