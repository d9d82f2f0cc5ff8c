import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Coverage, Webhook, WebhookList } from '../../../../src/contract/webhooks.ts';
import { EVENT_KINDS } from '../../../../src/domain/event-kinds.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const COVERAGE = '/api/v1/crypto/webhooks/coverage';
const SETTINGS = { NETWORKS: '8453,1', EXTRA_EVENTS: 'RefundIssued' };
const KNOWN_EVENTS = [...EVENT_KINDS, 'RefundIssued'];

onSuiteEngine('the grid of networks and events', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, SETTINGS);
    tenant = await createTenant(store.db);
  });

  const read = async (by = app) => (await (await call(by, tenant, COVERAGE)).json()) as Coverage;
  const register = async (path: string, networkIds: number[], events: string[], by = app): Promise<Webhook[]> => {
    const json = { postUrl: `https://example.com/${path}`, networkIds, events };
    return ((await (await call(by, tenant, WEBHOOKS, { json })).json()) as WebhookList).webhooks;
  };
  const suspend = ({ webhookId }: Webhook) => suspendWebhook(store.db, tenant.entityId, webhookId, 'gone', TEST_CHANGE);
  /** Only what is not empty: `network event webhooks/suspended`. */
  const filled = ({ networks }: Coverage) =>
    networks.flatMap(({ networkId, events }) =>
      events
        .filter(({ webhooks, suspended }) => webhooks + suspended > 0)
        .map(({ event, webhooks, suspended }) => `${networkId} ${event} ${webhooks}/${suspended}`),
    );

  test('of a new entity is one gap: every known network with every known event, and zeros', async () => {
    const gap = KNOWN_EVENTS.map((event) => ({ event, webhooks: 0, suspended: 0, ownFinality: 0 }));
    expect(await read()).toEqual({
      networks: [
        { networkId: 1, events: gap },
        { networkId: 8453, events: gap },
      ],
    });
  });

  test('counts what is registered and shows the gaps beside it', async () => {
    await register('one', [1], ['LatePayment', 'RefundIssued']);
    await register('two', [1, 8453], ['LatePayment']);
    const grid = await read();
    expect(filled(grid)).toEqual(['1 LatePayment 2/0', '1 RefundIssued 1/0', '8453 LatePayment 1/0']);
    for (const { events } of grid.networks) expect(events.map(({ event }) => event)).toEqual(KNOWN_EVENTS);
  });

  test('shows networks and events that the settings no longer name, as long as something is registered', async () => {
    const [webhook] = await register('far', [9_007_199_254_740_991], ['RefundIssued']);
    const plain = testApp(store.db, { NETWORKS: '1' });
    const grid = await read(plain);
    expect(grid.networks.map(({ networkId }) => networkId)).toEqual([1, 9_007_199_254_740_991]);
    for (const { events } of grid.networks) expect(events.map(({ event }) => event)).toEqual(KNOWN_EVENTS);
    expect(filled(grid)).toEqual(['9007199254740991 RefundIssued 1/0']);

    await call(plain, tenant, `${WEBHOOKS}/${webhook?.webhookId}`, { method: 'DELETE' });
    const after = await read(plain);
    expect(after.networks.map(({ networkId }) => networkId)).toEqual([1]);
    expect(after.networks[0]?.events.map(({ event }) => event)).toEqual([...EVENT_KINDS]);
  });

  test('counts the suspended among the registered, until they are resumed or deleted', async () => {
    const [first, second] = (await register('a', [1], ['LatePayment', 'TransferCreated'])) as [Webhook, Webhook];
    await register('b', [1], ['LatePayment']);
    expect(await suspend(first)).toBe(true);
    expect(await suspend(second)).toBe(true);
    expect(filled(await read())).toEqual(['1 TransferCreated 1/1', '1 LatePayment 2/1']);

    await call(app, tenant, `${WEBHOOKS}/${first.webhookId}/resume`, { method: 'POST' });
    await call(app, tenant, `${WEBHOOKS}/${second.webhookId}`, { method: 'DELETE' });
    expect(filled(await read())).toEqual(['1 LatePayment 2/0']);
  });

  test('counts the webhooks whose finality is not the default of their event kind', async () => {
    const [webhook] = (await register('a', [1], ['TransferProcessed', 'AgreementSignedUp'])) as [Webhook, Webhook];
    await register('b', [1], ['TransferProcessed']);
    const setFinality = (finality: unknown) =>
      call(app, tenant, `${WEBHOOKS}/${webhook.webhookId}/options`, {
        method: 'PUT',
        json: { finality, filter: null },
      });
    const counted = ({ networks }: Coverage) =>
      networks.flatMap(({ events }) => events).filter(({ ownFinality }) => ownFinality > 0);
    const cell = { event: webhook.event, webhooks: webhook.event === 'TransferProcessed' ? 2 : 1, suspended: 0 };
    expect(counted(await read())).toEqual([]);
    await setFinality('safe');
    expect(counted(await read())).toEqual([{ ...cell, ownFinality: 1 }]);
    await setFinality(null);
    expect(counted(await read())).toEqual([]);
  });

  test('shows nothing of another entity', async () => {
    const [webhook] = (await register('mine', [1], ['LatePayment'])) as [Webhook];
    await suspend(webhook);
    tenant = await createTenant(store.db);
    expect(filled(await read())).toEqual([]);
  });

  test('is 304 until something changes, and a suspension is a change', async () => {
    const [webhook] = (await register('tagged', [1], ['LatePayment'])) as [Webhook];
    const etag = (await call(app, tenant, COVERAGE)).headers.get('etag') ?? '';
    const again = () => call(app, tenant, COVERAGE, { headers: { 'if-none-match': etag } });
    expect((await again()).status).toBe(304);
    await suspend(webhook);
    expect((await again()).status).toBe(200);
  });

  test('takes no parameters', async () => {
    const problem = await expectProblem(await call(app, tenant, `${COVERAGE}?networkId=1`), 'invalid_request');
    expect(Object.keys(messagesByName(problem))).toEqual(['networkId']);
  });
});
