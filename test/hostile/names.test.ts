import { afterEach, expect, setSystemTime, test } from 'bun:test';
import type { HttpClient } from '../../src/delivery/http/client.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { OK, startReceiver } from '../delivery/receivers.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../support/api.ts';
import {
  acceptMany,
  addReceiver,
  forgetDeliveries,
  letPass,
  readAttempts,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { DnsServer, type Reply, type Zone } from '../support/dns-server.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { newEntity } from '../support/webhooks.ts';
import { PUBLIC, PUBLIC_V6, recordingClient } from './recording-client.ts';

/** Names that can be registered, because nothing is wrong with them until they are resolved. */

const BLOCKED: Record<string, readonly string[]> = {
  'this network': ['0.0.0.0'],
  loopback: ['127.0.0.1'],
  'another loopback': ['127.8.8.8'],
  'IPv6 loopback': ['::1'],
  'nothing in IPv6': ['::'],
  'a private network': ['10.1.2.3'],
  'another private network': ['172.20.0.1'],
  'a home network': ['192.168.178.1'],
  'metadata of Amazon, Google and Microsoft': ['169.254.169.254'],
  'metadata of Alibaba': ['100.100.100.200'],
  'the host of an Azure machine': ['168.63.129.16'],
  'metadata of Amazon in IPv6': ['fd00:ec2::254'],
  'a carrier network': ['100.64.0.1'],
  'the link': ['fe80::1'],
  'a local IPv6 network': ['fd12:3456:789a::1'],
  'an IPv4-mapped address': ['::ffff:127.0.0.1'],
  'an IPv4-mapped public address': ['::ffff:8.8.8.8'],
  'an IPv4-compatible address': ['::7f00:1'],
  'an IPv4-translated address': ['::ffff:0:7f00:1'],
  'a NAT64 address': ['64:ff9b::7f00:1'],
  'a 6to4 address': ['2002:7f00:1::1'],
  'a Teredo address': ['2001:0:4136:e378:8000:63bf:80ff:fffe'],
  multicast: ['224.0.0.1'],
  broadcast: ['255.255.255.255'],
  'a public and a private address': [PUBLIC, '10.0.0.1'],
  'a private and a public address': ['10.0.0.1', PUBLIC],
  'a public address and loopback in IPv6': [PUBLIC, '::1'],
  'a public IPv6 address and loopback': [PUBLIC_V6, '127.0.0.1'],
  'forty public addresses and one of metadata': [
    ...Array.from({ length: 40 }, (_, index) => `93.184.216.${index + 1}`),
    '169.254.169.254',
  ],
  'an alias of loopback': ['loopback.example.net.'],
  'an alias of an alias of metadata': ['alias.example.net.'],
  'an alias of localhost': ['localhost.'],
  'an alias of a name with one private address': ['mixed.example.net.'],
};

const NO_ANSWER: Record<string, Reply> = {
  'does not exist': 'NXDOMAIN',
  'has no address': [],
  'has a server that fails': 'SERVFAIL',
  'has a server that sends garbage': 'garbage',
  'is an alias of itself': ['circle.example.com.'],
};

const TARGETS: Zone = {
  'loopback.example.net': ['127.0.0.1'],
  'alias.example.net': ['metadata.example.net.'],
  'metadata.example.net': ['169.254.169.254'],
  'mixed.example.net': [PUBLIC, '192.168.0.1'],
  localhost: ['127.0.0.1'],
  'circle.example.com': ['circle.example.com.'],
};

const nameOf = (what: string) => `${what.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.example.com`;
const zoneOf = (replies: Record<string, Reply>): Zone => ({
  ...TARGETS,
  ...Object.fromEntries(Object.entries(replies).map(([what, reply]) => [nameOf(what), reply])),
});

function strictSender(client: HttpClient) {
  return createSender({ timeoutMs: 60_000, allowInsecureTargets: false, userAgent: 'Paybell/test', client });
}

onSuiteEngine('a name', (store) => {
  afterEach(() => {
    setSystemTime();
    return forgetDeliveries(store.db);
  });

  const haveAllEnded = (entityId: string) => async () =>
    (await statuses(store.db, entityId)).every((status) => status === 'failed' || status === 'delivered');

  /** One delivery to each of the names, and what was recorded of it, by name. */
  async function deliverTo(names: readonly string[], port: number, client: HttpClient) {
    const entityId = await newEntity(store.db);
    for (const name of names) await addReceiver(store.db, entityId, `https://${name}:${port}/`);
    await acceptMany(store.db, entityId, 1);
    const settings = { RETRY_SCHEDULE: '0s' };
    await withEngine(store.db, strictSender(client), () => until('all have ended', haveAllEnded(entityId)), {
      settings,
    });
    const attempts = await readAttempts(store.db, entityId);
    return new Map(attempts.map((attempt) => [new URL(attempt.postUrl).hostname, attempt]));
  }

  test('that resolves to a blocked address is blocked, whatever the record', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    await using _server = await DnsServer.start(zoneOf(BLOCKED));
    const { dialled, client } = recordingClient();
    const attempts = await deliverTo(Object.keys(BLOCKED).map(nameOf), canary.port, client);
    for (const what of Object.keys(BLOCKED)) {
      const attempt = attempts.get(nameOf(what));
      expect({ what, error: attempt?.error, response: attempt?.response }).toEqual({
        what,
        error: 'blocked_address',
        response: null,
      });
    }
    expect(dialled).toEqual([]);
    expect(canary.connections).toBe(0);
  });

  test('that does not resolve is a dns error', async () => {
    await using _server = await DnsServer.start(zoneOf(NO_ANSWER));
    const { dialled, client } = recordingClient();
    const attempts = await deliverTo(Object.keys(NO_ANSWER).map(nameOf), 443, client);
    for (const what of Object.keys(NO_ANSWER)) {
      expect({ what, error: attempts.get(nameOf(what))?.error }).toEqual({ what, error: 'dns' });
    }
    expect(dialled).toEqual([]);
  });

  test('whose server is silent times out', async () => {
    await using _server = await DnsServer.start({ 'silent.example.com': 'silence' });
    const { client } = recordingClient();
    const sender = createSender({ timeoutMs: 300, allowInsecureTargets: false, userAgent: 'Paybell/test', client });
    const outcome = await sender.send({
      entityId: 'ent_1',
      postUrl: 'https://silent.example.com/',
      headers: {},
      body: '{}',
    });
    expect(outcome).toMatchObject({ kind: 'error', error: 'timeout' });
  });

  test('with public addresses is connected at the very addresses that were checked, without a second lookup', async () => {
    await using server = await DnsServer.start({
      'alias.example.com': ['good.example.com.'],
      'good.example.com': [PUBLIC],
    });
    const { dialled, client } = recordingClient();
    const attempts = await deliverTo(['alias.example.com', 'good.example.com'], 8443, client);
    expect(dialled).toEqual([`https://${PUBLIC}:8443/`, `https://${PUBLIC}:8443/`]);
    expect([...attempts.values()].map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(server.questions.filter((question) => question.startsWith('A ')).sort()).toEqual([
      'A alias.example.com',
      'A good.example.com',
    ]);
  });

  test('that is public at its check and private ever after sends no byte to the canary', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    await using server = await DnsServer.start({ 'turning.example.com': { sequence: [[PUBLIC], ['127.0.0.1']] } });
    const entityId = await newEntity(store.db);
    await addReceiver(store.db, entityId, `https://turning.example.com:${canary.port}/`);
    await acceptMany(store.db, entityId, 1);
    const { dialled, client } = recordingClient(() => ({ status: 500, retryAfter: null, body: '' }));
    const retried = async (engine: { wake: () => void }) => {
      await until('the first attempt has failed', async () => (await statuses(store.db, entityId))[0] === 'retrying');
      setSystemTime(Date.now() + 60_000);
      await letPass(store.db, entityId, 3_600_000);
      engine.wake();
      await until('the retry has failed', haveAllEnded(entityId));
    };
    await withEngine(store.db, strictSender(client), retried, { settings: { RETRY_SCHEDULE: '0s,1h' } });
    expect(server.questions.filter((question) => question === 'A turning.example.com')).toHaveLength(2);
    expect(dialled).toEqual([`https://${PUBLIC}:${canary.port}/`]);
    expect(canary.connections).toBe(0);
    expect(await readAttempts(store.db, entityId)).toMatchObject([
      { statusCode: 500, error: null },
      { statusCode: null, error: 'blocked_address' },
    ]);
  });

  test('with a public address whose receiver redirects to this machine is not followed', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const codes = [300, 301, 302, 303, 305, 307, 308];
    const names = codes.map((code) => `redirect-${code}.example.com`);
    await using _server = await DnsServer.start({}, { otherwise: [PUBLIC] });
    const left = [...codes];
    const { dialled, client } = recordingClient(() => ({ status: left.pop() ?? 302, retryAfter: null, body: '' }));
    const attempts = await deliverTo(names, canary.port, client);
    const received = [...attempts.values()].map(({ statusCode }) => Number(statusCode));
    expect(received.sort()).toEqual(codes);
    expect(dialled).toEqual(names.map(() => `https://${PUBLIC}:${canary.port}/`));
    expect(canary.connections).toBe(0);
  });

  test('may be registered while it is public and is still blocked when a test request is sent later', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    await using _server = await DnsServer.start({ 'later.example.com': ['127.0.0.1'] });
    const tenant = await createTenant(store.db);
    const app = testApp(store.db);
    const postUrl = `https://later.example.com:${canary.port}/`;
    const registered = await call(app, tenant, WEBHOOKS, {
      json: { postUrl, events: ['LatePayment'], networkIds: [1] },
    });
    const { webhooks } = (await registered.json()) as { webhooks: { webhookId: string }[] };
    const response = await call(app, tenant, `${WEBHOOKS}/${webhooks[0]?.webhookId}/test`, { method: 'POST' });
    expect(await response.json()).toMatchObject({ delivered: false, error: 'blocked_address' });
    expect(canary.connections).toBe(0);
  });
});
