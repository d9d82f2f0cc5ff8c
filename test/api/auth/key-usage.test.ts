import { expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { ROWS_PER_STATEMENT, readInteger } from '../../../src/store/database/sql.ts';
import { listApiKeys } from '../../../src/store/tenants/api-keys.ts';
import { KeyLookup } from '../../../src/store/tenants/key-lookup.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, alteredTransactions, onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const NOW_S = 1_763_168_400;

/** As many as need a second transaction. */
const MANY = ROWS_PER_STATEMENT + 20;

/** A store that counts the statements of each transaction. */
function counted(db: Database) {
  const statements: number[] = [];
  const counting = alteredTransactions(db, (queries) => {
    const at = statements.push(0) - 1;
    return {
      run: (sql, params) => {
        statements[at] = (statements[at] ?? 0) + 1;
        return queries.run(sql, params);
      },
    };
  });
  return { statements, db: counting };
}

/** A request of each tenant, in this order. */
function use(keys: KeyLookup, tenants: readonly Tenant[]): void {
  for (const tenant of tenants) keys.recordUse({ ...tenant, permissions: new Set(), revision: 1 });
}

onSuiteEngine('when a key was last used', (store) => {
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
    for (const keys of [early, late]) if (keys !== undefined) use(keys, [tenant]);
    await late?.saveUses();
    await early?.saveUses();
    expect(await lastUsed(tenant.keyId)).toBe(NOW_S + 60);
  });

  async function createTenants(count: number): Promise<Tenant[]> {
    const tenants: Tenant[] = [];
    for (let made = 0; made < count; made++) tenants.push(await createTenant(store.db));
    return tenants;
  }

  const datesOf = async (tenants: readonly Tenant[]) =>
    new Set(await Promise.all(tenants.map(({ keyId }) => lastUsed(keyId))));

  test('is written for a hundred keys by one statement in a transaction of its own', async () => {
    const tenants = await createTenants(MANY);
    const { db, statements } = counted(store.db);
    const keys = new KeyLookup(db, () => NOW_S * 1000);
    use(keys, tenants);
    await keys.saveUses();
    expect(statements).toEqual([1, 1]);
    expect(await datesOf(tenants)).toEqual(new Set([NOW_S]));
  });

  test('is written by the next run where the store failed, with the newest date', async () => {
    const tenants = await createTenants(MANY);
    let nowS = NOW_S;
    let isDown = true;
    const db = alteredStore(store.db, {
      transaction: async (work) => {
        if (isDown) throw new Error('down');
        return store.db.transaction(work);
      },
    });
    const keys = new KeyLookup(db, () => nowS * 1000);
    use(keys, tenants);
    expect((await rejection(keys.saveUses())).message).toBe('down');
    nowS += 60;
    use(keys, tenants.slice(0, 1));
    isDown = false;
    await keys.saveUses();
    expect(await datesOf(tenants.slice(0, 1))).toEqual(new Set([NOW_S + 60]));
    expect(await datesOf(tenants.slice(1))).toEqual(new Set([NOW_S]));
  });

  test('is written without a deadlock by two instances that saw the keys in opposite order', async () => {
    const tenants = await createTenants(20);
    const instances = [tenants, tenants.toReversed()].map((used) => {
      const keys = new KeyLookup(store.db, () => NOW_S * 1000);
      use(keys, used);
      return keys;
    });
    // Both begin while a key in the middle is locked, and go on from there at the same time.
    let saving: Promise<unknown> = Promise.resolve();
    await store.db.transaction(async (queries) => {
      await queries.run('update api_keys set last_four = last_four where id = $1', [tenants[10]?.keyId ?? '']);
      saving = Promise.all(instances.map((keys) => keys.saveUses()));
      if (store.engine === 'postgres') await until('both wait for the key', async () => (await countWaits()) === 2);
    });
    await saving;
    expect(await datesOf(tenants)).toEqual(new Set([NOW_S]));
  });

  const countWaits = () =>
    readInteger(
      store.db,
      'count(*)',
      `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
});
