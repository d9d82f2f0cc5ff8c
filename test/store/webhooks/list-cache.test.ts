import { expect, test } from 'bun:test';
import { findRevision } from '../../../src/store/tenants/entities.ts';
import { WebhookListCache } from '../../../src/store/webhooks/list-cache.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { listQuery, newEntity, register, seedWebhooks } from '../../support/webhooks.ts';

onEveryEngine('lists from memory', (store) => {
  const cells = (networks: number) =>
    Array.from({ length: networks }, (_, networkId) => ({ networkId, event: 'LatePayment' }));

  /** Views that say by which road each list came. */
  function watchedViews(maxBytes?: number) {
    const roads: string[] = [];
    const counted = { fromView: { inc: () => roads.push('view') }, fromStore: { inc: () => roads.push('store') } };
    const views = new WebhookListCache(store.db, counted, maxBytes);
    const ask = async (entityId: string, given = {}) =>
      views.list(entityId, (await findRevision(store.db, entityId)) ?? 0, listQuery(given));
    return { ask, roads };
  }

  test('begin with the second question, whatever it asks for, and begin anew after every change', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, 'https://example.com/a', cells(3));
    const { ask, roads } = watchedViews();
    await ask(entityId);
    await ask(entityId, { networkId: 1 });
    await ask(entityId, { sortBy: 'postUrl' });
    expect(roads).toEqual(['store', 'view', 'view']);
    await register(store.db, entityId, 'https://example.com/b', cells(1));
    const { json } = await ask(entityId);
    expect(JSON.parse(json)).toMatchObject({ totalResults: 4 });
    expect(roads.at(-1)).toBe('store');
  });

  test('leave one webhook by its id, and entities that are too large, to the store', async () => {
    const [small, large] = [await newEntity(store.db), await newEntity(store.db)];
    const seeds = cells(1_001).map((cell) => ({ ...cell, postUrl: 'https://example.com/' }));
    await seedWebhooks(store.db, large, seeds);
    await seedWebhooks(store.db, small, seeds.slice(0, 1_000));
    const { ask, roads } = watchedViews();
    for (const entityId of [small, large]) for (let i = 0; i < 3; i++) await ask(entityId);
    expect(roads).toEqual(['store', 'view', 'view', 'store', 'store', 'store']);
    await ask(small, { webhookId: 'wh_1' });
    expect(roads.at(-1)).toBe('store');
  });

  test('never take more memory than they may: most of what is there stays, and the rest comes from the store', async () => {
    const { ask, roads } = watchedViews(10_000);
    const entities = await Promise.all(Array.from({ length: 12 }, () => newEntity(store.db)));
    for (const entityId of entities) await register(store.db, entityId, 'https://example.com/a', cells(10));
    for (let round = 0; round < 6; round++) for (const entityId of entities) await ask(entityId, { page: round + 1 });
    const last = roads.slice(-entities.length);
    expect(last).toContain('view');
    expect(last).toContain('store');
  });

  test('hold texts of every alphabet, and answer what was asked of an event that nobody registered', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, 'https://example.com/é/漢/🔔"\\', cells(2));
    const { ask, roads } = watchedViews();
    const first = await ask(entityId);
    expect(await ask(entityId)).toEqual(first);
    expect(JSON.parse((await ask(entityId, { event: 'TransferCreated' })).json)).toEqual({
      totalResults: 0,
      webhooks: [],
    });
    expect(roads).toEqual(['store', 'view', 'view']);
  });
});
