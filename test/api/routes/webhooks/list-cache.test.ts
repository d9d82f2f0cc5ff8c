import { expect, test } from 'bun:test';
import { WebhookListCache } from '../../../../src/api/routes/webhooks/list-cache.ts';
import { findRevision } from '../../../../src/store/tenants/entities.ts';
import { withAndWithoutSettings } from '../../../support/every-setting.ts';
import { listQuery, NOW_S, newEntity, register as registerWebhooks, seedWebhooks } from '../../../support/webhooks.ts';

withAndWithoutSettings('lists from memory', (store, useSettings) => {
  const register = async (...given: Parameters<typeof registerWebhooks>) => {
    await registerWebhooks(...given);
    await useSettings(given[1]);
  };

  const cells = (networks: number) =>
    Array.from({ length: networks }, (_, networkId) => ({ networkId, event: 'LatePayment' }));

  /** A cache that records what each list was served from, and a client that never repeats a query. */
  function recordedLists(maxSnapshotBytes?: number) {
    const sources: string[] = [];
    const counters = { of: (source: unknown) => ({ value: 0, inc: () => void sources.push(String(source)) }) };
    const cache = new WebhookListCache(store.db, counters, maxSnapshotBytes);
    let requests = 0;
    const list = async (entityId: string, given = {}) => {
      const caller = { entityId, revision: (await findRevision(store.db, entityId)) ?? 0 };
      const request = new Request('http://localhost/');
      const response = await cache.respond(request, caller, listQuery(given), `request=${++requests}`);
      return response.text();
    };
    return { list, sources };
  }

  test('begin with the second request, whatever its query, and begin again after every change', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, 'https://example.com/a', cells(3));
    const { list, sources } = recordedLists();
    await list(entityId);
    await list(entityId, { networkId: 1 });
    await list(entityId, { sortBy: 'postUrl' });
    expect(sources).toEqual(['store', 'view', 'view']);
    await register(store.db, entityId, 'https://example.com/b', cells(1));
    expect(JSON.parse(await list(entityId))).toMatchObject({ totalResults: 4 });
    expect(sources.at(-1)).toBe('store');
  });

  /** What a replica has that did not receive the last writes: the entity as it was, and nothing that came later. */
  async function failOver(entityId: string, lost: () => Promise<void>): Promise<void> {
    const kept = await store.db.get<{ revision: number; dated: number }>(
      'select revision, webhooks_dated_at as dated from entities where id = $1',
      [entityId],
    );
    await lost();
    await store.db.transaction(async (queries) => {
      for (const table of ['webhooks', 'webhook_counts']) {
        await queries.run(`delete from ${table} where entity_id = $1`, [entityId]);
      }
      await queries.run('update entities set revision = $2, webhooks_dated_at = $3 where id = $1', [
        entityId,
        kept?.revision ?? 0,
        kept?.dated ?? 0,
      ]);
    });
  }

  const urlsIn = (json: string) => (JSON.parse(json).webhooks as { postUrl: string }[]).map(({ postUrl }) => postUrl);

  test('are read again when the revision goes back: a failover lost two webhooks that were listed', async () => {
    const entityId = await newEntity(store.db);
    const { list } = recordedLists();
    await failOver(entityId, async () => {
      await register(store.db, entityId, 'https://example.com/lost', cells(2));
      for (let i = 0; i < 3; i++) expect(urlsIn(await list(entityId))).toHaveLength(2);
    });
    expect(urlsIn(await list(entityId))).toEqual([]);
  });

  test('are read again when the count of revisions reaches the lost ones again with other webhooks', async () => {
    const entityId = await newEntity(store.db);
    const { list } = recordedLists();
    await failOver(entityId, async () => {
      await register(store.db, entityId, 'https://example.com/lost', cells(2));
      for (let i = 0; i < 3; i++) await list(entityId);
    });
    await register(store.db, entityId, 'https://example.com/new', cells(2), { nowS: NOW_S + 5 });
    expect(urlsIn(await list(entityId))).toEqual(['https://example.com/new', 'https://example.com/new']);
  });

  test('come from the store for one webhook by its id and for entities that are too large', async () => {
    const [small, large] = [await newEntity(store.db), await newEntity(store.db)];
    const seeds = cells(1_001).map((cell) => ({ ...cell, postUrl: 'https://example.com/' }));
    await seedWebhooks(store.db, large, seeds);
    await seedWebhooks(store.db, small, seeds.slice(0, 1_000));
    const { list, sources } = recordedLists();
    for (const entityId of [small, large]) for (let i = 0; i < 3; i++) await list(entityId);
    expect(sources).toEqual(['store', 'view', 'view', 'store', 'store', 'store']);
    await list(small, { webhookId: 'wh_1' });
    expect(sources.at(-1)).toBe('store');
  });

  test('stay within their memory: most snapshots stay, and the rest comes from the store', async () => {
    const { list, sources } = recordedLists(10_000);
    const entities = await Promise.all(Array.from({ length: 12 }, () => newEntity(store.db)));
    for (const entityId of entities) await register(store.db, entityId, 'https://example.com/a', cells(10));
    for (let round = 0; round < 6; round++) for (const entityId of entities) await list(entityId, { page: round + 1 });
    const last = sources.slice(-entities.length);
    expect(last).toContain('view');
    expect(last).toContain('store');
  });

  test('contain texts of every alphabet, and are empty for an event without a registration', async () => {
    const entityId = await newEntity(store.db);
    await register(store.db, entityId, 'https://example.com/é/漢/🔔"\\', cells(2));
    const { list, sources } = recordedLists();
    const first = await list(entityId);
    expect(await list(entityId)).toEqual(first);
    expect(JSON.parse(await list(entityId, { event: 'TransferCreated' }))).toEqual({
      totalResults: 0,
      webhooks: [],
    });
    expect(sources).toEqual(['store', 'view', 'view']);
  });
});
