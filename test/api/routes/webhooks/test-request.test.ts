import { beforeEach, expect, test } from 'bun:test';
import { Webhook as Verifier } from 'standardwebhooks';
import type { App } from '../../../../src/api/app.ts';
import { loadConfig } from '../../../../src/config.ts';
import type { Delivery } from '../../../../src/contract/deliveries.ts';
import { sampleEvent } from '../../../../src/contract/events/samples.ts';
import { testResponseSchema } from '../../../../src/contract/webhook-health.ts';
import { createAttemptTools } from '../../../../src/delivery/attempt.ts';
import { createSender } from '../../../../src/delivery/sender.ts';
import { sendTestRequest } from '../../../../src/delivery/test-request.ts';
import { EVENT_KINDS } from '../../../../src/domain/event-kinds.ts';
import { readHealth } from '../../../../src/store/webhooks/health.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_BOX, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { readDeliveries } from '../../../support/deliveries.ts';
import { freePort } from '../../../support/free-port.ts';
import { Ledger } from '../../../support/ledger.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';
import { register } from '../../../support/webhooks.ts';

const API = '/api/v1/crypto';
const NOW_S = 1_763_168_400;
const LOOPBACK = { ALLOW_INSECURE_TARGETS: 'true', DELIVERY_TIMEOUT: '60s' };

onSuiteEngine('a test post', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, LOOPBACK, { nowMs: () => NOW_S * 1000 });
    tenant = await createTenant(store.db);
  });

  const registered = async (postUrl: string, event = 'LatePayment', networkId = 1) =>
    (await register(store.db, tenant.entityId, postUrl, [{ networkId, event }])).webhooks[0]?.webhookId ?? '';
  const tryOut = async (webhookId: string, through = app) => {
    const response = await call(through, tenant, `${WEBHOOKS}/${webhookId}/test`, { method: 'POST' });
    expect(response.status).toBe(200);
    return testResponseSchema.parse(await response.json());
  };
  const logged = async () => {
    const { deliveries } = (await (await call(app, tenant, `${API}/deliveries`)).json()) as {
      deliveries: Delivery[];
    };
    return Promise.all(
      deliveries.map(async ({ deliveryId }) => (await call(app, tenant, `${API}/deliveries/${deliveryId}`)).json()),
    );
  };

  test('of each kind and network is a marked, signed sample, and returns the response of the receiver', async () => {
    await using receiver = new Ledger(() => new Response('thanks', { status: 201 }));
    const { secrets } = (await (await call(app, tenant, `${API}/webhooks/secret`)).json()) as {
      secrets: { secret: string }[];
    };
    const verifier = new Verifier(secrets[0]?.secret ?? '');
    for (const event of [...EVENT_KINDS, 'RefundIssued']) {
      for (const networkId of [8453, 900]) {
        const response = await tryOut(await registered(receiver.url(), event, networkId));
        expect(response).toEqual({
          delivered: true,
          statusCode: 201,
          error: null,
          durationMs: expect.any(Number),
          response: 'thanks',
        });
        const post = receiver.requests.at(-1);
        const body = new TextDecoder().decode(post?.body);
        expect(JSON.parse(body)).toEqual({ ...sampleEvent(event, networkId, post?.eventId ?? '', NOW_S), test: true });
        expect(verifier.verify(body, post?.headers ?? {})).toMatchObject({ event, networkId, test: true });
      }
    }
    expect(receiver.requests).toHaveLength(16);
  });

  test('leaves a delivery with one attempt of its own kind, with the body as it was sent', async () => {
    await using receiver = new Ledger(() => new Response('ok'));
    const webhookId = await registered(receiver.url('/path?query=1'));
    await tryOut(webhookId);
    const post = receiver.requests[0];
    expect(await logged()).toEqual([
      {
        deliveryId: post?.deliveryId,
        kind: 'test',
        eventId: post?.eventId,
        webhookId,
        event: 'LatePayment',
        networkId: 1,
        postUrl: receiver.url('/path?query=1'),
        status: 'delivered',
        attempts: 1,
        dateCreated: expect.any(Number),
        dateNextAttempt: null,
        dateDelivered: expect.any(Number),
        lastStatusCode: 200,
        lastError: null,
        endpointId: null,
        sequence: null,
        supersededBy: null,
        body: new TextDecoder().decode(post?.body),
        retractedBy: null,
        waitsFor: null,
        summary: expect.objectContaining({ amount: '25.00', token: 'USDC' }),
        factId: null,
        attemptLog: [
          {
            attempt: 1,
            kind: 'test',
            postUrl: receiver.url('/path?query=1'),
            startedAtMs: expect.any(Number),
            durationMs: expect.any(Number),
            statusCode: 200,
            error: null,
            response: 'ok',
            requestHeaders: expect.any(Array),
            responseHeaders: null,
          },
        ],
      },
    ]);
    const event = await call(app, tenant, `${API}/events/${post?.eventId}`);
    expect(await event.json()).toMatchObject({ deliveries: 1, body: new TextDecoder().decode(post?.body) });
  });

  test('that is refused by the receiver ends there: failed, with the status, and never retried', async () => {
    await using receiver = new Ledger(() => new Response('no such order', { status: 404 }));
    const response = await tryOut(await registered(receiver.url()));
    expect(response).toMatchObject({ delivered: false, statusCode: 404, error: null, response: 'no such order' });
    expect(await logged()).toMatchObject([
      { status: 'failed', attempts: 1, dateNextAttempt: null, dateDelivered: null, lastStatusCode: 404 },
    ]);
    expect((await readDeliveries(store.db, tenant.entityId)).map(({ dueMs }) => dueMs)).toEqual([null]);
  });

  test('to a closed port reports refused, and to a receiver that never responds timeout', async () => {
    await using receiver = new Ledger(() => new Promise(() => undefined));
    const closed = await tryOut(await registered(`http://127.0.0.1:${freePort()}/`));
    expect(closed).toMatchObject({ delivered: false, statusCode: null, error: 'refused', response: null });
    const hurried = testApp(store.db, { ...LOOPBACK, DELIVERY_TIMEOUT: '500ms' });
    const silent = await tryOut(await registered(receiver.url()), hurried);
    expect(silent).toMatchObject({ delivered: false, statusCode: null, error: 'timeout', response: null });
    expect(silent.durationMs).toBeGreaterThanOrEqual(490);
    const errors = (await logged()).map((delivery) => (delivery as Delivery).lastError);
    expect(errors.toSorted()).toEqual(['refused', 'timeout']);
  });

  test('to a name that leads to a private address says so, dials nothing, and keeps nothing of any response', async () => {
    await using receiver = new Ledger();
    const dialled: string[] = [];
    const strict = testApp(
      store.db,
      {},
      {
        sendTest: (...post) => {
          const tools = createAttemptTools(loadConfig({}), store.db, TEST_BOX);
          const sender = createSender({
            timeoutMs: 60_000,
            allowInsecureTargets: false,
            userAgent: 'test',
            resolve: async () => ['127.0.0.1'],
            client: async ({ peer }) => {
              dialled.push(peer.address);
              return { status: 200, retryAfter: null, body: '' };
            },
          });
          return sendTestRequest({ ...tools, sender }, ...post);
        },
      },
    );
    const webhookId = await registered('https://rebinding.example.com/');
    const response = await call(strict, tenant, `${WEBHOOKS}/${webhookId}/test`, { method: 'POST' });
    expect(await response.json()).toEqual({
      delivered: false,
      statusCode: null,
      error: 'blocked_address',
      durationMs: expect.any(Number),
      response: null,
    });
    expect([dialled, receiver.requests]).toEqual([[], []]);
    expect(await logged()).toMatchObject([
      { status: 'failed', lastError: 'blocked_address', attemptLog: [{ kind: 'test', response: null }] },
    ]);
  });

  test('is sent to a suspended webhook too, and changes neither its health nor its suspension', async () => {
    await using receiver = new Ledger();
    const webhookId = await registered(receiver.url());
    await suspendWebhook(store.db, tenant.entityId, webhookId, 'failing', TEST_CHANGE);
    const before = await readHealth(store.db, tenant.entityId, webhookId);
    expect(before).toMatchObject({ state: 'suspended', reason: 'failing' });
    expect(await tryOut(webhookId)).toMatchObject({ delivered: true });
    expect(await readHealth(store.db, tenant.entityId, webhookId)).toEqual(before);
  });

  test('does not suspend the webhook after 410', async () => {
    await using receiver = new Ledger(() => new Response(null, { status: 410 }));
    const webhookId = await registered(receiver.url());
    expect(await tryOut(webhookId)).toMatchObject({ delivered: false, statusCode: 410 });
    expect(await readHealth(store.db, tenant.entityId, webhookId)).toMatchObject({
      state: 'active',
      failuresInARow: 0,
      dateLastFailure: null,
    });
  });

  test('shows of a long response only its beginning, and of an unreadable one what can be stored', async () => {
    const bodies = ['x'.repeat(1_000_000), 'a\0b', new Uint8Array([0xff, 0xfe, 0x41])];
    await using receiver = new Ledger(() => new Response(bodies.shift() ?? ''));
    const webhookId = await registered(receiver.url());
    const long = await tryOut(webhookId);
    expect(long.response?.length ?? 0).toBeLessThan(100_000);
    expect((await tryOut(webhookId)).response).not.toContain('\0');
    expect((await tryOut(webhookId)).delivered).toBe(true);
    expect(await logged()).toHaveLength(3);
  });

  test('of a webhook that is gone or never was is 404, and posts nothing', async () => {
    await using receiver = new Ledger();
    const webhookId = await registered(receiver.url());
    await call(app, tenant, `${WEBHOOKS}/${webhookId}`, { method: 'DELETE' });
    for (const id of [webhookId, 'wh_none']) {
      await expectProblem(await call(app, tenant, `${WEBHOOKS}/${id}/test`, { method: 'POST' }), 'not_found');
    }
    expect(receiver.requests).toEqual([]);
  });

  test('is one of sixteen at a time at most: an entity with a receiver that hangs cannot hold thousands open', async () => {
    const released = Promise.withResolvers<void>();
    await using receiver = new Ledger(async () => {
      await released.promise;
      return new Response('late');
    });
    const webhookId = await registered(receiver.url());
    let answered = 0;
    const tries = Array.from({ length: 40 }, async () => {
      const response = await call(app, tenant, `${WEBHOOKS}/${webhookId}/test`, { method: 'POST' });
      answered++;
      return response;
    });
    // Another entity has its own sixteen.
    const other = await createTenant(store.db);
    const theirs = (
      await register(store.db, other.entityId, receiver.url('/other'), [{ networkId: 1, event: 'LatePayment' }])
    ).webhooks;
    const fromOther = call(app, other, `${WEBHOOKS}/${theirs[0]?.webhookId}/test`, { method: 'POST' });
    await until(
      'all that may be are on their way, and the others are refused',
      () => receiver.requests.length === 17 && answered === 24,
    );
    released.resolve();
    const statuses = (await Promise.all(tries)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(16).fill(200), ...Array(24).fill(429)]);
    expect((await fromOther).status).toBe(200);
    expect(receiver.requests).toHaveLength(17);
    expect((await tryOut(webhookId)).delivered).toBe(true);
  });
});
