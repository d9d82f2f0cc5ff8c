import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Endpoint, EndpointList } from '../../../../src/contract/endpoints/endpoint.ts';
import {
  type EndpointWebhookList,
  endpointWebhookListSchema,
} from '../../../../src/contract/endpoints/endpoint-webhooks.ts';
import { ENDPOINT_STATES } from '../../../../src/domain/endpoints/settings.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import {
  acceptMany,
  completeAll,
  failedWith,
  forgetDeliveries,
  HOOK,
  LATE_ON_1,
  letPass,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../../support/deliveries.ts';
import { endpointIdOf } from '../../../support/endpoints.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';
import { register } from '../../../support/webhooks.ts';

const ENDPOINTS = '/api/v1/crypto/endpoints';
const PAYMENT_ON_1 = { networkId: 1, event: 'TransferProcessed' };
const WELL = 'https://well.example.com/hook';

onSuiteEngine('the health of endpoints', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  afterEach(() => forgetDeliveries(store.db));

  const list = async (query = ''): Promise<EndpointList> =>
    (await (await call(app, tenant, `${ENDPOINTS}${query}`)).json()) as EndpointList;

  /** One failed attempt for HOOK, and a successful one for WELL. */
  const attemptBoth = async (failure: ReturnType<typeof respondedWith>) => {
    for (const postUrl of [HOOK, WELL]) await register(store.db, tenant.entityId, postUrl, [LATE_ON_1, PAYMENT_ON_1]);
    await acceptMany(store.db, tenant.entityId, 1);
    const sender = new ScriptedSender(({ postUrl }) => (postUrl === WELL ? respondedWith(200) : failure));
    await withEngine(store.db, sender, () =>
      until('the failure is recorded', async () => (await list('?state=failing')).totalResults === 1),
    );
  };

  test('one that fails has the status of its last attempt, and is found by it', async () => {
    await attemptBoth(respondedWith(503));
    expect(await list('?state=failing')).toMatchObject({
      totalResults: 1,
      endpoints: [
        { postUrl: HOOK, state: 'failing', lastStatusCode: 503, lastError: null, dateFailingSince: expect.any(Number) },
      ],
    });
    expect(await list('?state=active')).toMatchObject({
      totalResults: 1,
      endpoints: [{ postUrl: WELL, state: 'active', lastStatusCode: null, lastError: null, dateFailingSince: null }],
    });
    for (const query of ['state=broken', 'failing=true']) {
      await expectProblem(await call(app, tenant, `${ENDPOINTS}?${query}`), 'invalid_request');
    }
  });

  test('the state is the first that applies of paused, suspended, failing and active', async () => {
    await attemptBoth(respondedWith(503));
    const id = await endpointIdOf(store.db, tenant.entityId, HOOK);
    const expectState = async (state: Endpoint['state']) => {
      const listed = await list(`?state=${state}&postUrl=${HOOK}`);
      expect(listed).toMatchObject({ totalResults: 1, endpoints: [{ state, paused: state === 'paused' }] });
      expect(await (await call(app, tenant, `${ENDPOINTS}/${id}`)).json()).toMatchObject({ state });
      for (const other of ENDPOINT_STATES.filter((each) => each !== state)) {
        expect((await list(`?state=${other}&postUrl=${HOOK}`)).totalResults).toBe(0);
      }
    };
    const change = (json: object) => call(app, tenant, `${ENDPOINTS}/${id}`, { method: 'PATCH', json });
    await expectState('failing');
    await change({ paused: true });
    await expectState('paused');
    const response = await call(app, tenant, `${ENDPOINTS}/${id}/webhooks`);
    const { webhooks } = (await response.json()) as EndpointWebhookList;
    const idle = webhooks.find(({ dateFailingSince }) => dateFailingSince === null)?.webhookId ?? '';
    await suspendWebhook(store.db, tenant.entityId, idle, 'gone', TEST_CHANGE);
    await expectState('paused');
    await change({ paused: false });
    await expectState('suspended');
  });

  test('one that cannot be reached has the error, also after its deliveries have failed for good', async () => {
    await attemptBoth(failedWith('refused'));
    const id = await endpointIdOf(store.db, tenant.entityId, HOOK);
    const one = async () => (await call(app, tenant, `${ENDPOINTS}/${id}`)).json();
    expect(await one()).toMatchObject({ lastStatusCode: null, lastError: 'refused' });
    await letPass(store.db, tenant.entityId, 3_600_000);
    await completeAll(store.db, tenant.entityId, 'failed');
    expect(await one()).toMatchObject({ waiting: 0, lastStatusCode: 500, lastError: null });
    expect((await list('?state=failing')).endpoints).toEqual([expect.objectContaining({ postUrl: HOOK })]);
  });

  test('its webhooks have their state and what waits, newest first, page by page', async () => {
    const { webhooks } = await register(store.db, tenant.entityId, HOOK, [LATE_ON_1, PAYMENT_ON_1]);
    await register(store.db, tenant.entityId, WELL, [LATE_ON_1]);
    await acceptMany(store.db, tenant.entityId, 2);
    const late = webhooks.find(({ event }) => event === LATE_ON_1.event)?.webhookId ?? '';
    await suspendWebhook(store.db, tenant.entityId, late, 'gone', TEST_CHANGE);
    const id = await endpointIdOf(store.db, tenant.entityId, HOOK);
    const read = async (query = '') => {
      const response = await call(app, tenant, `${ENDPOINTS}/${id}/webhooks${query}`);
      expect(response.status).toBe(200);
      return (await response.json()) as EndpointWebhookList;
    };
    const all = await read();
    expect(endpointWebhookListSchema.parse(all)).toEqual(all);
    expect(all.totalResults).toBe(2);
    expect(all.webhooks.map(({ webhookId }) => webhookId)).toEqual(
      webhooks.map(({ webhookId }) => webhookId).reverse(),
    );
    expect(all.webhooks.find(({ webhookId }) => webhookId === late)).toMatchObject({
      ...LATE_ON_1,
      ...{ state: 'suspended', reason: 'gone', waiting: 2 },
    });
    expect(all.webhooks.find(({ event }) => event === PAYMENT_ON_1.event)).toMatchObject({
      ...{ state: 'active', reason: null, waiting: 0, dateFailingSince: null },
    });
    expect((await read('?limit=1&page=2')).webhooks).toEqual(all.webhooks.slice(1));
  });
});
