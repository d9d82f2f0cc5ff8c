import { afterEach, expect, test } from 'bun:test';
import { destinationKey } from '../../src/domain/post-url.ts';
import {
  acceptMany,
  forgetDeliveries,
  HOOK,
  newReceiver,
  ScriptedSender,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { alteredStore, alteredTransactions, onSuiteEngine, type TestStore } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** A store on which a scan finds nothing. */
function withoutScan(store: TestStore) {
  const all: typeof store.db.all = (sql, ...rest) =>
    sql.includes('with recursive walk') ? Promise.resolve([]) : store.db.all(sql, ...rest);
  return alteredStore(store.db, { all });
}

/** A store on which a scan finds nothing, and whose transactions read what the test makes of their rows. */
function withRows(store: TestStore, alter: (sql: string, rows: unknown[]) => Promise<unknown[]>) {
  return alteredTransactions(withoutScan(store), (queries) => ({
    all: async (sql, params) => (await alter(sql, await queries.all(sql, params))) as never[],
  }));
}

const allDelivered = (store: TestStore, entityId: string) => async () =>
  (await statuses(store.db, entityId)).every((status) => status === 'delivered');

onSuiteEngine('an engine that is woken for a destination', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('delivers everything due there without a scan', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender();
    await withEngine(withoutScan(store), sender, async (engine) => {
      await acceptMany(store.db, entityId, 100);
      engine.wake([destinationKey(entityId, HOOK)]);
      await until('all are delivered', allDelivered(store, entityId));
    });
    expect(sender.requests).toHaveLength(100);
    // The cap of one destination, so that the rest waited for those before.
    expect(sender.mostInFlight).toBeLessThanOrEqual(16);
  });

  test('claims again when the claim failed', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    let failures = 0;
    const db = alteredStore(withoutScan(store), {
      transaction: (work) => (failures-- > 0 ? Promise.reject(new Error('broken')) : store.db.transaction(work)),
    });
    await withEngine(db, new ScriptedSender(), async (engine) => {
      failures = 2;
      engine.wake([destinationKey(entityId, HOOK)]);
      await until('it is delivered', allDelivered(store, entityId));
    });
    expect(failures).toBeLessThan(0);
  });

  test('goes on where a claim brings a delivery that no place is reserved for', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const sender = new ScriptedSender();
    let twice = true;
    const db = withRows(store, async (sql, rows) => {
      if (!twice || !sql.includes('may_be_received') || rows.length === 0) return rows;
      twice = false;
      return [...rows, ...structuredClone(rows)];
    });
    await withEngine(db, sender, async (engine) => {
      engine.wake([destinationKey(entityId, HOOK)]);
      await until('it is delivered', allDelivered(store, entityId));
      await acceptMany(store.db, entityId, 20);
      engine.wake([destinationKey(entityId, HOOK)]);
      await until('the next are delivered', allDelivered(store, entityId));
    });
    expect([twice, sender.requests.length]).toEqual([false, 21]);
  });
});
