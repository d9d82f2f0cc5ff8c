import { afterEach, describe, expect, test } from 'bun:test';
import { type DatabaseTarget, loadConfig } from '../../../src/config.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { MIGRATIONS, migrate, pendingMigrations, SchemaTooNewError } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { openStore, PendingMigrationsError } from '../../../src/store/open-store.ts';
import { createTenant } from '../../support/api.ts';
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
      const created = await createTarget(engine);
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

    test('all are pending on an empty store, and none after they were applied', async () => {
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

    test('a store of a newer release is rejected, with both versions named', async () => {
      const db = await open((await emptyStore()).target);
      await migrate(db);
      await db.transaction((queries) =>
        queries.run('insert into schema_migrations (version, name, applied_at) values ($1, $2, $3)', [999, 'later', 1]),
      );
      expect(await rejection(migrate(db))).toBeInstanceOf(SchemaTooNewError);
      expect((await rejection(pendingMigrations(db))).message).toMatch(new RegExp(`version 999.*up to ${LATEST}`));
    });

    test('the next release keeps what is stored and applies only what is new', async () => {
      const db = await open((await emptyStore()).target);
      await migrate(db);
      const { entityId } = await createTenant(db);
      const next = { version: LATEST + 1, name: 'next', statements: ['alter table entities add column note text'] };
      expect(await migrate(db, [...MIGRATIONS, next])).toEqual([next]);
      expect(await db.get('select id, note from entities')).toEqual({ id: entityId, note: null });
    });

    test('the sixth gives alerts and tests their kind', async () => {
      const db = await open((await emptyStore()).target);
      await migrate(db, MIGRATIONS.slice(0, 5));
      const rows = [
        ['dlv_event', 'wh_1', 'LatePayment'],
        ['dlv_test', 'wh_1', 'LatePayment'],
        ['dlv_alert', 'notice', 'webhook.suspended'],
        // A webhook may have been imported with this id.
        ['dlv_imported', 'notice', 'LatePayment'],
      ] as const;
      await db.transaction(async (queries) => {
        for (const row of rows) {
          await queries.run(
            `insert into deliveries (entity_id, id, event_id, webhook_id, event, destination, status, created_at_ms)
             values ('ent_1', $1, 'evt_1', $2, $3, 'ent_1 https://example.com:443', 'delivered', 1)`,
            row,
          );
        }
        await queries.run(
          `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms)
           values ('ent_1', 'dlv_test', 1, 'test', 'https://example.com/', 1, 1),
             ('ent_1', 'dlv_event', 1, 'first', 'https://example.com/', 1, 1)`,
        );
      });
      await migrate(db);
      expect(await db.all('select id, kind, webhook_id from deliveries order by id')).toEqual([
        { id: 'dlv_alert', kind: 'alert', webhook_id: 'notice' },
        { id: 'dlv_event', kind: 'event', webhook_id: 'wh_1' },
        { id: 'dlv_imported', kind: 'event', webhook_id: 'notice' },
        { id: 'dlv_test', kind: 'test', webhook_id: 'wh_1' },
      ]);
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

    test('with AUTO_MIGRATE=false an old store is left as it is, and the error names what is pending', async () => {
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
