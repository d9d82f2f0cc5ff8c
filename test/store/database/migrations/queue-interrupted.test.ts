import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { DatabaseTarget } from '../../../../src/config.ts';
import type { Database, Queries } from '../../../../src/store/database/database.ts';
import { migrate, pendingMigrations } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { databaseNowMs } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { migrateToOld, readOldDeliveries, readOldEvents } from '../../../support/old-store.ts';
import { seedOldStore } from '../../../support/old-store-fixture.ts';
import { rejection } from '../../../support/rejection.ts';
import { alteredQueries, alteredStore, createTarget, ENGINES } from '../../../support/stores.ts';

/** Calls back before each statement of every transaction. */
function watched(db: Database, onStatement: () => void): Database {
  const before = async <Value>(statement: () => Promise<Value>): Promise<Value> => {
    onStatement();
    return statement();
  };
  const watch = (queries: Queries): Queries =>
    alteredQueries(queries, {
      all: (sql, params) => before(() => queries.all(sql, params)),
      get: (sql, params) => before(() => queries.get(sql, params)),
      run: (sql, params) => before(() => queries.run(sql, params)),
    });
  return alteredStore(db, {
    transaction: (work, options) => db.transaction((queries) => work(watch(queries)), options),
  });
}

function failingAt(db: Database, statement: number): Database {
  let seen = 0;
  return watched(db, () => {
    if (++seen === statement) throw new Error('the disk is full');
  });
}

const SOURCE = join(import.meta.dir, '../../../../src/store/database');

/** A process that migrates the store and kills itself before the given statement. */
async function migrateAndDie(target: DatabaseTarget, statement: number): Promise<void> {
  const program = `
    import { migrate } from '${SOURCE}/migrate.ts';
    import { openDatabase } from '${SOURCE}/open.ts';
    const db = await openDatabase(${JSON.stringify(target)});
    let seen = 0;
    const transaction = db.transaction.bind(db);
    const kill = (call) => (...args) => (++seen === ${statement} && process.kill(process.pid, 'SIGKILL'), call(...args));
    db.transaction = (work, options) =>
      transaction((queries) => {
        const killing = (name) => kill(queries[name].bind(queries));
        return work(Object.fromEntries(['all', 'get', 'run', 'send'].map((name) => [name, killing(name)])));
      }, options);
    await migrate(db);`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'ignore', stderr: 'inherit' });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
}

for (const engine of ENGINES) {
  describe(`a conversion that is interrupted on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    async function open(target: DatabaseTarget): Promise<Database> {
      const db = await openDatabase(target);
      opened.push(() => db.close());
      return db;
    }

    async function oldStore(): Promise<{ target: DatabaseTarget; db: Database }> {
      const { target, remove } = await createTarget(engine);
      opened.push(remove);
      const db = await open(target);
      await migrateToOld(db);
      await seedOldStore(db, await databaseNowMs(db));
      return { target, db };
    }

    async function countStatements(): Promise<number> {
      const { db } = await oldStore();
      let statements = 0;
      await migrate(watched(db, () => statements++));
      return statements;
    }

    const dump = async (db: Database) => ({ deliveries: await readOldDeliveries(db), events: await readOldEvents(db) });

    test('by any error leaves the store as it was, and the next start does it all', async () => {
      const statements = await countStatements();
      expect(statements).toBeGreaterThan(50);
      const { db } = await oldStore();
      const before = await dump(db);
      for (let statement = 1; statement <= statements; statement += 7) {
        expect((await rejection(migrate(failingAt(db, statement)))).message).toBe('the disk is full');
        expect((await pendingMigrations(db)).map(({ version }) => version)).toContain(7);
      }
      expect(await dump(db)).toEqual(before);
      expect((await migrate(db)).map(({ version }) => version)).toContain(7);
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('by a kill leaves the store as it was, and the next start does it all', async () => {
      const statements = await countStatements();
      const { target, db } = await oldStore();
      const before = await dump(db);
      await db.close();
      for (const statement of [Math.floor(statements / 2), statements]) await migrateAndDie(target, statement);
      const next = await open(target);
      expect(await dump(next)).toEqual(before);
      expect((await migrate(next)).map(({ version }) => version)).toContain(7);
      expect(await wrongDeliveryCounters(next)).toEqual([]);
    });
  });
}
