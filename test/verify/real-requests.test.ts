import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Paybell } from '../../src/client/paybell.ts';
import { sampleOf } from '../../src/contract/events/samples.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { verify } from '../../src/verify/verify.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

type Received = { path: string; body: ArrayBuffer; headers: Headers };

onSuiteEngine('what the service really sends', (store) => {
  let service: TestService;
  let client: Paybell;
  let receiver: Bun.Server<undefined>;
  const received: Received[] = [];

  beforeAll(async () => {
    receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname } = new URL(request.url);
        received.push({ path: pathname, body: await request.arrayBuffer(), headers: request.headers });
        return new Response(null, { status: pathname === '/gone' ? 410 : 204 });
      },
    });
    service = await startTestService(store.url, { SIGN_ASYMMETRIC: 'true' });
    client = new Paybell({ url: service.client().url, ...service.first });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await receiver.stop(true);
  });

  const arrived = async (path: string, count: number) => {
    const there = () => received.filter((request) => request.path === path);
    await until(`${count} requests came to ${path}`, () => there().length >= count);
    return there();
  };

  test('verifies with the newest secret, with the one before it, and with the public key alone', async () => {
    const [old] = (await client.secrets.list()).secrets;
    const { secrets, publicKey } = await client.secrets.rotate();
    await client.webhooks.register({ postUrl: `${receiver.url}one`, networkIds: [1], events: ['LatePayment'] });
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    const [request] = await arrived('/one', 1);
    for (const key of [secrets[0]?.secret, old?.secret, publicKey]) {
      expect((await verify(request?.body ?? '', request?.headers ?? {}, key ?? '')).event).toBe('LatePayment');
    }
  });

  test('has the payload of each of the seven kinds as it was published', async () => {
    const nowS = Math.floor(Date.now() / 1000);
    // Each about something else: a transfer would end the reminder to pay it.
    const samples = EVENT_KINDS.map((event) => ({
      ...sampleOf(event, 2, `evt-${event}`, nowS),
      ...{ agreementId: `agr-${event}`, transferId: `trf-${event}` },
    }));
    await client.webhooks.register({ postUrl: `${receiver.url}all`, networkIds: [2] });
    await client.events.publishBatch(samples);
    const { publicKey } = await client.secrets.list();
    const events = await Promise.all(
      (await arrived('/all', 7)).map(({ body, headers }) => verify(body, headers, publicKey)),
    );
    const byKind = (events: readonly { event: string }[]) =>
      Object.fromEntries(events.map((event) => [event.event, event]));
    expect(byKind(events)).toEqual(byKind(samples));
  });

  test('alerts that a webhook was suspended with the fields of its type', async () => {
    await client.webhooks.setNoticeUrl(`${receiver.url}alerts`);
    const { webhooks } = await client.webhooks.register({
      postUrl: `${receiver.url}gone`,
      networkIds: [3],
      events: ['LatePayment'],
    });
    await client.events.publish({ event: 'LatePayment', networkId: 3 });
    const [alert] = await arrived('/alerts', 1);
    const { publicKey } = await client.secrets.list();
    const event = await verify(alert?.body ?? '', alert?.headers ?? {}, publicKey);
    if (event.event !== 'webhook.suspended') throw new Error(`it is ${event.event}`);
    const { dateCreated: _, ...webhook } = webhooks[0] ?? {};
    expect([event.reason, event.webhook as object]).toEqual(['gone', webhook]);
    expect([typeof event.eventId, typeof event.dateSuspended]).toEqual(['string', 'number']);
  });
});
