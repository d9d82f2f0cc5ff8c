import { afterEach, describe, expect, test } from 'bun:test';
import type { DatabaseTarget } from '../../../../src/config.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { MIGRATIONS, migrate, pendingMigrations } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { databaseNowMs } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { migrateToOld, OLD_MIGRATIONS, readOldDeliveries } from '../../../support/old-store.ts';
import { seedOldStore, USUAL, WEBHOOKS } from '../../../support/old-store-fixture.ts';
import { runPaybell, servePaybell, tempFolder } from '../../../support/paybell.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';

/** From a store of 0.1.0 to this release, with the commands that an operator runs; and not back again. */

const LATEST = MIGRATIONS.at(-1)?.version ?? 0;
const OLD = OLD_MIGRATIONS.at(-1)?.version ?? 0;

for (const engine of ENGINES) {
  describe(`a store of 0.1.0 on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    async function use<Result>(target: DatabaseTarget, work: (db: Database) => Promise<Result>): Promise<Result> {
      const db = await openDatabase(target);
      return work(db).finally(() => db.close());
    }

    /** Returns how to run commands on the store, and the number of deliveries that one entity has. */
    async function oldStore() {
      const { target, url, remove } = await createTarget(engine);
      const folder = tempFolder();
      opened.push(remove, () => folder.remove());
      const deliveries = await use(target, async (db) => {
        await migrateToOld(db);
        await seedOldStore(db, await databaseNowMs(db));
        return (await readOldDeliveries(db)).filter(({ entityId }) => entityId === USUAL).length;
      });
      // Deliveries of the fixture go to hosts that do not exist, so only the API runs.
      const settings = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 7).toString('base64'), ROLE: 'api' };
      return { target, deliveries, settings, folder: folder.path };
    }

    test('is upgraded by migrate, and served with what it had', async () => {
      const { settings, folder, deliveries } = await oldStore();
      const migrated = await runPaybell(['migrate', '--json'], folder, settings);
      expect(JSON.parse(migrated.stdout)).toEqual({
        applied: MIGRATIONS.slice(OLD).map(({ version, name }) => ({ version, name })),
      });
      const created = await runPaybell(['keys', 'create', '--entity', USUAL, '--json'], folder, settings);
      const { apiKey } = JSON.parse(created.stdout) as { apiKey: string };
      const served = await servePaybell(folder, { ...settings, AUTO_MIGRATE: 'false' });
      opened.push(() => served.stop());
      const read = async (path: string) => {
        const headers = { 'api-key': apiKey, 'entity-id': USUAL };
        return (await fetch(`${served.url}/api/v1/crypto/${path}`, { headers })).json();
      };
      expect(await read(`webhooks/classic/${WEBHOOKS.moved}`)).toMatchObject({
        postUrl: 'https://moved.example.com/elsewhere',
      });
      expect(await read('deliveries')).toMatchObject({ totalResults: deliveries });
    });

    test('is refused by a release that does not know its schema, with both versions named, and stays as it is', async () => {
      const { target, settings, folder } = await oldStore();
      const versions = (db: Database) => db.all('select version from schema_migrations order by version');
      const before = await use(target, async (db) => {
        await migrate(db);
        await db.transaction((queries) =>
          queries.run('insert into schema_migrations (version, name, applied_at) values ($1, $2, $3)', [
            LATEST + 1,
            'of a later release',
            1,
          ]),
        );
        return versions(db);
      });
      for (const command of ['serve', 'migrate', 'entities list']) {
        const { exitCode, stdout, stderr } = await runPaybell(command.split(' '), folder, settings);
        expect({ exitCode, stdout, stderr }).toEqual({
          exitCode: 1,
          stdout: '',
          stderr:
            `error: the store has schema version ${LATEST + 1}, but this release of Paybell knows versions up to ${LATEST}: ` +
            'start the newer release that migrated it, or restore a backup from before the upgrade\n',
        });
      }
      expect(await use(target, versions)).toEqual(before);
    });

    test('reaches the schema of this release also by way of every one between', async () => {
      const { target } = await createTarget(engine).then((created) => {
        opened.push(created.remove);
        return created;
      });
      await use(target, async (db) => {
        await migrateToOld(db);
        await seedOldStore(db, await databaseNowMs(db));
        for (const { version } of MIGRATIONS.slice(OLD)) {
          const applied = await migrate(db, MIGRATIONS.slice(0, version));
          expect(applied.map((migration) => migration.version)).toEqual([version]);
        }
        expect(await pendingMigrations(db)).toEqual([]);
        expect(await wrongDeliveryCounters(db)).toEqual([]);
      });
    });
  });
}
