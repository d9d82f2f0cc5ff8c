import { afterAll, beforeAll, describe, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseTarget } from '../../src/config.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { createPostgresDatabase } from './postgres.ts';
import { tempBase } from './temp-base.ts';

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** A store of its own for one test file; `db` may be read once the tests run. */
export type TestStore = { readonly engine: Engine; readonly db: Database; readonly url: string };

export async function createTarget(
  engine: Engine,
): Promise<{ target: DatabaseTarget; url: string; remove: () => void }> {
  if (engine === 'postgres') {
    const url = await createPostgresDatabase();
    return { target: { engine, url }, url, remove: () => undefined };
  }
  const folder = mkdtempSync(join(tempBase(), 'paybell-store-'));
  const file = join(folder, 'paybell.db');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { target: { engine, file }, url: `sqlite:${file}`, remove };
}

/** The same tests on every engine, each on a fresh store with its schema in place. */
export function onEveryEngine(name: string, tests: (store: TestStore) => void): void {
  // Counts for the file that calls, as `--timeout` does for all: no test may fail because the machine is slow.
  setDefaultTimeout(120_000);
  for (const engine of ENGINES) {
    describe(`${name} on ${engine}`, () => {
      const store: { engine: Engine; db: Database; url: string } = { engine, db: undefined as never, url: '' };
      let remove: () => void = () => undefined;
      beforeAll(async () => {
        const created = await createTarget(engine);
        remove = created.remove;
        store.url = created.url;
        store.db = await openDatabase(created.target);
        await migrate(store.db);
      });
      afterAll(async () => {
        await store.db.close();
        remove();
      });
      tests(store);
    });
  }
}

/** The same store with some of its functions replaced; all others are its own, whatever the interface gains. */
export function alteredStore(db: Database, replaced: Partial<Database>): Database {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(name in replaced ? replaced : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
