import { expect, test } from 'bun:test';
import { FleetShare } from '../../src/delivery/queue/fleet-share.ts';
import { endpointNo } from '../../src/domain/ids.ts';
import { readEndpointCredentials } from '../../src/store/endpoints/credentials.ts';
import { SecretBox } from '../../src/store/tenants/secret-box.ts';
import { rekeySecrets } from '../../src/store/tenants/secrets.ts';
import { moveWebhook } from '../../src/store/webhooks/change.ts';
import { TEST_BOX, TEST_CHANGE } from '../support/api.ts';
import {
  acceptMany,
  addReceiver,
  HOOK,
  newReceiver,
  ScriptedSender,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { configure, endpointOf } from '../support/endpoints.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const ELSEWHERE = 'https://elsewhere.example.com/hook';

/** What the API has checked; nothing here reads the texts. */
const CERTIFICATE = {
  certificate: 'a chain',
  privateKey: 'a key',
  subject: 'CN=client',
  fingerprint: 'AB:CD',
  dateExpires: 4_000_000_000,
};

onSuiteEngine('requests to an endpoint', (store) => {
  const allDelivered = (entityId: string) =>
    until('all are delivered', async () =>
      (await statuses(store.db, entityId)).every((status) => status === 'delivered'),
    );

  test('carry its headers, and those to other URLs do not, also after a move', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await addReceiver(store.db, entityId, ELSEWHERE);
    await configure(store.db, entityId, HOOK, { headers: { Authorization: 'Bearer a', 'X-Gate': 'b' } });
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await allDelivered(entityId);
      const sent = () => Map.groupBy(sender.requests.splice(0), ({ postUrl }) => postUrl);
      const first = sent();
      expect(first.get(HOOK)?.[0]?.headers).toMatchObject({ authorization: 'Bearer a', 'x-gate': 'b' });
      expect(Object.keys(first.get(ELSEWHERE)?.[0]?.headers ?? {})).not.toContain('authorization');
      await configure(store.db, entityId, HOOK, { headers: { authorization: 'Bearer c', 'x-gate': null } });
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await allDelivered(entityId);
      const changed = sent().get(HOOK)?.[0]?.headers;
      expect(changed).toMatchObject({ authorization: 'Bearer c', 'content-type': 'application/json' });
      expect(Object.keys(changed ?? {})).not.toContain('x-gate');
      const home = `${HOOK}/new`;
      await moveWebhook(store.db, entityId, webhookId, home, () => true, TEST_CHANGE);
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await allDelivered(entityId);
      expect(Object.keys(sent().get(home)?.[0]?.headers ?? {})).not.toContain('authorization');
    });
  });

  test('come no faster than its rate limit, and all of them come', async () => {
    const { entityId } = await newReceiver(store.db);
    await addReceiver(store.db, entityId, ELSEWHERE);
    await configure(store.db, entityId, HOOK, { rateLimit: 20 });
    const startedAtMs: number[] = [];
    const sender = new ScriptedSender();
    const { respond } = sender;
    sender.respond = (request) => {
      if (request.postUrl === HOOK) startedAtMs.push(performance.now());
      return respond(request);
    };
    const acceptedAtMs = performance.now();
    await withEngine(store.db, sender, async (engine) => {
      await acceptMany(store.db, entityId, 12);
      engine.wake();
      await allDelivered(entityId);
    });
    expect(startedAtMs).toHaveLength(12);
    // 20 a second and a tenth of a second at once: the last of 12 cannot start before 0.5 s have passed.
    expect((startedAtMs.at(-1) ?? 0) - acceptedAtMs).toBeGreaterThan(450);
    expect(sender.requests.filter(({ postUrl }) => postUrl === ELSEWHERE)).toHaveLength(12);
  });

  test('of two instances together come no faster than its rate limit', async () => {
    const { entityId } = await newReceiver(store.db);
    await configure(store.db, entityId, HOOK, { rateLimit: 20 });
    const startedAtMs: number[] = [];
    const sender = new ScriptedSender();
    const { respond } = sender;
    sender.respond = (request) => {
      startedAtMs.push(performance.now());
      return respond(request);
    };
    const acceptedAtMs = performance.now();
    await withEngine(store.db, sender, (one) =>
      withEngine(store.db, sender, async (two) => {
        const ids = ['ins_1', 'ins_2'];
        one.limitDestinations(new FleetShare(16, 'ins_1', ids));
        two.limitDestinations(new FleetShare(16, 'ins_2', ids));
        await acceptMany(store.db, entityId, 12);
        for (const engine of [one, two]) engine.wake();
        await allDelivered(entityId);
      }),
    );
    expect(startedAtMs).toHaveLength(12);
    expect((startedAtMs.at(-1) ?? 0) - acceptedAtMs).toBeGreaterThan(400);
  });

  test('identify themselves with its certificate until that expires, and those to other URLs do not', async () => {
    const { entityId } = await newReceiver(store.db);
    await addReceiver(store.db, entityId, ELSEWHERE);
    const soonS = Math.floor(Date.now() / 1000) + 3_600;
    await configure(store.db, entityId, HOOK, { clientCertificate: { ...CERTIFICATE, dateExpires: soonS } });
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await allDelivered(entityId);
      const { certificate, privateKey } = CERTIFICATE;
      const sent = new Map(sender.requests.splice(0).map((request) => [request.postUrl, request.certificate]));
      expect(sent.get(HOOK)).toMatchObject({ certificate, privateKey, dateExpires: soonS });
      expect(sent.get(ELSEWHERE)).toBeNull();
      await configure(store.db, entityId, HOOK, { clientCertificate: { ...CERTIFICATE, dateExpires: soonS - 7_200 } });
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await until('one is retried', async () => (await statuses(store.db, entityId)).includes('retrying'));
      await until('it counts as failing', async () => {
        const { dateFailingSince } = await endpointOf(store.db, entityId, HOOK);
        return dateFailingSince !== null;
      });
      expect(await endpointOf(store.db, entityId, HOOK)).toMatchObject({ lastError: 'certificate_expired' });
      expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual([ELSEWHERE]);
    });
  });

  test('have secrets, headers and a certificate that a new SECRET_KEY opens after a rekey', async () => {
    const { entityId } = await newReceiver(store.db);
    const credentials = { headers: { 'x-gate': 'b' }, clientCertificate: CERTIFICATE };
    await configure(store.db, entityId, HOOK, { secret: 'own', ...credentials });
    const { endpointId } = await endpointOf(store.db, entityId, HOOK);
    const target = { entityId, endpointNo: endpointNo(endpointId) ?? 0, withSigningKeys: true };
    const before = await readEndpointCredentials(store.db, TEST_BOX, target, TEST_CHANGE.nowS);
    expect(before).toMatchObject({ headers: { 'x-gate': 'b' }, certificate: { privateKey: CERTIFICATE.privateKey } });
    const box = new SecretBox(new Uint8Array(32).fill(9));
    await rekeySecrets(store.db, TEST_BOX, box, TEST_CHANGE);
    expect(await readEndpointCredentials(store.db, box, target, TEST_CHANGE.nowS)).toEqual(before);
    await rekeySecrets(store.db, box, TEST_BOX, TEST_CHANGE);
  });
});
