import { beforeEach, expect, test } from 'bun:test';
import { attentionQuerySchema, type EntityAttention } from '../../../src/contract/attention.ts';
import { INTERVAL_S, SLOTS } from '../../../src/domain/stats.ts';
import { listAttention } from '../../../src/store/attention/read.ts';
import type { SqlInteger } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { markHeads } from '../../../src/store/deliveries/heads.ts';
import { addStats } from '../../../src/store/stats/read.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, acceptMany, claim, forgetDeliveries, HOOK, letPass, newEvent } from '../../support/deliveries.ts';
import { configure } from '../../support/endpoints.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

onSuiteEngine('entities by urgency', (store) => {
  let entityId: string;
  let webhooks: { webhookId: string; event: string }[];

  beforeEach(async () => {
    await forgetDeliveries(store.db);
    entityId = await newEntity(store.db);
    const pairs = ['LatePayment', 'TransferCreated'].map((event) => ({ networkId: 1, event }));
    ({ webhooks } = await register(store.db, entityId, HOOK, pairs));
  });

  const nowS = () => Math.floor(Date.now() / 1000);
  const list = (query: Record<string, string> = {}) =>
    listAttention(store.db, attentionQuerySchema.parse(query), nowS());
  const read = async (id = entityId): Promise<EntityAttention | undefined> =>
    (await list({ search: id })).entities.find((entity) => entity.entityId === id);
  const idOf = (event: string) => webhooks.find((webhook) => webhook.event === event)?.webhookId ?? '';
  const fail = async (event: string) => {
    const sql =
      'select webhook_no, endpoint_no from queue_heads where entity_id = $1 and webhook_id = $2 and webhook_no > 0';
    const head = await store.db.get<{ webhook_no: SqlInteger; endpoint_no: SqlInteger }>(sql, [
      entityKey(store.db.dialect, entityId),
      idOf(event),
    ]);
    const [webhookNo, endpointNo] = [Number(head?.webhook_no), Number(head?.endpoint_no)];
    await markHeads(store.db, [{ entityId, webhookNo, endpointNo, isFailing: true }]);
  };
  const CALM = {
    failingEndpoints: 0,
    suspendedEndpoints: 0,
    pausedEndpoints: 0,
    pausedSources: 0,
    dateOldestDue: null,
  };

  test('an entity with a fresh backlog needs no attention', async () => {
    expect(await read()).toMatchObject({ ...CALM, level: 'none', waiting: 0 });
    await acceptMany(store.db, entityId, 2);
    expect(await read()).toMatchObject({ ...CALM, level: 'none', waiting: 2 });
  });

  test('an endpoint counts once, in the first state of paused, suspended and failing', async () => {
    for (const { event } of webhooks) await accept(store.db, newEvent(entityId, { event }));
    await fail('LatePayment');
    await fail('TransferCreated');
    expect(await read()).toMatchObject({ ...CALM, level: 'urgent', failingEndpoints: 1 });
    await suspendWebhook(store.db, entityId, idOf('LatePayment'), 'gone', TEST_CHANGE);
    expect(await read()).toMatchObject({ ...CALM, level: 'urgent', suspendedEndpoints: 1 });
    await configure(store.db, entityId, HOOK, { paused: true });
    expect(await read()).toMatchObject({ ...CALM, level: 'warning', pausedEndpoints: 1 });
    await configure(store.db, entityId, HOOK, { paused: false });
    await resumeWebhook(store.db, entityId, idOf('LatePayment'), TEST_CHANGE);
    expect(await read()).toMatchObject({ ...CALM, level: 'urgent', failingEndpoints: 1 });
    for (const { webhookId } of webhooks) await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect(await read()).toMatchObject({ ...CALM, level: 'none' });
  });

  test('a paused endpoint without deliveries needs no attention', async () => {
    await configure(store.db, entityId, HOOK, { paused: true });
    expect(await read()).toMatchObject({ ...CALM, level: 'none' });
    await acceptMany(store.db, entityId, 1);
    expect(await read()).toMatchObject({ ...CALM, level: 'warning', pausedEndpoints: 1, waiting: 1 });
  });

  test('a delivery is overdue after a minute, unless an instance has claimed it', async () => {
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, 50_000);
    expect(await read()).toMatchObject({ level: 'none', dateOldestDue: null });
    await letPass(store.db, entityId, 3_600_000);
    const overdue = await read();
    expect(overdue?.level).toBe('urgent');
    expect(nowS() - (overdue?.dateOldestDue ?? 0)).toBeGreaterThanOrEqual(3_600);
    await claim(store.db, entityId);
    expect(await read()).toMatchObject({ level: 'none', dateOldestDue: null, waiting: 1 });
  });

  test('a paused source is a warning', async () => {
    await store.db.transaction((queries) =>
      queries.run(
        `insert into sources (entity_id, id, network_id, contract, topic, hash, definition, from_block, created_head,
           deliver_history, applies_from, created_at, paused_at_ms)
         values ($1, 'src_paused', 1, '0x1', '0x2', '0x3', '{}', 1, 1, 0, 1, 1, 1)`,
        [entityId],
      ),
    );
    expect(await read()).toMatchObject({ ...CALM, level: 'warning', pausedSources: 1 });
  });

  test('the worst is first, a search finds an id or a part of the name, and pages follow that order', async () => {
    const calm = await newEntity(store.db);
    await store.db.transaction((queries) =>
      queries.run('update entities set name = $2 where id = $1', [calm, 'Zeta Calm']),
    );
    await acceptMany(store.db, entityId, 1);
    await fail('LatePayment');
    const [first] = (await list()).entities;
    expect(first?.entityId).toBe(entityId);
    const found = await list({ search: 'zeta c' });
    expect(found).toMatchObject({ totalResults: 1, needAttention: 0, entities: [{ entityId: calm, level: 'none' }] });
    expect((await list({ limit: '1', page: '2' })).entities[0]?.entityId).not.toBe(entityId);
    expect((await list({ search: 'no such entity' })).entities).toEqual([]);
  });

  test('events and failed attempts of the last hour are summed, and no older ones', async () => {
    const entity = entityKey(store.db.dialect, entityId);
    const minute = nowS() - (nowS() % INTERVAL_S.minute);
    const counts = JSON.stringify({ [SLOTS.events]: 3, [SLOTS.failedAttempts]: 2 });
    const rows = [0, 30, 120].map((minutes) => ({
      ...{ entity, seconds: INTERVAL_S.minute, destination: '', counts },
      startS: minute - minutes * 60,
    }));
    await store.db.transaction((queries) => addStats(queries, store.db.dialect, rows));
    expect(await read()).toMatchObject({ eventsLastHour: 6, failuresLastHour: 4 });
  });
});
