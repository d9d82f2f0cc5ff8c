import { beforeEach, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import type { App } from '../../../src/api/app.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { readDeliveries } from '../../support/deliveries.ts';
import { operationsOf } from '../../support/operations.ts';
import { expectProblem } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const BASE = '/api/v1/crypto';
const DOCUMENT = resolve(import.meta.dir, '../../../docs/client.md');

/** What "Idempotency" in docs/client.md promises. */
onSuiteEngine('the same request again', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, { ADMIN_KEY });
    tenant = await createTenant(store.db);
  });

  const admin = { 'api-key': ADMIN_KEY };
  const registration = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };
  const event = { eventId: 'paid-late-1', event: 'LatePayment', networkId: 1 };
  const seen = async (response: Response) => [response.status, await response.json()] as const;

  test('is explained for every POST that there is', async () => {
    const text = await Bun.file(DOCUMENT).text();
    const explained = [...text.matchAll(/^\| `POST ([^`]+)` \| .+ \|$/gm)].map(([, path]) => path ?? '');
    expect(explained.length).toBeGreaterThan(5);
    const posts = (await operationsOf(app)).filter(({ method }) => method === 'POST');
    for (const { path } of posts) expect(explained).toContain(path.replace(BASE, ''));
  });

  test('registers nothing twice and shows the same ids', async () => {
    const [first, second] = [
      await seen(await call(app, tenant, WEBHOOKS, { json: registration })),
      await seen(await call(app, tenant, WEBHOOKS, { json: registration })),
    ];
    expect([first[0], second[0]]).toEqual([201, 200]);
    expect(second[1]).toEqual(first[1]);
  });

  test('accepts no event twice, also when a webhook has come in between, and takes no other bytes for it', async () => {
    await call(app, tenant, WEBHOOKS, { json: registration });
    const response = { eventId: event.eventId, deliveries: 1 };
    expect(await seen(await call(app, tenant, `${BASE}/events`, { json: event }))).toEqual([202, response]);
    await call(app, tenant, WEBHOOKS, { json: { ...registration, postUrl: 'https://example.com/later' } });
    expect(await seen(await call(app, tenant, `${BASE}/events`, { json: event }))).toEqual([200, response]);
    const other = { ...event, amount: '1.00' };
    await expectProblem(await call(app, tenant, `${BASE}/events`, { json: other }), 'event_conflict');
    expect(await readDeliveries(store.db, tenant.entityId)).toHaveLength(1);
  });

  test('of a batch has the same result for every line as the first time', async () => {
    const body = [1, 2, 3].map((index) => JSON.stringify({ ...event, eventId: `line-${index}` })).join('\n');
    const options = { body, headers: { 'content-type': 'application/x-ndjson' } };
    const statuses = async () => {
      const { results } = (await (await call(app, tenant, `${BASE}/events/batch`, options)).json()) as {
        results: { status: number }[];
      };
      return results.map(({ status }) => status);
    };
    expect([await statuses(), await statuses()]).toEqual([
      [202, 202, 202],
      [200, 200, 200],
    ]);
  });

  test('makes another secret, another signing key, another entity and another key', async () => {
    const twice = async (path: string, who: Tenant | null, options: { json?: unknown; headers?: typeof admin }) =>
      Promise.all([1, 2].map(async () => seen(await call(app, who, path, { method: 'POST', ...options }))));
    const requests = [
      twice(`${BASE}/webhooks/secret/rotate`, tenant, {}),
      twice(`${BASE}/webhooks/signing-key/rotate`, tenant, {}),
      twice('/admin/v1/entities', null, { json: { name: 'Acme' }, headers: admin }),
      twice('/admin/v1/keys', null, { json: { entityId: tenant.entityId }, headers: admin }),
    ];
    for (const [first, second] of await Promise.all(requests)) {
      expect([first?.[0], second?.[0]]).toEqual([201, 201]);
      expect(second?.[1]).not.toEqual(first?.[1]);
    }
  });

  test('deletes and moves what still matches, and that is nothing', async () => {
    await call(app, tenant, WEBHOOKS, { json: registration });
    const move = { method: 'PATCH', json: { postUrl: 'https://example.com/new' } };
    for (const options of [move, { method: 'DELETE' }]) {
      for (const totalResults of [1, 0]) {
        const response = await call(app, tenant, `${WEBHOOKS}?networkId=1`, options);
        expect(await seen(response)).toEqual([200, { totalResults }]);
      }
    }
  });
});
