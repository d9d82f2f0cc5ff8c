import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { WebhookList } from '../../../../src/contract/webhooks.ts';
import { pruneOptionChanges } from '../../../../src/store/webhooks/option-changes.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const FILTER = { token: ['0xAbCd', 'USDC'], amount: { min: '10', max: '999.99' } };
const EVENTS = '/api/v1/crypto/events';

onSuiteEngine('the options of a webhook', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  const register = (body: object, who = tenant) =>
    call(app, who, WEBHOOKS, { json: { networkIds: [1], events: ['LatePayment'], ...body } });
  const registered = async (path: string, options?: object): Promise<string> => {
    const response = await register({ postUrl: `https://example.com/${path}`, ...(options && { options }) });
    expect(response.status).toBe(201);
    return ((await response.json()) as WebhookList).webhooks[0]?.webhookId ?? '';
  };
  const pathOf = (webhookId: string) => `${WEBHOOKS}/${webhookId}/options`;
  const put = (webhookId: string, json: unknown, who = tenant) =>
    call(app, who, pathOf(webhookId), { method: 'PUT', json });
  const optionsOf = async (webhookId: string, who = tenant) => (await call(app, who, pathOf(webhookId))).json();
  const patch = (query: string, json: object) => call(app, tenant, `${WEBHOOKS}?${query}`, { method: 'PATCH', json });
  const deliveriesOf = async (payload: object): Promise<number> => {
    const response = await call(app, tenant, EVENTS, { json: { event: 'LatePayment', networkId: 1, ...payload } });
    expect(response.status).toBe(202);
    return ((await response.json()) as { deliveries: number }).deliveries;
  };
  const storedFilters = async () => {
    // Filters that webhooks had before are kept for tasks that began before the change.
    await store.db.transaction((queries) => queries.run('update option_changes set changed_at_ms = 0'));
    await pruneOptionChanges(store.db, tenant.entityId);
    const rows = await store.db.all('select hash from payload_filters where entity_id = $1', [tenant.entityId]);
    return rows.length;
  };

  test('are the defaults at first, are replaced as a whole, and are read as they were given', async () => {
    const webhookId = await registered('a');
    expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: null });
    const replaced = await put(webhookId, { filter: FILTER });
    expect([replaced.status, await replaced.json()]).toEqual([200, { finality: 'seen', filter: FILTER }]);
    expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: FILTER });
    expect((await put(webhookId, { filter: null })).status).toBe(200);
    expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: null });
    expect(await storedFilters()).toBe(0);
    const { audit } = await listAudit(app, tenant, '?action=webhook.updated&sortDir=asc');
    expect(audit.map(shown)).toMatchObject([
      { target: webhookId, before: { options: { filter: null } }, after: { options: { filter: FILTER } } },
      { target: webhookId, before: { options: { filter: FILTER } }, after: { options: { filter: null } } },
    ]);
  });

  test('decide which events become deliveries, exactly', async () => {
    await registered('a', { filter: { amount: { min: '100' }, token: ['0xABCD'] } });
    await registered('b', { filter: { amount: { max: '99.999999999999999999' } } });
    await registered('c');
    expect(await deliveriesOf({ amount: '100', token: '0xabcd' })).toBe(2);
    expect(await deliveriesOf({ amount: '99.999999999999999999', token: '0xabcd' })).toBe(2);
    expect(await deliveriesOf({ amount: '99.9999999999999999999', token: '0xabcd' })).toBe(1);
    expect(await deliveriesOf({ amount: '100', token: 'other' })).toBe(1);
    expect(await deliveriesOf({ token: '0xabcd' })).toBe(1);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('apply from the next event on when they are replaced, and leave deliveries alone', async () => {
    const webhookId = await registered('a', { filter: { kind: ['x'] } });
    expect(await deliveriesOf({ kind: 'x' })).toBe(1);
    await put(webhookId, { filter: { kind: ['y'] } });
    expect(await deliveriesOf({ kind: 'x' })).toBe(0);
    expect(await deliveriesOf({ kind: 'y' })).toBe(1);
    const list = await call(app, tenant, `/api/v1/crypto/deliveries?webhookId=${webhookId}`);
    expect(await list.json()).toMatchObject({ totalResults: 2 });
  });

  test('do not show in the webhook or the list, which keep their five fields', async () => {
    const webhookId = await registered('a', { filter: FILTER });
    const five = ['webhookId', 'networkId', 'event', 'postUrl', 'dateCreated'];
    expect(Object.keys((await (await call(app, tenant, `${WEBHOOKS}/${webhookId}`)).json()) as object)).toEqual(five);
    const { webhooks } = (await (await call(app, tenant, WEBHOOKS)).json()) as WebhookList;
    expect(webhooks.map(Object.keys)).toEqual([five]);
  });

  test('are given to every webhook of a registration, and must be the same when it is repeated', async () => {
    const body = { postUrl: 'https://example.com/all', networkIds: [1, 10], options: { filter: FILTER } };
    expect((await register(body)).status).toBe(201);
    const same = { filter: { amount: { max: '999.990', min: '10.0' }, token: ['USDC', '0xabcd'] } };
    expect((await register({ ...body, options: same })).status).toBe(200);
    expect((await register({ postUrl: body.postUrl, networkIds: [1, 10] })).status).toBe(200);
    expect(await storedFilters()).toBe(1);
    for (const options of [{ filter: null }, { filter: { token: ['USDC'] } }]) {
      // Network 137 is new, and is not registered either.
      const problem = await expectProblem(await register({ ...body, networkIds: [137, 10], options }), 'conflict');
      expect(problem.detail).toMatch(/is registered with other options. Change its options instead/);
    }
    expect(await (await call(app, tenant, WEBHOOKS)).json()).toMatchObject({ totalResults: 2 });
    expect(await storedFilters()).toBe(1);
  });

  test('change in bulk, with or without the URL, and webhooks that have them already are not counted', async () => {
    const ids = [await registered('a', { filter: FILTER }), await registered('b'), await registered('c')];
    const change = { options: { filter: FILTER } };
    const count = async (response: Promise<Response>) => (await response).json();
    expect(await count(patch('networkId=1&dryRun=true', change))).toEqual({ totalResults: 2 });
    expect(await count(patch('networkId=1', change))).toEqual({ totalResults: 2 });
    expect(await count(patch('networkId=1', change))).toEqual({ totalResults: 0 });
    for (const id of ids) expect(await optionsOf(id)).toEqual({ finality: 'seen', filter: FILTER });
    const [entry] = (await listAudit(app, tenant, '?action=webhooks.updated')).audit.map(shown);
    expect(entry).toMatchObject({
      before: { options: [{ filter: null, webhookIds: expect.any(Array) }] },
      after: change,
    });
    const respelled = {
      postUrl: 'https://example.com/c2',
      options: { filter: { ...FILTER, token: ['USDC', '0xabcd'] } },
    };
    expect(await count(patch(`webhookId=${ids[2]}`, respelled))).toEqual({ totalResults: 1 });
    expect(await storedFilters()).toBe(1);
    const both = { postUrl: 'https://example.com/moved', options: { filter: null } };
    expect(await count(patch(`webhookId=${ids[1]}`, both))).toEqual({ totalResults: 1 });
    expect(await optionsOf(ids[1] ?? '')).toEqual({ finality: 'seen', filter: null });
    expect(await storedFilters()).toBe(1);
    expect((await call(app, tenant, `${WEBHOOKS}?networkId=1`, { method: 'DELETE' })).status).toBe(200);
    expect(await storedFilters()).toBe(0);
  });

  test('with errors are 400, and name each of them', async () => {
    const webhookId = await registered('a');
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, ['x']]));
    const errorsOf = async (json: unknown) =>
      messagesByName(await expectProblem(await put(webhookId, json), 'invalid_request'));
    expect(await errorsOf({ filter: { amount: { min: 'ten', max: 5 }, token: [] } })).toEqual({
      'filter.amount.min': 'must be a decimal as a string, such as "10.50"',
      'filter.amount.max': 'must be a decimal as a string, such as "10.50"',
      'filter.token': 'must have at least one value',
    });
    expect(await errorsOf({ filter: many })).toEqual({ filter: 'must name at most 20 fields' });
    expect(await errorsOf({ filter: ['x'] })).toEqual({ filter: expect.stringContaining('must be an object') });
    expect(await errorsOf({ filter: { a: Array(1_000).fill('x'.repeat(66)) } })).toEqual({
      filter: 'must have at most 65536 bytes',
    });
    expect(Object.keys(await errorsOf({ filter: null, finalty: 'seen' }))).toEqual(['finalty']);
    expect(Object.keys(await errorsOf({}))).toEqual(['filter']);
    const response = await register({ postUrl: 'http://10.0.0.1', options: { filter: { a: 1 } } });
    expect(Object.keys(messagesByName(await expectProblem(response, 'invalid_request')))).toEqual([
      'postUrl',
      'options.filter.a',
    ]);
    const empty = messagesByName(await expectProblem(await patch('networkId=1', {}), 'invalid_request'));
    expect(empty).toEqual({ postUrl: 'is required, unless options is given' });
    expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: null });
  });

  test('have filters of one mebibyte together, and equal ones count once', async () => {
    const large = (n: number) => ({ filter: { a: Array.from({ length: 1_000 }, (_, i) => `${n} ${i}`.padEnd(60)) } });
    let made = 0;
    let response = await register({ postUrl: 'https://example.com/0', options: large(0) });
    while (response.status === 201 && made < 30) {
      made++;
      response = await register({ postUrl: `https://example.com/${made}`, options: large(made) });
    }
    const problem = await expectProblem(response, 'conflict');
    expect(problem.detail).toMatch(/at most 1048576 bytes together/);
    expect(made).toBe(16);
    expect(await storedFilters()).toBe(16);
    expect((await register({ postUrl: 'https://example.com/again', options: large(0) })).status).toBe(201);
  });
});
