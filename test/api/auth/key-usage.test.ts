import { expect, test } from 'bun:test';
import { listApiKeys } from '../../../src/store/tenants/api-keys.ts';
import { KeyLookup } from '../../../src/store/tenants/key-lookup.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';

const NOW_S = 1_763_168_400;

onEveryEngine('when a key was last used', (store) => {
  const lastUsed = async (keyId: string) => {
    const query = { keyId, page: 1, limit: 1, sortBy: 'dateCreated', sortDir: 'desc' } as const;
    return (await listApiKeys(store.db, query)).keys[0]?.dateLastUsed ?? null;
  };

  test('is written in one go now and then, and never by a request', async () => {
    const [tenant, idle] = [await createTenant(store.db), await createTenant(store.db)];
    let nowS = NOW_S;
    let writes = 0;
    const db = alteredStore(store.db, {
      transaction: (work) => {
        writes++;
        return store.db.transaction(work);
      },
    });
    const keys = new KeyLookup(db, () => nowS * 1000);
    const app = testApp(db, {}, { keys });
    for (let request = 0; request < 20; request++) {
      expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
      nowS += 1;
    }
    expect(writes).toBe(0);
    expect(await lastUsed(tenant.keyId)).toBeNull();

    await keys.saveUses();
    expect(writes).toBe(1);
    expect(await lastUsed(tenant.keyId)).toBe(NOW_S + 19);
    expect(await lastUsed(idle.keyId)).toBeNull();

    await keys.saveUses();
    expect(writes).toBe(1);
  });

  test('is not moved by requests that were refused', async () => {
    const tenant = await createTenant(store.db);
    const keys = new KeyLookup(store.db, Date.now);
    const app = testApp(store.db, {}, { keys });
    await call(app, { ...tenant, entityId: 'ent_none' }, WEBHOOKS);
    await keys.saveUses();
    expect(await lastUsed(tenant.keyId)).toBeNull();
  });

  test('never goes back, whichever of two instances writes last', async () => {
    const tenant = await createTenant(store.db);
    const [early, late] = [NOW_S, NOW_S + 60].map((nowS) => new KeyLookup(store.db, () => nowS * 1000));
    for (const keys of [early, late]) keys?.recordUse({ ...tenant, permissions: new Set(), revision: 1 });
    await late?.saveUses();
    await early?.saveUses();
    expect(await lastUsed(tenant.keyId)).toBe(NOW_S + 60);
  });
});
