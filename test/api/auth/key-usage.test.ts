import { expect, test } from 'bun:test';
import { KeyUsage } from '../../../src/api/auth/key-usage.ts';
import { listApiKeys } from '../../../src/store/tenants/api-keys.ts';
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
    const keyUsage = new KeyUsage();
    let nowS = NOW_S;
    let writes = 0;
    const db = alteredStore(store.db, {
      transaction: (work) => {
        writes++;
        return store.db.transaction(work);
      },
    });
    const app = testApp(db, {}, { keyUsage, nowMs: () => nowS * 1000 });
    for (let request = 0; request < 20; request++) {
      expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
      nowS += 1;
    }
    expect(writes).toBe(0);
    expect(await lastUsed(tenant.keyId)).toBeNull();

    await keyUsage.flush(db);
    expect(writes).toBe(1);
    expect(await lastUsed(tenant.keyId)).toBe(NOW_S + 19);
    expect(await lastUsed(idle.keyId)).toBeNull();

    await keyUsage.flush(db);
    expect(writes).toBe(1);
  });

  test('is not moved by requests that were refused', async () => {
    const tenant = await createTenant(store.db);
    const keyUsage = new KeyUsage();
    const app = testApp(store.db, {}, { keyUsage });
    await call(app, { ...tenant, entityId: 'ent_none' }, WEBHOOKS);
    await keyUsage.flush(store.db);
    expect(await lastUsed(tenant.keyId)).toBeNull();
  });

  test('never goes back, whichever of two instances writes last', async () => {
    const tenant = await createTenant(store.db);
    const [early, late] = [new KeyUsage(), new KeyUsage()];
    early.note(tenant.entityId, tenant.keyId, NOW_S);
    late.note(tenant.entityId, tenant.keyId, NOW_S + 60);
    await late.flush(store.db);
    await early.flush(store.db);
    expect(await lastUsed(tenant.keyId)).toBe(NOW_S + 60);
  });
});
