import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openDatabase } from '../../src/store/database/open.ts';
import { commandLine, TEST_SECRET_KEY } from '../support/command-line.ts';
import { wrongDeliveryCounters } from '../support/delivery-counters.ts';
import { Ledger } from '../support/ledger.ts';
import { type Client, type Credentials, startTestService } from '../support/service.ts';
import { checkSignature } from '../support/signatures.ts';
import { createTarget } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** What fails once waits for longer than the test takes. */
const SETTINGS = { RETRY_SCHEDULE: '0s,1h,1h' };
/** Deliveries by status after the retraction of the first of six events, and a test request. */
const RETRACTED = { delivered: 8, retrying: 8, pending: 4, held: 5, superseded: 3 };
const OWN_HEADER = { 'x-gateway': 'a value that is stored sealed' };

type Delivery = { deliveryId: string; status: string; sequence: number };

/** A service that has done all that it can do, is stopped, copied, and started on PostgreSQL. */
describe('a store that was copied from SQLite to PostgreSQL', () => {
  const receiver = new Ledger(({ path }) => new Response('', { status: path === '/good' || isWell ? 200 : 500 }));
  let isWell = false;
  let from: Awaited<ReturnType<typeof createTarget>>;
  let to: Awaited<ReturnType<typeof createTarget>>;
  let credentials: Credentials;
  let sentBefore: number;
  const responses = { before: new Map<string, unknown>(), after: new Map<string, unknown>() };

  beforeAll(async () => {
    from = await createTarget('sqlite');
    to = await createTarget('postgres');
    const paths = await useEverything(from.url);
    await readAll(from.url, paths, responses.before);
    sentBefore = receiver.requests.length;
    const paybell = commandLine({ SECRET_KEY: TEST_SECRET_KEY });
    const copied = await paybell(['copy', '--from', from.url, '--to', to.url, '--json']);
    if (copied.exitCode !== 0) throw new Error(copied.stderr);
    await readAll(to.url, paths, responses.after);
  });

  afterAll(async () => {
    await receiver[Symbol.asyncDispose]();
    from.remove();
    to.remove();
  });

  async function call<Result>(client: Client, method: string, path: string, body?: object): Promise<Result> {
    const response = await client.request(method, path, body === undefined ? undefined : JSON.stringify(body));
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as Result;
  }

  const listDeliveries = (client: Client, filter = '') =>
    call<{ totalResults: number; deliveries: Delivery[] }>(client, 'GET', `/deliveries?limit=100${filter}`);

  async function countByStatus(client: Client): Promise<(status: string) => number> {
    const { deliveries } = await listDeliveries(client);
    return (status) => deliveries.filter((delivery) => delivery.status === status).length;
  }

  /** Returns the paths to read afterwards. */
  async function useEverything(url: string): Promise<string[]> {
    await using service = await startTestService(url, SETTINGS);
    credentials = service.first;
    const client = service.client();
    const webhookIds: string[] = [];
    for (const path of ['/good', '/failing', '/paused', '/ordered'])
      webhookIds.push(await client.register(receiver.url(path), ['LatePayment', 'TransferFinalized']));
    const { endpoints } = await call<{ endpoints: { endpointId: string; postUrl: string }[] }>(
      client,
      'GET',
      '/endpoints?limit=100',
    );
    const endpoint = (path: string) =>
      `/endpoints/${endpoints.find(({ postUrl }) => postUrl.endsWith(path))?.endpointId}`;
    await call(client, 'PATCH', endpoint('/good'), {
      name: 'Good',
      secret: 'own',
      headers: OWN_HEADER,
      rateLimit: 500,
    });
    await call(client, 'PATCH', endpoint('/paused'), { paused: true });
    await call(client, 'PATCH', endpoint('/ordered'), { ordering: 'agreement' });
    await call(client, 'PUT', `/webhooks/classic/${webhookIds[0]}/options`, { filter: { amount: { min: '1' } } });
    await call(client, 'PUT', '/webhooks/notice-url', { noticeUrl: receiver.url('/good') });
    await call(client, 'POST', '/webhooks/secret/rotate', { overlapHours: 24 });
    await call(client, 'POST', '/webhooks/signing-key/rotate', { overlapHours: 24 });
    await call(client, 'POST', '/listen-sessions', {});
    for (let no = 1; no <= 6; no++) {
      const event = no % 2 === 0 ? 'LatePayment' : 'TransferFinalized';
      const about = { agreementId: `agr-${no % 2}`, transferId: `tra-${no}`, amount: '25.00', note: `ж 漢 😀 "${no}"` };
      await client.send({ event, eventId: `event-${no}`, ...about });
    }
    await until('every first attempt is recorded', async () => {
      const count = await countByStatus(client);
      return count('delivered') === 6 && count('retrying') === 8 && count('held') === 6;
    });
    await client.send({ event: 'EventRetracted', retracts: { eventId: 'event-1' }, reason: 'sender' });
    await call(client, 'POST', `/webhooks/classic/${webhookIds[0]}/test`);
    const redelivery = await call<{ redeliveryId: string }>(client, 'POST', '/deliveries/redeliver?status=delivered');
    const done = () =>
      call<{ status: string; queued: number; sent: number }>(client, 'GET', `/redeliveries/${redelivery.redeliveryId}`);
    await until('the deliveries were sent again', async () => {
      const { status, queued, sent } = await done();
      return status === 'finished' && sent === queued;
    });
    // The retraction supersedes what was not delivered, and the next event of that agreement has its first attempt.
    await until('the retraction has had its effects', async () => {
      const counts = await countByStatus(client);
      return Object.entries(RETRACTED).every(([status, count]) => counts(status) === count);
    });
    const { deliveries } = await listDeliveries(client);
    const until1h = Math.floor(Date.now() / 1000) + 3_600;
    return [
      ...[
        '/webhooks/classic?limit=100',
        '/webhooks/secret',
        '/webhooks/notice-url',
        '/endpoints?limit=100',
        '/audit?limit=100',
      ],
      ...[
        '/events?limit=100',
        '/deliveries?limit=100',
        '/deliveries/counts',
        `/redeliveries/${redelivery.redeliveryId}`,
      ],
      `/stats?interval=minute&since=${until1h - 7_200}&until=${until1h}`,
      `${endpoint('/good')}/secret`,
      ...[1, 2, 3, 4, 5, 6].map((no) => `/events/event-${no}`),
      ...endpoints.map(({ endpointId }) => `/endpoints/${endpointId}`),
      ...webhookIds.flatMap((id) => [
        `/webhooks/classic/${id}`,
        `/webhooks/classic/${id}/options`,
        `/webhooks/classic/${id}/health`,
      ]),
      ...deliveries.map(({ deliveryId }) => `/deliveries/${deliveryId}`),
    ];
  }

  /** By an instance that delivers nothing. */
  async function readAll(url: string, paths: readonly string[], into: Map<string, unknown>): Promise<void> {
    await using service = await startTestService(url, { ...SETTINGS, ROLE: 'api' });
    const client = service.client(credentials);
    for (const path of paths) into.set(path, await call(client, 'GET', path));
  }

  test('gives the same responses to every request', () => {
    expect(responses.before.size).toBeGreaterThan(50);
    for (const [path, response] of responses.before)
      expect({ path, response: responses.after.get(path) }).toEqual({ path, response });
  });

  test('has counters that agree with its rows', async () => {
    const db = await openDatabase(to.target);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    await db.close();
  });

  test('delivers what waited, once, in order, signed with the same secrets, and goes on numbering', async () => {
    await using service = await startTestService(to.url, SETTINGS);
    const client = service.client(credentials);
    isWell = true;
    const { endpoints } = responses.after.get('/endpoints?limit=100') as {
      endpoints: { endpointId: string; postUrl: string }[];
    };
    for (const { endpointId, postUrl } of endpoints)
      if (postUrl.endsWith('/paused')) await call(client, 'PATCH', `/endpoints/${endpointId}`, { paused: false });
    await call(client, 'POST', '/deliveries/redeliver?status=retrying');
    await client.send({ event: 'LatePayment', eventId: 'after-the-copy', agreementId: 'agr-0', amount: '25.00' });
    await until('nothing waits', async () => {
      const { deliveries } = await listDeliveries(client);
      return deliveries.every(({ status }) => !['pending', 'retrying', 'held'].includes(status));
    });
    const sent = receiver.requests.slice(sentBefore);
    const idsAt = (path: string) => sent.filter((request) => request.path === path).map(({ eventId }) => eventId);
    expect(idsAt('/paused').toSorted()).toEqual([...new Set(idsAt('/paused'))].toSorted());
    const ofAgreement0 = ['event-2', 'event-4', 'event-6', 'after-the-copy'];
    expect(idsAt('/ordered').filter((id) => ofAgreement0.includes(id))).toEqual(ofAgreement0);
    const { secrets } = await client.secrets();
    for (const { path, headers, body } of sent.filter((request) => request.path !== '/good')) {
      const keys = secrets.map(({ secret }) => secret);
      expect({ path, signature: await checkSignature(body, headers, keys) }).toEqual({ path, signature: 'verified' });
    }
    const last = sent.find(({ path, eventId }) => path === '/good' && eventId === 'after-the-copy');
    expect(last?.headers).toMatchObject(OWN_HEADER);
    const { deliveries } = await listDeliveries(client, '&eventId=after-the-copy');
    const before = (responses.before.get('/deliveries?limit=100') as { deliveries: Delivery[] }).deliveries;
    const highest = Math.max(...before.map(({ sequence }) => sequence ?? 0));
    expect(Math.max(...deliveries.map(({ sequence }) => sequence))).toBe(highest + 1);
    const db = await openDatabase(to.target);
    expect(await wrongDeliveryCounters(db)).toEqual([]);
    await db.close();
  });
});
