import { afterEach, describe, expect, test } from 'bun:test';
import { MIGRATIONS, migrate } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { readSigningMaterial } from '../../../../src/store/tenants/secrets.ts';
import { readPublicKeys, rotateSigningKey } from '../../../../src/store/tenants/signing-keys.ts';
import { createTenant, TEST_BOX, TEST_CHANGE } from '../../../support/api.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';

const { nowS } = TEST_CHANGE;

for (const engine of ENGINES) {
  describe(`the signing keys of a store of schema version 7, on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    test('sign as before after the upgrade, and can be rotated with an overlap', async () => {
      const created = await createTarget(engine);
      opened.push(created.remove);
      const db = await openDatabase(created.target);
      opened.push(() => db.close());
      await migrate(
        db,
        MIGRATIONS.filter(({ version }) => version <= 7),
      );
      const tenants = [await createTenant(db), await createTenant(db)];
      const rows = await db.all<Record<string, unknown>>('select * from signing_keys order by entity_id');
      expect(rows).toHaveLength(2);

      expect((await migrate(db)).map(({ version }) => version)).toContain(8);
      const upgraded = await db.all<Record<string, unknown>>('select * from signing_keys order by entity_id');
      expect(upgraded).toEqual(rows.map((row) => ({ ...row, expires_at: null })));
      for (const { entityId } of tenants) {
        const { signingKeys } = await readSigningMaterial(db, TEST_BOX, entityId, nowS);
        expect(signingKeys).toEqual([{ secretKey: expect.stringMatching(/^whsk_/), dateExpires: null }]);
        const [before] = await readPublicKeys(db, entityId, nowS);
        const { publicKeys } = await rotateSigningKey(db, TEST_BOX, entityId, 1, TEST_CHANGE);
        expect(publicKeys.map(({ dateExpires }) => dateExpires)).toEqual([null, nowS + 3_600]);
        expect(publicKeys[1]?.keyId).toBe(before?.keyId ?? '');
      }
    });
  });
}
