import { expect, test } from 'bun:test';
import { revokeApiKey } from '../../src/store/tenants/api-keys.ts';
import { createTenant, TEST_CHANGE, WEBHOOKS } from '../support/api.ts';
import { cleanUpAfterEach } from '../support/clean-up.ts';
import { HOOK, LATE_ON_1 } from '../support/deliveries.ts';
import { endpointIdOf } from '../support/endpoints.ts';
import { firstCredentials, servePaybell, tempFolder } from '../support/paybell.ts';
import { startTestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { register } from '../support/webhooks.ts';

const ENDPOINTS = '/api/v1/crypto/endpoints';
const STREAM = { accept: 'text/event-stream' };

const cleanUp = cleanUpAfterEach();

test('SIGTERM ends open feeds before requests are drained, and none is cut off', async () => {
  const { path, remove } = tempFolder();
  cleanUp.push(remove);
  const served = await servePaybell(path, { FEED_LIMIT: '2' });
  cleanUp.push(() => served.child.kill('SIGKILL'));
  const { apiKey, entityId } = firstCredentials(served.stdout()) ?? { apiKey: '', entityId: '' };
  const headers = { 'api-key': apiKey, 'entity-id': entityId };
  const body = JSON.stringify({ postUrl: HOOK, networkIds: [1], events: ['LatePayment'] });
  const registering = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  expect((await fetch(served.url + WEBHOOKS, registering)).status).toBe(201);
  const list = (await (await fetch(served.url + ENDPOINTS, { headers })).json()) as {
    endpoints: { endpointId: string }[];
  };
  const feed = `${served.url}${ENDPOINTS}/${list.endpoints[0]?.endpointId}/feed`;
  const stream = await fetch(feed, { headers: { ...headers, ...STREAM } });
  const waiting = fetch(`${feed}?wait=25`, { headers });
  await until('both are open', async () => (await fetch(`${feed}?wait=1`, { headers })).status === 429);
  const ending = served.stop();
  expect(await stream.text()).toStartWith('retry: 1000\n\n');
  expect(await (await waiting).json()).toMatchObject({ lastSequence: 0, deliveries: [] });
  const { exitCode, stdout } = await ending;
  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('pendingRequests');
});

onSuiteEngine('a feed of the running service', (store) => {
  test('ends by itself when its key is revoked, as a stream and while it waits', async () => {
    const tenant = await createTenant(store.db);
    await register(store.db, tenant.entityId, HOOK, [LATE_ON_1]);
    await using service = await startTestService(store.url);
    const headers = { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId };
    const feed = `${service.url}${ENDPOINTS}/${await endpointIdOf(store.db, tenant.entityId, HOOK)}/feed`;
    const stream = await fetch(feed, { headers: { ...headers, ...STREAM } });
    expect(stream.status).toBe(200);
    const waiting = fetch(`${feed}?wait=25`, { headers });
    await revokeApiKey(store.db, tenant.keyId, TEST_CHANGE);
    expect(await stream.text()).toStartWith('retry: 1000\n\n');
    expect((await waiting).status).toBe(401);
  });
});
