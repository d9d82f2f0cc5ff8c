import { afterEach, describe, expect, test } from 'bun:test';
import type { DatabaseTarget } from '../../../src/config/database-target.ts';
import { loadConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/store/database/database.ts';
import {
  DevelopmentStoreError,
  MIGRATIONS,
  migrate,
  pendingMigrations,
  SchemaTooNewError,
} from '../../../src/store/database/migrate.ts';
import type { Migration } from '../../../src/store/database/migrations/migration.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { openStore, PendingMigrationsError } from '../../../src/store/open-store.ts';
import { createTenant } from '../../support/api.ts';
import { onlyOn } from '../../support/only-on.ts';
import { rejection } from '../../support/rejection.ts';
import { createTarget, ENGINES } from '../../support/stores.ts';

const VERSIONS = MIGRATIONS.map(({ version }) => version);
const LATEST = VERSIONS.at(-1) ?? 0;
const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

test('the versions of the migrations rise by one from one', () => {
  expect(VERSIONS).toEqual(MIGRATIONS.map((_, index) => index + 1));
});

for (const engine of ENGINES) {
  describe(`migrations on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    async function emptyStore(): Promise<{ target: DatabaseTarget; url: string }> {
      const created = await createTarget(engine, { isEmpty: true });
      opened.push(created.remove);
      return created;
    }

    async function open(target: DatabaseTarget): Promise<Database> {
      const db = await openDatabase(target);
      opened.push(() => db.close());
      return db;
    }

    const configOf = (url: string, autoMigrate: boolean) =>
      loadConfig({ DATABASE_URL: url, SECRET_KEY, AUTO_MIGRATE: String(autoMigrate) });

    test('an empty store lacks all of them, and none after they were applied', async () => {
      const db = await open((await emptyStore()).target);
      expect((await pendingMigrations(db)).map(({ version }) => version)).toEqual(VERSIONS);
      expect((await migrate(db)).map(({ version }) => version)).toEqual(VERSIONS);
      expect(await pendingMigrations(db)).toEqual([]);
      expect(await migrate(db)).toEqual([]);
    });

    test('four instances that start at once apply each exactly once', async () => {
      const { target } = await emptyStore();
      const instances = await Promise.all([1, 2, 3, 4].map(() => open(target)));
      const applied = await Promise.all(instances.map((db) => migrate(db)));
      expect(applied.flat().map(({ version }) => version)).toEqual(VERSIONS);
    });

    test('a store of a newer release is refused, with both versions named', async () => {
      const db = await open((await emptyStore()).target);
      await migrate(db);
      await db.transaction((queries) =>
        queries.run('insert into schema_migrations (version, name, applied_at) values ($1, $2, $3)', [999, 'later', 1]),
      );
      expect(await rejection(migrate(db))).toBeInstanceOf(SchemaTooNewError);
      expect((await rejection(pendingMigrations(db))).message).toMatch(new RegExp(`version 999.*up to ${LATEST}`));
    });

    test('a store of a development version is rejected and stays as it is', async () => {
      const { target, url } = await emptyStore();
      const db = await open(target);
      // As 0.2 left it: seventeen migrations, of which the first made the tables of webhooks.
      await migrate(db, [
        { version: 1, name: 'entities, api keys and webhooks', statements: ['create table entities (id text)'] },
        { version: 17, name: 'deliveries below the mark of their head', statements: [] },
      ]);
      for (const autoMigrate of [true, false]) {
        const rejected = await rejection(openStore(configOf(url, autoMigrate)));
        expect(rejected).toBeInstanceOf(DevelopmentStoreError);
        expect(rejected.message).toBe(
          'this store was written by a development version; export its webhooks with that version and import them',
        );
      }
      expect(await db.all('select * from entities')).toEqual([]);
      expect(await db.get(db.dialect.findTable, ['webhooks'])).toBeUndefined();
    });

    test('the next release keeps what is stored and applies only what is new', async () => {
      const db = await open((await emptyStore()).target);
      await migrate(db);
      const { entityId } = await createTenant(db);
      const next = { version: LATEST + 1, name: 'next', statements: ['alter table entities add column note text'] };
      expect(await migrate(db, [...MIGRATIONS, next])).toEqual([next]);
      expect(await db.get('select id, note from entities')).toEqual({ id: entityId, note: null });
    });

    test('one that fails half-way leaves the store as it was before', async () => {
      const db = await open((await emptyStore()).target);
      const broken = {
        version: LATEST + 1,
        name: 'broken',
        statements: ['create table half (id text)', 'create nonsense'],
      };
      await rejection(migrate(db, [...MIGRATIONS, broken]));
      expect((await pendingMigrations(db)).map(({ version }) => version)).toEqual(VERSIONS);
      expect(await migrate(db)).toHaveLength(VERSIONS.length);
    });

    onlyOn('postgres', { engine })('no time limit of the connection ends one that takes minutes', async () => {
      const db = await open((await emptyStore()).target);
      const readLimits: Migration = {
        version: LATEST + 1,
        name: 'long',
        statements: [
          `create table limits as select name, current_setting(name) as value
           from pg_settings where name like '%timeout%' and context = 'user'`,
        ],
      };
      await migrate(db, [...MIGRATIONS, readLimits]);
      const rows = await db.all<{ name: string; value: string }>('select name, value from limits');
      const limits = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
      expect(limits).toMatchObject({
        statement_timeout: '0',
        lock_timeout: '0',
        idle_in_transaction_session_timeout: '1min',
      });
      expect(limits.transaction_timeout ?? '0').toBe('0');
    });

    test('with AUTO_MIGRATE=false an old store is not touched, and what it lacks is named', async () => {
      const { target, url } = await emptyStore();
      const refused = openStore(configOf(url, false));
      expect(await rejection(refused)).toBeInstanceOf(PendingMigrationsError);
      expect((await rejection(refused)).message).toContain(`1 (${MIGRATIONS[0]?.name})`);
      expect(await pendingMigrations(await open(target))).toHaveLength(VERSIONS.length);
    });

    test('with AUTO_MIGRATE=false a store that is up to date opens', async () => {
      const { target, url } = await emptyStore();
      await migrate(await open(target));
      const { db } = await openStore(configOf(url, false));
      opened.push(() => db.close());
      expect(db.engine).toBe(engine);
    });
  });
}
