import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ProblemError } from '../../src/client/errors.ts';
import { Paybell } from '../../src/client/paybell.ts';
import { verify } from '../../src/verify/verify.ts';
import type { Client, TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';

const ADMIN_KEY = 'an-operator-key-of-at-least-32-characters';

/** Everything that a client has been asked to do, by the method and path that went over the wire. */
function recording(service: Client, used: Set<string>, entityId?: string, apiKey = ADMIN_KEY): Paybell {
  return new Paybell({
    url: service.url,
    apiKey,
    ...(entityId === undefined ? {} : { entityId }),
    fetch: (url, init) => {
      used.add(`${init.method} ${new URL(url).pathname}`);
      return fetch(url, init);
    },
  });
}

onSuiteEngine('every method of the client', (store) => {
  let service: TestService;
  let receiver: Bun.Server<undefined>;
  const used = new Set<string>();

  beforeAll(async () => {
    service = await startTestService(store.url, { ADMIN_KEY });
    receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('taken') });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await receiver.stop(true);
  });

  const asOperator = () => recording(service.client(), used);
  const newClient = async () => {
    const { entityId, apiKey } = await asOperator().admin.createEntity({ name: 'Acme' });
    return recording(service.client(), used, entityId, apiKey);
  };

  test('webhooks: register, list, read, change, try, resume, count and delete', async () => {
    const { webhooks } = await newClient();
    const postUrl = `${receiver.url}hook`;
    const made = await webhooks.register({ postUrl, networkIds: [1, 10], events: ['LatePayment'] });
    expect(made.totalResults).toBe(2);
    const [first] = made.webhooks;
    const webhookId = first?.webhookId ?? '';
    expect<unknown>(await webhooks.get(webhookId)).toEqual(first);
    expect((await webhooks.list({ networkId: 1, sortBy: 'postUrl', sortDir: 'asc', limit: 5 })).totalResults).toBe(1);
    expect(await webhooks.sendTest(webhookId)).toMatchObject({ delivered: true, statusCode: 200, response: 'taken' });
    expect(await webhooks.health(webhookId)).toMatchObject({ webhookId, state: 'active' });
    expect<unknown>(await webhooks.resume(webhookId)).toEqual(first);
    const { networks } = await webhooks.coverage();
    expect(networks.find(({ networkId }) => networkId === 10)?.events).toContainEqual({
      event: 'LatePayment',
      webhooks: 1,
      suspended: 0,
      ownFinality: 0,
    });
    expect(await webhooks.setNoticeUrl(postUrl)).toEqual({ noticeUrl: postUrl });
    expect(await webhooks.noticeUrl()).toEqual({ noticeUrl: postUrl });

    const options = { finality: 12, filter: { token: ['USDC'], amount: { min: '10' } } };
    expect(await webhooks.replaceOptions(webhookId, options)).toEqual({
      ...options,
      appliesTo: 'payments first seen after this change',
    });
    expect(await webhooks.options(webhookId)).toEqual(options);
    expect(await webhooks.changeMatching({ webhookId }, { options: { filter: null } })).toEqual({ totalResults: 1 });
    expect(await webhooks.options(webhookId)).toEqual({ finality: 12, filter: null });

    const moved = { postUrl: `${postUrl}/moved` };
    expect(await webhooks.countChanging({ networkId: 10 }, moved)).toEqual({ totalResults: 1 });
    expect(await webhooks.changeMatching({ networkId: 10 }, moved)).toEqual({ totalResults: 1 });
    expect(await webhooks.countDeleting({ postUrl: moved.postUrl })).toEqual({ totalResults: 1 });
    expect(await webhooks.deleteMatching({ postUrl: moved.postUrl })).toEqual({ totalResults: 1 });

    const { etag } = await webhooks.getTagged(webhookId);
    expect(await webhooks.change(webhookId, moved, { ifMatch: etag })).toMatchObject(moved);
    const late = webhooks.delete(webhookId, { ifMatch: etag });
    expect(await late.catch((error: unknown) => error)).toMatchObject({ status: 412, code: 'precondition_failed' });
    expect(await webhooks.delete(webhookId)).toBeUndefined();
    const gone = await webhooks.get(webhookId).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(ProblemError);
    expect(gone).toMatchObject({ status: 404, code: 'not_found', errors: [], title: 'Not found' });
  });

  test('endpoints: list, read, change, pause, resume and rotate', async () => {
    const { endpoints, webhooks } = await newClient();
    for (const path of ['a', 'b']) {
      await webhooks.register({ postUrl: `${receiver.url}${path}`, networkIds: [1], events: ['LatePayment'] });
    }
    const { endpoints: found, totalResults } = await endpoints.list({ postUrl: `${receiver.url}a` });
    expect(totalResults).toBe(1);
    const endpointId = found[0]?.endpointId ?? '';
    const all = await Array.fromAsync(endpoints.listAll({ limit: 1 }));
    expect(all.map(({ postUrl }) => postUrl).toSorted()).toEqual([`${receiver.url}a`, `${receiver.url}b`]);
    expect(await endpoints.update(endpointId, { name: 'A', headers: { 'x-gate': 'v' } })).toMatchObject({
      name: 'A',
      headerNames: ['x-gate'],
    });
    expect(await endpoints.readFeed(endpointId)).toEqual({ firstSequence: 1, lastSequence: 0, deliveries: [] });
    expect(await endpoints.pause(endpointId)).toMatchObject({ state: 'paused' });
    expect(await endpoints.resume(endpointId)).toMatchObject({ state: 'active' });
    expect(await endpoints.rotateSecret(endpointId, { overlapHours: 1 })).toMatchObject({ totalResults: 1 });
    expect(await endpoints.secrets(endpointId)).toMatchObject({ source: 'own' });
    expect(await endpoints.get(endpointId)).toMatchObject({ secret: 'own', webhooks: 1 });
    expect(await endpoints.webhooks(endpointId, { limit: 1 })).toMatchObject({ totalResults: 1 });
  });

  test('events and deliveries: publish, follow, send again', async () => {
    const { events, deliveries, webhooks, stats } = await withStats(newClient);
    await webhooks.register({ postUrl: `${receiver.url}hook`, networkIds: [1], events: ['LatePayment'] });
    const { eventId, deliveries: fanOut } = await events.publish({
      event: 'LatePayment',
      networkId: 1,
      amount: '25.00',
    });
    expect(eventId).toMatch(/^evt_[0-9a-f]{32}$/);
    expect(fanOut).toBe(1);
    expect(await events.get(eventId)).toMatchObject({ event: 'LatePayment', deliveries: 1 });

    const text = '{"amount":123456789012345678901234567890,"event":"LatePayment","networkId":1,"eventId":"exact"}';
    expect(await events.publishText(text)).toEqual({ eventId: 'exact', deliveries: 1 });
    expect((await events.get('exact')).body).toBe(text);

    const { results } = await events.publishBatch([
      { event: 'LatePayment', networkId: 1, eventId: 'in-a-batch' },
      { event: 'NoSuchEvent', networkId: 1 },
    ]);
    expect(results).toMatchObject([
      { status: 202, eventId: 'in-a-batch', code: null },
      { status: 400, eventId: null, code: 'invalid_request' },
    ]);
    expect((await events.list({ event: 'LatePayment' })).totalResults).toBe(3);

    const { deliveries: found } = await deliveries.list({ eventId: 'exact' });
    const deliveryId = found[0]?.deliveryId ?? '';
    expect(await deliveries.counts({ eventId: 'exact' })).toMatchObject({ total: 1 });
    expect(await deliveries.get(deliveryId)).toMatchObject({ deliveryId, body: text });
    expect(await deliveries.redeliver(deliveryId)).toMatchObject({ deliveryId });
    expect(await deliveries.countRedelivering({ eventId: 'exact' })).toEqual({ totalResults: 1 });
    const round = await deliveries.redeliverMatching({ eventId: 'exact' });
    expect(await deliveries.redelivery(round.redeliveryId)).toMatchObject({ totalResults: 1 });
    expect(await stats({ interval: 'minute' })).toMatchObject({ interval: 'minute' });
  });

  test('reconciliation: the sums of a day, and what is only in a list of one’s own', async () => {
    const client = await newClient();
    const query = { day: new Date().toISOString().slice(0, 10) };
    expect(await client.reconcile(query, [])).toMatchObject({ agrees: true, paybell: { events: 0 } });
    const unknown = { eventId: 'unknown', event: 'LatePayment' };
    const { differences } = await client.reconcile(query, [unknown]);
    expect(differences).toEqual([{ eventId: 'unknown', difference: 'unknown', paybell: null, yours: unknown }]);
  });

  test('payments: list, search and read', async () => {
    const { payments } = await newClient();
    expect(await payments.list({ q: '25', state: 'final' })).toEqual({
      totalResults: 0,
      isTotalExact: true,
      payments: [],
    });
    expect(await Array.fromAsync(payments.listAll())).toEqual([]);
    expect(await payments.get('pay_none').catch((error: unknown) => error)).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  test('invoices: create, list, read, cancel and check', async () => {
    const { invoices } = await newClient();
    const failing = (call: Promise<unknown>) => call.catch((error: unknown) => error);
    const dateExpires = Math.floor(Date.now() / 1000) + 3_600;
    const address = `0x${'1'.repeat(40)}`;
    const invoice = { networkId: 8453, token: address, address, amount: '25', dateExpires, reference: 'order 1' };
    expect(await failing(invoices.create(invoice))).toMatchObject({ status: 409, code: 'network_not_followed' });
    const { results } = await invoices.createBatch([invoice, { ...invoice, amount: '0' }]);
    expect(results.map(({ code }) => code)).toEqual(['network_not_followed', 'invalid_request']);
    expect(await invoices.list({ q: 'order 1', watch: 'on' })).toEqual({ totalResults: 0, invoices: [] });
    expect(await Array.fromAsync(invoices.listAll())).toEqual([]);
    for (const method of ['get', 'cancel', 'check'] as const) {
      expect(await failing(invoices[method]('inv_none'))).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('sources, facts and networks: create, try, list, read and delete', async () => {
    const { sources, facts, chains } = await newClient();
    const failing = (call: Promise<unknown>) => call.catch((error: unknown) => error);
    const source = { networkId: 8453, preset: 'loop', contract: `0x${'1'.repeat(40)}` } as const;
    expect(await failing(sources.create(source))).toMatchObject({ status: 409, code: 'network_not_followed' });
    const transaction = { networkId: 8453, transactionHash: `0x${'2'.repeat(64)}` };
    expect(await failing(sources.preview(transaction))).toMatchObject({ status: 409, code: 'network_not_followed' });
    expect(await failing(sources.previewRecent(source))).toMatchObject({ status: 409, code: 'network_not_followed' });
    expect(await sources.list({ networkId: 8453, state: 'live' })).toEqual({ totalResults: 0, sources: [] });
    expect(await Array.fromAsync(sources.listAll())).toEqual([]);
    expect(await failing(sources.get('src_none'))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await failing(sources.update('src_none', { name: 'x' }))).toMatchObject({ status: 404, code: 'not_found' });
    const [book, address] = ['src_none', `0x${'1'.repeat(40)}`];
    expect(await failing(sources.addAddresses(book, [{ address }]))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await failing(sources.removeAddresses(book, [address]))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await failing(sources.listAddresses(book))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await failing(Array.fromAsync(sources.listAllAddresses(book)))).toMatchObject({ status: 404 });
    expect(await failing(sources.delete('src_none'))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await facts.list({ transferId: 't-1', state: 'final' })).toEqual({ totalResults: 0, facts: [] });
    expect(await Array.fromAsync(facts.listAll())).toEqual([]);
    expect(await failing(facts.get('fct_none'))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await chains.list()).toEqual({ chains: [] });
  });

  test('listen sessions: create, read, report and end', async () => {
    const { listenSessions, events } = await newClient();
    const { sessionId, secret } = await listenSessions.create({ networkIds: [1], filter: { token: ['USDC'] } });
    for (const token of ['DAI', 'USDC', 'USDC']) await events.publish({ event: 'LatePayment', networkId: 1, token });
    const seen: string[] = [];
    for await (const { deliveryId, token, headers, body } of listenSessions.requests(sessionId)) {
      expect(headers['webhook-id']).toBe(deliveryId);
      expect(await verify(body, headers, secret)).toMatchObject({ event: 'LatePayment', token: 'USDC' });
      expect(
        await listenSessions.report(sessionId, { deliveryId, token, statusCode: 200, durationMs: 3 }),
      ).toBeUndefined();
      seen.push(deliveryId);
      if (seen.length === 2) break;
    }
    expect(new Set(seen).size).toBe(2);
    expect(await listenSessions.end(sessionId)).toBeUndefined();
    const [gone] = await Promise.allSettled([listenSessions.requests(sessionId).next()]);
    expect(gone).toMatchObject({ status: 'rejected', reason: { status: 404, code: 'not_found' } });
  });

  test('secrets, audit and the operator’s commands', async () => {
    const client = await newClient();
    const before = await client.secrets.list();
    const imported = await client.secrets.import({ secret: 'a secret from elsewhere' });
    expect(imported.secrets[0]?.importedText).toBe('a secret from elsewhere');
    const after = await client.secrets.rotate({ overlapHours: 1 });
    expect([before.totalResults, after.totalResults]).toEqual([1, 3]);
    const { keyId: newKeyId } = await client.keys.create({ name: 'Desk', permissions: ['deliveries:read'] });
    expect((await client.keys.list({ keyId: newKeyId })).keys).toMatchObject([{ keyId: newKeyId, name: 'Desk' }]);
    expect(await Array.fromAsync(client.keys.listAll())).toHaveLength(2);
    expect(await client.keys.revoke(newKeyId)).toMatchObject({ dateRevoked: expect.any(Number) });
    expect(await client.entity()).toMatchObject({ name: 'Acme', dateExpires: null });
    expect((await client.audit.list({ action: 'secret.rotated' })).totalResults).toBe(1);
    const { publicKeys } = await client.secrets.rotateSigningKey({ overlapHours: 1 });
    const { keys } = await client.secrets.keySet();
    expect(keys.map(({ kid }) => kid)).toEqual(publicKeys.map(({ keyId }) => keyId));

    const { admin } = asOperator();
    const { entityId } = await admin.createEntity({ name: 'Umbrella' });
    expect((await admin.listEntities({ name: 'Umbrella' })).entities).toMatchObject([{ entityId }]);
    expect(await admin.listAttention({ search: 'umbr' })).toMatchObject({ needAttention: 0, entities: [{ entityId }] });
    expect(await admin.visitEntity(entityId)).toMatchObject({ entityId, name: 'Umbrella' });
    const { keyId } = await admin.createKey({ entityId, permissions: ['events:write'] });
    expect((await admin.listKeys({ keyId })).keys).toMatchObject([{ keyId, dateRevoked: null }]);
    expect(await admin.revokeKey(keyId)).toMatchObject({ keyId, dateRevoked: expect.any(Number) });
    const acting = asOperator().forEntity(entityId);
    expect(await acting.webhooks.list()).toEqual({ totalResults: 0, webhooks: [] });
  });

  test('together send every operation of the OpenAPI document, and no other', async () => {
    const response = await fetch(`${service.client().url}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        name: `${method.toUpperCase()} ${path}`,
        pattern: new RegExp(`^${method.toUpperCase()} ${path.replace(/\{\w+\}/, '[^/]+')}$`),
      })),
    );
    expect(operations.length).toBeGreaterThan(30);
    const notSent = operations.filter(({ pattern }) => ![...used].some((call) => pattern.test(call)));
    const notDescribed = [...used].filter((call) => !operations.some(({ pattern }) => pattern.test(call)));
    expect({ notSent: notSent.map(({ name }) => name), notDescribed }).toEqual({ notSent: [], notDescribed: [] });
  });
});

/** `stats` stands alone, and a method taken off its object would lose it. */
async function withStats(newClient: () => Promise<Paybell>) {
  const client = await newClient();
  const { events, deliveries, webhooks } = client;
  return { events, deliveries, webhooks, stats: client.stats.bind(client) };
}
