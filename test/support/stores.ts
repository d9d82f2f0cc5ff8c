import { afterAll, beforeAll, describe } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseTarget } from '../../src/config/database-target.ts';
import type { Database, Queries } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createPostgresDatabase, listenUrlOf, TEST_DEADLINE_MS } from './postgres.ts';
import { SUITE_ENGINES } from './suite.ts';
import { tempBase } from './temp-base.ts';

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** Every connection costs the server 15 ms of processor time. With five, a store still has three transactions at once. */
const POOL = 5;

/** A store for one test file; `db` is set when the tests run. */
export type TestStore = { readonly engine: Engine; readonly db: Database; readonly url: string };

export async function createTarget(
  engine: Engine,
  options: { readonly isMigrated?: boolean; readonly isEmpty?: boolean } = {},
): Promise<{ target: DatabaseTarget; url: string; remove: () => void }> {
  if (engine === 'postgres') {
    const url = await createPostgresDatabase(options);
    const target = { engine, url, listenUrl: listenUrlOf(url), deadlineMs: TEST_DEADLINE_MS, pool: POOL };
    return { target, url, remove: () => undefined };
  }
  const folder = mkdtempSync(join(tempBase(), 'paybell-store-'));
  const file = join(folder, 'paybell.db');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { target: { engine, file, deadlineMs: TEST_DEADLINE_MS }, url: `sqlite:${file}`, remove };
}

/** The same tests on every engine, each on a new store with the current schema. */
export function onEveryEngine(name: string, tests: (store: TestStore) => void): void {
  onEngines(ENGINES, name, tests);
}

/**
 * The same tests on SQLite in the short suite and on PostgreSQL in the long suite. For routes, jobs, commands and most of the
 * store: what `onEveryEngine` runs in the short suite is the list, acceptance, claims, records and the database itself.
 */
export function onSuiteEngine(name: string, tests: (store: TestStore) => void): void {
  onEngines(SUITE_ENGINES, name, tests);
}

function onEngines(engines: readonly Engine[], name: string, tests: (store: TestStore) => void): void {
  for (const engine of engines) {
    describe(`${name} on ${engine}`, () => {
      let opened: { db: Database; url: string; remove: () => void } | null = null;
      const current = () => {
        if (opened === null) throw new Error('the store opens when the tests run');
        return opened;
      };
      beforeAll(async () => {
        const { target, url, remove } = await createTarget(engine, { isMigrated: true });
        opened = { db: await openDatabase(target), url, remove };
        await migrate(opened.db);
      });
      afterAll(async () => {
        await opened?.db.close();
        opened?.remove();
      });
      tests({
        engine,
        get db() {
          return current().db;
        },
        get url() {
          return current().url;
        },
      });
    });
  }
}

/** The same store with some of its functions replaced: a read that is replaced is so for long reads, too. */
export function alteredStore(db: Database, replaced: Partial<Database>): Database {
  const replacesReads = 'all' in replaced || 'get' in replaced || 'snapshot' in replaced;
  return new Proxy(db, {
    get(target, name, altered) {
      if (name === 'longReads' && replacesReads) return altered;
      const value: unknown = Reflect.get(name in replaced ? replaced : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The statements of a transaction, some of them replaced. What is sent without waiting for it is run, and waited for. */
export function alteredQueries(queries: Queries, replaced: Partial<Omit<Queries, 'send'>>): Queries {
  const altered = {
    all: queries.all.bind(queries),
    get: queries.get.bind(queries),
    run: queries.run.bind(queries),
    ...replaced,
  };
  return { ...altered, send: async (sql, params) => void (await altered.run(sql, params)) };
}

/** A store with other statements in each transaction. */
export function alteredTransactions(
  db: Database,
  replace: (queries: Queries) => Parameters<typeof alteredQueries>[1],
): Database {
  const transaction: Database['transaction'] = (work, options) =>
    db.transaction((queries) => work(alteredQueries(queries, replace(queries))), options);
  return alteredStore(db, { transaction });
}

/** Counts the statements of transactions whose result is waited for, each of which is a round trip. */
export function countAwaited(db: Database, onAwaited: () => void): Database {
  const counted = (queries: Queries): Queries => ({
    all: (sql, params) => {
      onAwaited();
      return queries.all(sql, params);
    },
    get: (sql, params) => {
      onAwaited();
      return queries.get(sql, params);
    },
    run: (sql, params) => {
      onAwaited();
      return queries.run(sql, params);
    },
    send: (sql, params) => queries.send(sql, params),
  });
  return alteredStore(db, {
    transaction: (work, options) => db.transaction((queries) => work(counted(queries)), options),
  });
}

/**
 * Counts how often the long reads of a store wait for it: statements that are sent while another one is on its way share its
 * wait.
 */
export function countWaits(db: Database, onWait: () => void): Database {
  let onTheWay = 0;
  const counted = async <Value>(send: () => Promise<Value>): Promise<Value> => {
    if (onTheWay++ === 0) onWait();
    try {
      return await send();
    } finally {
      onTheWay--;
    }
  };
  const snapshot: Database['snapshot'] = (work, entityId) =>
    db.longReads.snapshot(
      (queries) =>
        work({
          all: (sql, params) => counted(() => queries.all(sql, params)),
          get: (sql, params) => counted(() => queries.get(sql, params)),
          run: (sql, params) => counted(() => queries.run(sql, params)),
          send: (sql, params) => queries.send(sql, params),
        }),
      entityId,
    );
  return alteredStore(db, { snapshot });
}
