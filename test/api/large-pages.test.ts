import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../src/api/app.ts';
import { MAX_EVENT_BYTES } from '../../src/domain/posted-event.ts';
import { call, createTenant, type Tenant, testApp } from '../support/api.ts';
import { expectProblem } from '../support/problems.ts';
import { onEveryEngine } from '../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';
const LARGE = 30;
const SMALL = 60;

/** A page has its bodies in it: a hundred of the largest would be 25 MB, for each of whoever asks at once. */
onEveryEngine('a page of large events', (store) => {
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

  test('is refused where it is too much for one answer, and says what to ask for instead', async () => {
    const { errors } = await expectProblem(await list('limit=30'), 'invalid_request');
    expect(errors).toEqual([
      { in: 'query', name: 'limit', message: expect.stringMatching(/^must be smaller here: .* 6553600 is the most$/) },
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
