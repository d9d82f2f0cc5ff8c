import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { type DeliveryDetail, MAX_ATTEMPTS_SHOWN } from '../../../src/contract/deliveries.ts';
import { MAX_EVENT_BYTES } from '../../../src/contract/events/size.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { recordChange } from '../../../src/store/tenants/audit.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { AUDIT, listAudit } from '../../support/audit.ts';
import { expectProblem } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';
const DELIVERIES = '/api/v1/crypto/deliveries';
const LARGE = 30;
const SMALL = 60;

/** A page contains the bodies: a hundred of the largest would be 25 MB for each concurrent request. */
onSuiteEngine('a page of large events', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
    const send = (padding: number) => {
      const body = JSON.stringify({ event: 'LatePayment', networkId: 1, note: '' });
      const text = body.replace('"note":""', `"note":"${'x'.repeat(padding)}"`);
      return call(app, tenant, EVENTS, { method: 'POST', body: text, headers: { 'content-type': 'application/json' } });
    };
    for (let count = 0; count < LARGE; count++) expect((await send(MAX_EVENT_BYTES - 100)).status).toBe(202);
    for (let count = 0; count < SMALL; count++) await send(10);
  });

  const list = (query: string) => call(app, tenant, `${EVENTS}?sortDir=asc&${query}`);

  test('is refused where it is too much for one response, and says what to ask for instead', async () => {
    const { errors } = await expectProblem(await list('limit=30'), 'invalid_request');
    expect(errors).toEqual([
      { in: 'query', name: 'limit', message: expect.stringMatching(/^must be smaller here: .* the limit is 6553600$/) },
    ]);
  });

  test('of the default length is always given, with every body', async () => {
    const { events } = (await (await list('')).json()) as { events: { body: string }[] };
    expect(events).toHaveLength(25);
    for (const { body } of events) expect(body.length).toBeGreaterThan(MAX_EVENT_BYTES - 100);
  });

  test('is refused for its own bodies alone: other pages of any length are given', async () => {
    const { events } = (await (await list('limit=30&page=2')).json()) as { events: unknown[] };
    expect(events).toHaveLength(30);
    expect((await call(app, tenant, `${EVENTS}?limit=${SMALL}`)).status).toBe(200);
    expect((await list('limit=100&page=9')).status).toBe(200);
  });
});

/** One bulk change records up to 1,000 webhooks with their URLs. */
onSuiteEngine('a page of large audit entries', (store) => {
  const ENTRIES = 4;
  const webhooks = Array.from({ length: 1_000 }, (_, index) => ({
    webhookId: `wh_${index}`,
    postUrl: `https://example.com/${'x'.repeat(2_000)}`,
  }));
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
    const deletion = { action: 'webhooks.deleted', target: tenant.entityId, before: { webhooks } } as const;
    for (let count = 0; count < ENTRIES; count++) {
      const change = { ...TEST_CHANGE, nowS: TEST_CHANGE.nowS + 1 + count };
      await store.db.transaction((queries) => recordChange(queries, tenant.entityId, change, deletion));
    }
  });

  test.each(['?limit=100', '', '?limit=4&action=webhooks.deleted'])(
    '%j is refused, and says to ask for less',
    async (query) => {
      const { errors } = await expectProblem(await call(app, tenant, `${AUDIT}${query}`), 'invalid_request');
      expect(errors).toEqual([
        {
          in: 'query',
          name: 'limit',
          message: expect.stringMatching(/^must be smaller here: .* the limit is 6553600$/),
        },
      ]);
    },
  );

  test('is given with fewer of them, and each in full', async () => {
    for (const page of [1, 2, 3, 4]) {
      const { totalResults, audit } = await listAudit(app, tenant, `?limit=1&page=${page}`);
      expect([totalResults, audit[0]?.before]).toEqual([ENTRIES + 2, { webhooks }]);
    }
    expect((await listAudit(app, tenant, '?limit=3')).audit).toHaveLength(3);
    expect((await listAudit(app, tenant, '?limit=100&action=entity.created')).audit).toHaveLength(1);
  });
});

onSuiteEngine('a delivery that was sent again all day', (store) => {
  const ATTEMPTS = MAX_ATTEMPTS_SHOWN + 50;

  test('is read with its latest attempts, oldest first, and with the count of all', async () => {
    const app = testApp(store.db);
    const tenant = await createTenant(store.db);
    await call(app, tenant, WEBHOOKS, {
      json: { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] },
    });
    await call(app, tenant, EVENTS, { json: { event: 'LatePayment', networkId: 1 } });
    const { deliveries } = (await (await call(app, tenant, DELIVERIES)).json()) as {
      deliveries: { deliveryId: string }[];
    };
    const id = deliveries[0]?.deliveryId ?? '';
    await store.db.transaction(async (queries) => {
      const key = [entityKey(store.db.dialect, tenant.entityId), store.db.dialect.bindUuid(id.slice(4))];
      await queries.run('update queue set attempts = $3 where entity_id = $1 and id = $2', [...key, ATTEMPTS]);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        await queries.run(
          `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms)
           values ($1, $2, $3, 'redelivery', 'https://example.com/hook', 1000, 1)`,
          [...key, attempt],
        );
      }
    });
    const read = (await (await call(app, tenant, `${DELIVERIES}/${id}`)).json()) as DeliveryDetail;
    expect(read.attempts).toBe(ATTEMPTS);
    const shown = Array.from({ length: MAX_ATTEMPTS_SHOWN }, (_, index) => ATTEMPTS - MAX_ATTEMPTS_SHOWN + 1 + index);
    expect(read.attemptLog.map(({ attempt }) => attempt)).toEqual(shown);
  });
});
