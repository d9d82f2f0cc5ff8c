import { afterEach, describe, expect, test } from 'bun:test';
import { MIGRATIONS, migrate } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { createTenant } from '../../../support/api.ts';
import { endpointsOf } from '../../../support/endpoints.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';
import { seedWebhooks } from '../../../support/webhooks.ts';

const A = 'https://A.example.com:8443/hook';
const B = 'https://b.example.com/hook';

for (const engine of ENGINES) {
  describe(`the webhooks of a store of schema version 8, on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    test('have endpoints after the upgrade: those that had a number keep it, the others get one', async () => {
      const created = await createTarget(engine);
      opened.push(created.remove);
      const db = await openDatabase(created.target);
      opened.push(() => db.close());
      await migrate(
        db,
        MIGRATIONS.filter(({ version }) => version <= 8),
      );
      const { entityId } = await createTenant(db);
      const many = Array.from({ length: 1_200 }, (_, index) => `https://many.example.com/${index}`);
      const event = 'LatePayment';
      await seedWebhooks(db, entityId, [
        { networkId: 1, event, postUrl: A },
        { networkId: 10, event, postUrl: A },
        { networkId: 1, event, postUrl: B },
        ...many.map((postUrl) => ({ networkId: 1, event, postUrl })),
      ]);
      await db.transaction((queries) =>
        queries.run('insert into endpoints (entity_id, no, post_url, created_at_ms) values ($1, 7, $2, 5000)', [
          entityKey(db.dialect, entityId),
          A,
        ]),
      );

      expect((await migrate(db)).map(({ version }) => version)).toContain(9);
      expect(await endpointsOf(db, entityId, { host: 'a.example.com' })).toMatchObject([
        { endpointId: 'ep_00000000000007', postUrl: A, webhooks: 2, dateCreated: 5, ordering: 'none', paused: false },
      ]);
      expect(await endpointsOf(db, entityId, { host: 'b.example.com' })).toMatchObject([{ postUrl: B, webhooks: 1 }]);
      const last = await endpointsOf(db, entityId, { host: 'many.example.com', page: 12 });
      expect(last).toHaveLength(100);
    });
  });
}
