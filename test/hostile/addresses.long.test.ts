import { afterEach, expect, test } from 'bun:test';
import type { HttpClient } from '../../src/delivery/http/client.ts';
import { createSender } from '../../src/delivery/sender.ts';
import type { Database } from '../../src/store/database/database.ts';
import { OK, type Receiver, startReceiver } from '../delivery/receivers.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../support/api.ts';
import {
  acceptMany,
  addReceiver,
  forgetDeliveries,
  LATE_ON_1,
  readAttempts,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { DnsServer } from '../support/dns-server.ts';
import { onEveryEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { newEntity, seedWebhooks } from '../support/webhooks.ts';
import { recordingClient } from './recording-client.ts';
import { ADDRESS_HOSTS, LOCAL_NAMES, URL_TRICKS } from './spellings.ts';

/** Every spelling twice: at registration, and as if it had passed it. The canary on loopback must get no byte. */

/** These never reach a name server: the runtime leaves `.local` to the system and c-ares refuses `.onion`. */
const BEYOND_DNS = /\.(local|onion)$/;
const STORED_HOSTS = [...Object.values(ADDRESS_HOSTS).flat(), ...LOCAL_NAMES.filter((name) => !BEYOND_DNS.test(name))];
const NOTICE_URL = '/api/v1/crypto/webhooks/notice-url';
const LIMITS = { timeoutMs: 60_000, userAgent: 'Paybell/test' };
const ONE_STEP = { settings: { RETRY_SCHEDULE: '0s' } };

function urlsAt(port: number): string[] {
  const tricks = URL_TRICKS.map((trick) => trick.replace('%s', `127.0.0.1:${port}`));
  return [...STORED_HOSTS.map((host) => `https://${host}:${port}/hook`), ...tricks];
}

onEveryEngine('an address that is not public', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('is known here in more than 300 spellings', () => {
    expect(new Set(urlsAt(8443)).size).toBeGreaterThan(300);
  });

  const KINDS = { ...ADDRESS_HOSTS, 'a local name': LOCAL_NAMES };
  test.each(Object.entries(KINDS))('cannot be registered as %s', async (_kind, hosts) => {
    const tenant = await createTenant(store.db);
    const app = testApp(store.db);
    for (const host of hosts) {
      const response = await call(app, tenant, WEBHOOKS, { json: { postUrl: `https://${host}:8443/hook` } });
      expect({ host, status: response.status }).toEqual({ host, status: 400 });
    }
  });

  test.each(URL_TRICKS)('cannot be registered by the trick %j', async (trick) => {
    const tenant = await createTenant(store.db);
    const postUrl = trick.replace('%s', '127.0.0.1:8443');
    expect((await call(testApp(store.db), tenant, WEBHOOKS, { json: { postUrl } })).status).toBe(400);
  });

  test('is refused by every other operation that takes a URL', async () => {
    const tenant = await createTenant(store.db);
    const webhookId = await addReceiver(store.db, tenant.entityId, 'https://hooks.example.com/');
    const app = testApp(store.db);
    // Registration is tested with every spelling: one of each kind shows that the others check at all.
    for (const [host] of Object.values(KINDS)) {
      const url = `https://${host}/hook`;
      const operations = [
        { path: `${WEBHOOKS}/${webhookId}`, method: 'PATCH', json: { postUrl: url } },
        { path: `${WEBHOOKS}?networkId=1`, method: 'PATCH', json: { postUrl: url } },
        { path: NOTICE_URL, method: 'PUT', json: { noticeUrl: url } },
      ];
      for (const { path, method, json } of operations) {
        const response = await call(app, tenant, path, { method, json });
        expect({ path, url, status: response.status }).toEqual({ path, url, status: 400 });
      }
    }
  });

  test('gets no byte even if it is in the store in every spelling', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    await using _names = await DnsServer.start({}, { otherwise: ['127.0.0.1'] });
    const { dialled, client } = recordingClient();
    const entityId = await sendToAll(store.db, canary, client);
    expect(dialled).toEqual([]);
    expect(canary.connections).toBe(0);
    const attempts = await readAttempts(store.db, entityId);
    expect(attempts).toHaveLength(new Set(urlsAt(canary.port)).size);
    for (const { postUrl, error, statusCode } of attempts) {
      const refusal = URL.parse(postUrl)?.protocol === 'https:' ? 'blocked_address' : 'invalid_url';
      expect({ postUrl, error, statusCode }).toEqual({ postUrl, error: refusal, statusCode: null });
    }
  });
});

test('the canary would have been reached without the guard, which keeps the spellings honest', async () => {
  await using canary = await startReceiver((socket) => socket.end(OK));
  await using _names = await DnsServer.start({}, { otherwise: ['127.0.0.1'] });
  const { dialled, client } = recordingClient();
  const sender = createSender({ ...LIMITS, client, allowInsecureTargets: true });
  const requests = STORED_HOSTS.map((host) => ({
    entityId: 'ent_1',
    postUrl: `http://${host}:${canary.port}/`,
    headers: {},
    body: '{}',
  }));
  await Promise.all(requests.map((request) => sender.send(request)));
  expect(dialled.length).toBeGreaterThan(300);
  expect(canary.connections).toBeGreaterThan(50);
});

/** One delivery to each of the URLs, by the engine with the guard on; returns the entity. */
async function sendToAll(db: Database, canary: Receiver, client: HttpClient): Promise<string> {
  const entityId = await newEntity(db);
  // PostgreSQL stores no NUL, so these could not be in the store.
  const urls = new Set(urlsAt(canary.port).map((url) => url.replaceAll('\0', '')));
  await seedWebhooks(
    db,
    entityId,
    [...urls].map((postUrl) => ({ ...LATE_ON_1, postUrl })),
  );
  await acceptMany(db, entityId, 1);
  const sender = createSender({ ...LIMITS, client, allowInsecureTargets: false });
  const ended = async () => (await statuses(db, entityId)).every((status) => status !== 'pending');
  await withEngine(db, sender, () => until('every delivery has ended', ended), ONE_STEP);
  return entityId;
}
