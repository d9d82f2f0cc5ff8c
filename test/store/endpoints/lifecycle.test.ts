import { expect, test } from 'bun:test';
import { deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { changeMatching, deleteMatching, deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { importBatch } from '../../../src/store/webhooks/import.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { acceptMany, completeAll, databaseNowMs, HOOK, LATE_ON_1 } from '../../support/deliveries.ts';
import { configure, endpointOf, endpointsOf } from '../../support/endpoints.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const ELSEWHERE = 'https://elsewhere.example.com:8443/hook';
const PAIRS = [LATE_ON_1, { networkId: 10, event: 'LatePayment' }];
const always = () => true;

onSuiteEngine('an endpoint', (store) => {
  const urlsOf = async (entityId: string) => (await endpointsOf(store.db, entityId)).map(({ postUrl }) => postUrl);

  test('is made with the first webhook of its URL, and is one for all of them', async () => {
    const entityId = await newEntity(store.db);
    expect(await endpointsOf(store.db, entityId)).toEqual([]);
    await register(store.db, entityId, HOOK, PAIRS);
    const [made] = await endpointsOf(store.db, entityId);
    expect(made).toEqual({
      endpointId: expect.stringMatching(/^ep_[0-9a-f]{14}$/),
      postUrl: HOOK,
      name: null,
      state: 'active',
      ordering: 'none',
      paused: false,
      headerNames: [],
      clientCertificate: null,
      rateLimit: null,
      secret: 'entity',
      webhooks: 2,
      suspendedWebhooks: 0,
      waiting: 0,
      lastSequence: 0,
      dateFailingSince: null,
      lastStatusCode: null,
      lastError: null,
      dateCreated: expect.any(Number),
    });
    await register(store.db, entityId, HOOK, [...PAIRS, { networkId: 56, event: 'LatePayment' }]);
    await register(store.db, entityId, ELSEWHERE, [LATE_ON_1]);
    expect(await endpointsOf(store.db, entityId)).toMatchObject([
      { postUrl: ELSEWHERE, webhooks: 1 },
      { postUrl: HOOK, webhooks: 3, endpointId: made?.endpointId },
    ]);
  });

  test('is removed with its last webhook, and the same URL registered again is another one', async () => {
    const entityId = await newEntity(store.db);
    const ids = new Set<string>();
    // Often, because several may come into one millisecond.
    for (let round = 0; round < 5; round++) {
      const { webhooks } = await register(store.db, entityId, HOOK, PAIRS);
      const { endpointId } = await endpointOf(store.db, entityId, HOOK);
      ids.add(endpointId);
      const [first, second] = webhooks.map(({ webhookId }) => webhookId);
      await deleteWebhook(store.db, entityId, first ?? '', always, TEST_CHANGE);
      expect(await endpointOf(store.db, entityId, HOOK)).toMatchObject({ endpointId, webhooks: 1 });
      await deleteWebhook(store.db, entityId, second ?? '', always, TEST_CHANGE);
      expect(await endpointsOf(store.db, entityId)).toEqual([]);
    }
    expect(ids.size).toBe(5);
  });

  test('that is new has none of the settings of the one that had its URL before', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, HOOK, PAIRS);
    const settings = { name: 'Old', paused: true, rateLimit: 5, secret: 'own', headers: { 'x-gate': 'key' } } as const;
    await configure(store.db, entityId, HOOK, settings);
    await deleteMatching(store.db, entityId, { postUrl: HOOK }, TEST_CHANGE);
    await register(store.db, entityId, HOOK, [LATE_ON_1]);
    expect(await endpointOf(store.db, entityId, HOOK)).toMatchObject({
      name: null,
      paused: false,
      rateLimit: null,
      secret: 'entity',
      headerNames: [],
      clientCertificate: null,
      lastSequence: 0,
    });
    const kept = await store.db.all(
      `select entity_id from endpoint_secrets where entity_id = $1
       union all select entity_id from endpoint_headers where entity_id = $1`,
      [entityId],
    );
    expect(kept).toEqual([]);
  });

  test('comes and goes with the webhooks that move, one or all that match', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, PAIRS);
    await moveWebhook(store.db, entityId, webhooks[0]?.webhookId ?? '', ELSEWHERE, always, TEST_CHANGE);
    expect(await urlsOf(entityId)).toEqual([ELSEWHERE, HOOK]);
    const { endpointId } = await endpointOf(store.db, entityId, HOOK);
    await changeMatching(store.db, entityId, { postUrl: HOOK }, { postUrl: ELSEWHERE }, TEST_CHANGE);
    expect(await urlsOf(entityId)).toEqual([ELSEWHERE]);
    const [first] = webhooks;
    await moveWebhook(store.db, entityId, first?.webhookId ?? '', HOOK, always, TEST_CHANGE);
    expect((await endpointOf(store.db, entityId, HOOK)).endpointId).not.toBe(endpointId);
    await changeMatching(store.db, entityId, { postUrl: HOOK }, { postUrl: ELSEWHERE }, TEST_CHANGE);
    await deleteMatching(store.db, entityId, { postUrl: ELSEWHERE }, TEST_CHANGE);
    expect(await urlsOf(entityId)).toEqual([]);
  });

  test('is made by an import', async () => {
    const entityId = await newEntity(store.db);
    const lines = [HOOK, ELSEWHERE, HOOK].map((postUrl, index) => ({
      line: index + 1,
      postUrl,
      networkId: index + 1,
      event: 'LatePayment',
    }));
    await importBatch(
      store.db,
      entityId,
      { webhooks: lines, endpoints: [] },
      { entityWebhookLimit: 100, change: TEST_CHANGE },
    );
    expect(await endpointsOf(store.db, entityId)).toMatchObject([
      { postUrl: ELSEWHERE, webhooks: 1 },
      { postUrl: HOOK, webhooks: 2 },
    ]);
  });

  test('is not made by what fails', async () => {
    const entityId = await newEntity(store.db);
    const refused = register(store.db, entityId, HOOK, PAIRS, { entityWebhookLimit: 1 });
    expect(await refused.catch(() => 'refused')).toBe('refused');
    expect(await endpointsOf(store.db, entityId)).toEqual([]);
  });

  test('counts what waits to be sent to its URL, also after a move', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [LATE_ON_1]);
    await acceptMany(store.db, entityId, 3);
    expect(await endpointOf(store.db, entityId, HOOK)).toMatchObject({ waiting: 3 });
    await moveWebhook(store.db, entityId, webhooks[0]?.webhookId ?? '', ELSEWHERE, always, TEST_CHANGE);
    expect(await endpointsOf(store.db, entityId)).toMatchObject([{ postUrl: ELSEWHERE, waiting: 3 }]);
  });
});

onSuiteEngine('an endpoint that was removed', (store) => {
  const DAY_MS = 86_400_000;
  const pruneIn = async (days: number) =>
    prune(store.db, {
      olderThanMs: DAY_MS,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      nowMs: (await databaseNowMs(store.db)) + days * DAY_MS,
    });
  const urlsKept = async (entityId: string) => {
    const sql = 'select post_url from endpoints where entity_id = $1';
    const rows = await store.db.all<{ post_url: string }>(sql, [entityKey(store.db.dialect, entityId)]);
    return rows.map((row) => row.post_url).toSorted();
  };

  test('is forgotten once no delivery can name it, and the record shows its URL until then', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [LATE_ON_1]);
    await acceptMany(store.db, entityId, 1);
    await completeAll(store.db, entityId, 'delivered');
    await moveWebhook(store.db, entityId, webhooks[0]?.webhookId ?? '', ELSEWHERE, always, TEST_CHANGE);
    const query = deliveryListQuerySchema.parse({});
    expect((await listDeliveries(store.db, entityId, query)).deliveries).toMatchObject([{ postUrl: HOOK }]);
    await pruneIn(0);
    expect(await urlsKept(entityId)).toEqual([ELSEWHERE, HOOK]);
    expect(await pruneIn(3)).toMatchObject({ deliveries: 1 });
    expect(await urlsKept(entityId)).toEqual([ELSEWHERE]);
  });

  test('stays while an old delivery of the entity waits, which may name it', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [LATE_ON_1]);
    await acceptMany(store.db, entityId, 1);
    await moveWebhook(store.db, entityId, webhooks[0]?.webhookId ?? '', ELSEWHERE, always, TEST_CHANGE);
    await pruneIn(3);
    expect(await urlsKept(entityId)).toEqual([ELSEWHERE, HOOK]);
  });
});
