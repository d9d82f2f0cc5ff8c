import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { createSender, type Dial } from '../../src/delivery/sender.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../support/api.ts';
import {
  acceptMany,
  addReceiver,
  createEngine,
  forgetDeliveries,
  letPass,
  readAttempts,
  readDeliveries,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { expectProblem } from '../support/problems.ts';
import { onEveryEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { newEntity } from '../support/webhooks.ts';
import { OK, startReceiver } from './receivers.ts';

/** The whole road with ALLOW_INSECURE_TARGETS unset, and a canary on loopback that no byte may reach. */

const PUBLIC = '93.184.216.34';

const SPELLINGS = [
  '127.0.0.1',
  '127.0.0.1.',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  '127.1',
  '0',
  '%31%32%37.0.0.1',
  '[::1]',
  '[::]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'app.localhost',
];

/** Dials what is on loopback for real, where the canary listens, and answers for everything else by itself. */
function recorder(answer: () => Response = () => new Response('public')) {
  const dialled: string[] = [];
  const dial: Dial = async (url, init) => {
    dialled.push(url);
    const { hostname } = new URL(url);
    return hostname === PUBLIC ? answer() : fetch(url, init);
  };
  return { dialled, dial };
}

onEveryEngine('a canary on 127.0.0.1', (store) => {
  afterEach(() => {
    setSystemTime();
    return forgetDeliveries(store.db);
  });

  test.each(SPELLINGS)('cannot be registered as %s', async (host) => {
    const tenant = await createTenant(store.db);
    for (const scheme of ['https', 'http']) {
      const postUrl = `${scheme}://${host}:8443/hook`;
      const answer = await call(testApp(store.db), tenant, WEBHOOKS, { json: { postUrl } });
      await expectProblem(answer, 'invalid_request');
    }
  });

  test.each(SPELLINGS)('gets no byte though it stands in the store as %s', async (host) => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const entityId = await newEntity(store.db);
    for (const scheme of ['https', 'http'])
      await addReceiver(store.db, entityId, `${scheme}://${host}:${canary.port}/`);
    await acceptMany(store.db, entityId, 2);
    const { dialled, dial } = recorder();
    // What the system's own resolver would say of the names among them.
    const sender = createSender({ ...STRICT, dial, resolve: async () => ['127.0.0.1', '::1'] });
    await withEngine(store.db, sender, () => until('all have failed', allFailed(entityId)), ONE_STEP);
    expect(dialled).toEqual([]);
    expect(canary.connections).toBe(0);
    for (const attempt of await readAttempts(store.db, entityId)) {
      const error = attempt.postUrl.startsWith('https') ? 'blocked_address' : 'invalid_url';
      expect(attempt).toMatchObject({ error, statusCode: null, response: null });
    }
  });

  test.each([[['127.0.0.1']], [['::1']], [['::ffff:127.0.0.1']], [['0.0.0.0']], [[PUBLIC, '127.0.0.1']]])(
    'gets no byte from a name that resolves to %j',
    async (addresses) => {
      await using canary = await startReceiver((socket) => socket.end(OK));
      const entityId = await newEntity(store.db);
      await addReceiver(store.db, entityId, `https://innocent.example.com:${canary.port}/`);
      await acceptMany(store.db, entityId, 3);
      const { dialled, dial } = recorder();
      const sender = createSender({ ...STRICT, dial, resolve: async () => addresses });
      await withEngine(store.db, sender, () => until('all have failed', allFailed(entityId)), ONE_STEP);
      expect(dialled).toEqual([]);
      expect(canary.connections).toBe(0);
      const deliveries = await readDeliveries(store.db, entityId);
      expect(deliveries.map(({ lastError }) => lastError)).toEqual(Array(3).fill('blocked_address'));
    },
  );

  test('gets no byte from a name that is public first and turns to it for the retry', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const entityId = await newEntity(store.db);
    await addReceiver(store.db, entityId, `https://rebinding.example.com:${canary.port}/`);
    await acceptMany(store.db, entityId, 1);
    const answers = [[PUBLIC], ['127.0.0.1']];
    const { dialled, dial } = recorder(() => new Response('', { status: 500 }));
    const sender = createSender({ ...STRICT, dial, resolve: async () => answers.shift() ?? ['127.0.0.1'] });
    const engine = createEngine(store.db, sender, { settings: { RETRY_SCHEDULE: '0s,1h' } });
    await engine.start();
    await until('the first attempt has failed', async () => (await statuses(store.db, entityId))[0] === 'retrying');
    setSystemTime(Date.now() + 60_000);
    await letPass(store.db, entityId, 3_600_000);
    engine.wake();
    await until('the retry has failed', allFailed(entityId));
    await engine.stop();
    expect(dialled).toEqual([`https://${PUBLIC}:${canary.port}/`]);
    expect(canary.connections).toBe(0);
    expect(await readAttempts(store.db, entityId)).toMatchObject([
      { statusCode: 500, error: null },
      { statusCode: null, error: 'blocked_address', response: null },
    ]);
  });

  test('gets no byte from a receiver that redirects to it', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const entityId = await newEntity(store.db);
    await addReceiver(store.db, entityId, 'https://redirecting.example.com/');
    await acceptMany(store.db, entityId, 5);
    const codes = [301, 302, 303, 307, 308];
    const location = `http://127.0.0.1:${canary.port}/`;
    const { dial } = recorder(() => new Response('', { status: codes.shift() ?? 302, headers: { location } }));
    const sender = createSender({ ...STRICT, dial, resolve: async () => [PUBLIC] });
    await withEngine(store.db, sender, () => until('all have failed', allFailed(entityId)), ONE_STEP);
    expect(canary.connections).toBe(0);
    const answered = (await readAttempts(store.db, entityId)).map(({ statusCode }) => statusCode);
    expect(answered.sort()).toEqual([301, 302, 303, 307, 308]);
  });

  const allFailed = (entityId: string) => async () =>
    (await statuses(store.db, entityId)).every((status) => status === 'failed');
});

const STRICT = { timeoutMs: 2_000, allowInsecureTargets: false, userAgent: 'Paybell/test' };
const ONE_STEP = { settings: { RETRY_SCHEDULE: '0s' } };
