import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { WEBHOOK_FIELDS } from '../../../../src/contract/webhooks/fields.ts';
import type { WebhookList } from '../../../../src/contract/webhooks.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { withAndWithoutSettings } from '../../../support/every-setting.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const NOW_S = 1_763_168_400;
const PATHS = ['b', 'A', 'a', 'C'];

withAndWithoutSettings('the list operation', (store, useSettings) => {
  let app: App;
  let tenant: Tenant;

  /** Four URLs × networks 1 and 8453 × two events: sixteen webhooks, and one of an event outside the seven. */
  beforeAll(async () => {
    app = testApp(store.db, { EXTRA_EVENTS: 'RefundIssued' }, { nowMs: () => NOW_S * 1000 + 999 });
    tenant = await createTenant(store.db);
    for (const path of PATHS) {
      await register({ postUrl: url(path), networkIds: [1, 8453], events: ['LatePayment', 'TransferCreated'] });
    }
    await register({ postUrl: url('refund'), networkIds: [10], events: ['RefundIssued'] });
    await useSettings(tenant.entityId);
  });

  const url = (path: string) => `https://example.com/${path}`;
  async function register(json: object): Promise<void> {
    expect((await call(app, tenant, WEBHOOKS, { json })).status).toBe(201);
  }
  async function list(query = '', who = tenant): Promise<WebhookList> {
    const response = await call(app, who, `${WEBHOOKS}${query}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    return (await response.json()) as WebhookList;
  }

  test('shows the fields of the contract and the count of all matches', async () => {
    const { totalResults, webhooks } = await list('?limit=1&sortDir=asc');
    expect(totalResults).toBe(17);
    expect(webhooks).toMatchObject([
      {
        webhookId: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
        networkId: 1,
        event: 'LatePayment',
        postUrl: url('b'),
        dateCreated: NOW_S,
      },
    ]);
    // Which these are is held by the test of the schema.
    expect(Object.keys(webhooks[0] ?? {})).toEqual([...WEBHOOK_FIELDS]);
  });

  test('shows the newest first, 25 at most, when nothing is asked', async () => {
    const { totalResults, webhooks } = await list();
    expect([totalResults, webhooks.length]).toEqual([17, 17]);
    expect(webhooks[0]).toMatchObject({ event: 'RefundIssued' });
    expect(webhooks).toEqual((await list('?sortDir=asc')).webhooks.toReversed());
  });

  test('filters by networkId, by event, and by both', async () => {
    expect(await list('?networkId=1')).toMatchObject({ totalResults: 8 });
    expect(await list('?event=LatePayment')).toMatchObject({ totalResults: 8 });
    const both = await list('?networkId=8453&event=TransferCreated');
    expect(both.totalResults).toBe(4);
    for (const webhook of both.webhooks) expect(webhook).toMatchObject({ networkId: 8453, event: 'TransferCreated' });
    expect(await list('?networkId=7')).toEqual({ totalResults: 0, webhooks: [] });
  });

  test('finds one webhook by its id, and none when another filter does not match it', async () => {
    const webhook = (await list('?networkId=8453')).webhooks[3];
    const byId = `?webhookId=${webhook?.webhookId}`;
    expect(await list(byId)).toEqual({ totalResults: 1, webhooks: [webhook as never] });
    expect(await list(`${byId}&networkId=8453`)).toMatchObject({ totalResults: 1 });
    expect(await list(`${byId}&networkId=1`)).toEqual({ totalResults: 0, webhooks: [] });
    expect(await list(`${byId}&page=2`)).toEqual({ totalResults: 1, webhooks: [] });
  });

  test('is empty for an unknown webhookId', async () => {
    for (const id of ['wh_none', 'x', '%E2%9C%93', "'%20or%201=1--"]) {
      expect(await list(`?webhookId=${id}`)).toEqual({ totalResults: 0, webhooks: [] });
    }
  });

  test('sorts by postUrl as bytes, in either direction', async () => {
    const sorted = async (dir: string) =>
      (await list(`?sortBy=postUrl&sortDir=${dir}&networkId=1&event=LatePayment`)).webhooks.map(
        ({ postUrl }) => postUrl,
      );
    expect(await sorted('asc')).toEqual(['A', 'C', 'a', 'b'].map(url));
    expect(await sorted('desc')).toEqual(['b', 'a', 'C', 'A'].map(url));
  });

  test('shows every webhook exactly once when the pages are walked, each page at most limit long', async () => {
    for (const order of ['', '&sortBy=postUrl', '&sortDir=asc', '&sortBy=postUrl&sortDir=asc']) {
      const pages = await Promise.all([1, 2, 3, 4].map((page) => list(`?limit=5&page=${page}${order}`)));
      expect(pages.map(({ webhooks }) => webhooks.length)).toEqual([5, 5, 5, 2]);
      expect(new Set(pages.flatMap(({ webhooks }) => webhooks.map(({ webhookId }) => webhookId))).size).toBe(17);
    }
  });

  test('has an empty array and the true total for a page past the end', async () => {
    for (const page of [5, 1_000_000, 90_000_000_000_000]) {
      expect(await list(`?limit=5&page=${page}`)).toEqual({ totalResults: 17, webhooks: [] });
    }
  });

  test('shows a stored event outside the seven in lists that do not filter by event', async () => {
    expect((await list('?networkId=10')).webhooks).toMatchObject([{ event: 'RefundIssued' }]);
    const plain = testApp(store.db);
    expect(await (await call(plain, tenant, `${WEBHOOKS}?networkId=10`)).json()).toMatchObject({ totalResults: 1 });
  });

  test('reads parameters that are percent-encoded like the plain ones', async () => {
    expect(await list('?%65vent=Late%50ayment&')).toMatchObject({ totalResults: 8 });
    expect(await list('?')).toMatchObject({ totalResults: 17 });
  });

  test('sees a registration as soon as it is acknowledged, also through another instance', async () => {
    const newcomer = await createTenant(store.db);
    const other = testApp(store.db);
    for (let count = 1; count <= 3; count++) {
      const json = { postUrl: url(`fresh/${count}`), networkIds: [1], events: ['LatePayment'] };
      await call(app, newcomer, WEBHOOKS, { json });
      await useSettings(newcomer.entityId);
      expect(await (await call(other, newcomer, WEBHOOKS)).json()).toMatchObject({ totalResults: count });
    }
  });

  test('never shows an entity what is another one’s, by any parameter', async () => {
    const stranger = await createTenant(store.db);
    const { webhooks } = await list();
    const mine = webhooks[0];
    const queries = [
      '',
      `?webhookId=${mine?.webhookId}`,
      '?networkId=1',
      '?event=LatePayment',
      '?sortBy=postUrl&page=2',
    ];
    for (const query of queries) expect(await list(query, stranger)).toEqual({ totalResults: 0, webhooks: [] });
  });
});

onSuiteEngine('the registration', (store) => {
  const postUrl = 'https://example.com/hook';
  let app: App;
  let tenant: Tenant;

  beforeAll(() => {
    app = testApp(store.db, { ENTITY_WEBHOOK_LIMIT: '60', NETWORKS: '1,10' });
  });

  const register = async (json: object) => {
    tenant ??= await createTenant(store.db);
    return call(app, tenant, WEBHOOKS, { json });
  };

  test('without networks and events makes one webhook for each known pair', async () => {
    const response = await register({ postUrl, networkIds: [] });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ totalResults: 2 * 7 });
  });

  test('of what exists is 200 with the same webhooks, and 201 as soon as one is new', async () => {
    const again = await register({ postUrl, networkIds: [1, 1], events: ['LatePayment', 'LatePayment'] });
    expect(again.status).toBe(200);
    const { webhooks } = (await again.json()) as WebhookList;
    expect(webhooks).toHaveLength(1);
    const mixed = await register({ postUrl, networkIds: [1, 2], events: ['LatePayment'] });
    expect(mixed.status).toBe(201);
    expect(await mixed.json()).toMatchObject({ totalResults: 2, webhooks: [webhooks[0], { networkId: 2 }] });
  });

  test('over the limit of the entity is 409 that says so, and registers nothing', async () => {
    const networkIds = Array.from({ length: 50 }, (_, index) => index + 100);
    const response = await register({ postUrl, networkIds, events: ['LatePayment'] });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({
      code: 'webhook_limit',
      detail: expect.stringContaining('at most 60'),
    });
    expect(await (await call(app, tenant, `${WEBHOOKS}?networkId=100`)).json()).toMatchObject({ totalResults: 0 });
  });
});
