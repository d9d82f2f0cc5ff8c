import { expect, test } from 'bun:test';
import { type DatabaseTarget, databaseTarget } from '../../../src/config/database-target.ts';
import { hashApiKey } from '../../../src/domain/keys/api-keys.ts';
import type { SqlValue } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { revokeApiKey } from '../../../src/store/tenants/api-keys.ts';
import { KeyLookup } from '../../../src/store/tenants/key-lookup.ts';
import { createTenant, TEST_CHANGE } from '../../support/api.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { register } from '../../support/webhooks.ts';

function targetOf({ url }: TestStore): DatabaseTarget {
  const target = databaseTarget(url);
  if (target === null) throw new Error(`${url} names no store`);
  return target;
}

onSuiteEngine('lookups of keys', (store) => {
  /** A lookup over keys named by their hash, with the revision of each holder; records the parameters of every query. */
  function recorded(revisions: Record<string, number>) {
    const queried: (readonly SqlValue[])[] = [];
    let isDown = false;
    const db = alteredStore(store.db, {
      dataVersion: null,
      all: async <Row>(_sql: string, params: readonly SqlValue[] = []) => {
        if (isDown) throw new Error('down');
        queried.push(params.slice(1));
        return Object.entries(revisions)
          .filter(([keyHash]) => params.includes(keyHash))
          .map(([keyHash, revision]) => ({
            keyHash,
            keyId: `key_${keyHash}`,
            entityId: 'ent_1',
            permissions: 'webhooks:read',
            revision,
          })) as Row[];
      },
    });
    const lookup = new KeyLookup(db, Date.now);
    const revisionOf = async (keyHash: string) => (await lookup.find(keyHash))?.revision ?? null;
    const setDown = (down: boolean) => {
      isDown = down;
    };
    return { queried, lookup, revisionOf, setDown };
  }

  test('of one tick share one query, which names each key once, and an unknown key is null', async () => {
    const { queried, revisionOf } = recorded({ one: 1, two: 2 });
    expect(await Promise.all(['one', 'two', 'one', 'none'].map(revisionOf))).toEqual([1, 2, 1, null]);
    expect(queried).toEqual([['one', 'two', 'none']]);
  });

  test('after the query was sent get a query of their own', async () => {
    const revisions: Record<string, number> = { one: 1 };
    const { queried, revisionOf } = recorded(revisions);
    const first = revisionOf('one');
    await new Promise((resolve) => setImmediate(resolve));
    revisions.one = 2;
    const second = revisionOf('one');
    expect([await first, await second]).toEqual([1, 2]);
    expect(queried).toHaveLength(2);
  });

  test('fail together with their query, and those of the next query do not', async () => {
    const { lookup, revisionOf, setDown } = recorded({ one: 1 });
    setDown(true);
    const failures = await Promise.all(['one', 'two'].map((keyHash) => rejection(lookup.find(keyHash))));
    expect(failures.map(({ message }) => message)).toEqual(['down', 'down']);
    setDown(false);
    expect(await revisionOf('one')).toBe(1);
  });

  /** A lookup of the key of a real tenant; counts the queries. */
  async function ofTenant(expiresAt: number | null = null) {
    const { apiKey, keyId, entityId } = await createTenant(store.db, ['webhooks:read'], expiresAt);
    const clock = { nowMs: (expiresAt ?? 1_800_000_000) * 1_000 - 1 };
    let queries = 0;
    const all: typeof store.db.all = (sql, params) => {
      queries++;
      return store.db.all(sql, params);
    };
    const lookup = new KeyLookup(alteredStore(store.db, { all }), () => clock.nowMs);
    return { keyId, entityId, clock, find: () => lookup.find(hashApiKey(apiKey)), queries: () => queries };
  }

  test('are repeated only after a commit on SQLite', async () => {
    const { entityId, find, queries } = await ofTenant();
    const first = await find();
    expect(await find()).toEqual(first);
    expect(queries()).toBe(store.engine === 'sqlite' ? 1 : 2);
    await createTenant(store.db);
    expect((await find())?.entityId).toBe(entityId);
    expect(queries()).toBe(store.engine === 'sqlite' ? 2 : 3);
  });

  test('see a revoked key and a changed revision at once', async () => {
    const { keyId, entityId, find } = await ofTenant();
    const before = (await find())?.revision ?? 0;
    await register(store.db, entityId, 'https://example.com/hook', [{ networkId: 1, event: 'LatePayment' }]);
    expect((await find())?.revision).toBeGreaterThan(before);
    await revokeApiKey(store.db, keyId, TEST_CHANGE);
    expect(await find()).toBeNull();
  });

  test('see what another process commits', async () => {
    const { keyId, find } = await ofTenant();
    expect(await find()).not.toBeNull();
    const other = await openDatabase(targetOf(store));
    await other.transaction((queries) => queries.run('update api_keys set revoked_at = 1 where id = $1', [keyId]));
    await other.close();
    expect(await find()).toBeNull();
  });

  test('do not find a key that has expired since the last commit', async () => {
    const { clock, find } = await ofTenant(1_800_000_000);
    expect(await find()).not.toBeNull();
    clock.nowMs += 1;
    expect(await find()).toBeNull();
  });

  test('keep no holder that a commit during the query may have changed', async () => {
    const { apiKey, keyId } = await createTenant(store.db);
    let isFirst = true;
    const all = async <Row>(sql: string, params?: readonly SqlValue[]) => {
      const rows = await store.db.all<Row>(sql, params);
      if (isFirst) await revokeApiKey(store.db, keyId, TEST_CHANGE);
      isFirst = false;
      return rows;
    };
    const lookup = new KeyLookup(alteredStore(store.db, { all }), Date.now);
    expect(await lookup.find(hashApiKey(apiKey))).not.toBeNull();
    expect(await lookup.find(hashApiKey(apiKey))).toBeNull();
  });
});
