import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { callerSchema } from '../../../../src/contract/tenants/entity.ts';
import { PERMISSIONS } from '../../../../src/domain/keys/api-keys.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const ENTITY = '/api/v1/crypto/entity';
const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const FAR_S = 4_000_000_000;

onSuiteEngine('the entity of a key', (store) => {
  let app: App;

  beforeAll(() => {
    app = testApp(store.db, { ADMIN_KEY });
  });

  const read = async (tenant: Tenant) => callerSchema.parse(await (await call(app, tenant, ENTITY)).json());

  test('is told to every valid key, with what exactly that key may do and until when', async () => {
    for (const permission of PERMISSIONS) {
      const tenant = await createTenant(store.db, [permission], FAR_S);
      const { entityId, keyId } = tenant;
      expect(await read(tenant)).toEqual({
        entityId,
        name: 'Test',
        keyId,
        permissions: [permission],
        dateExpires: FAR_S,
      });
    }
    const full = await createTenant(store.db);
    expect(await read(full)).toMatchObject({ permissions: [...PERMISSIONS], dateExpires: null });
  });

  test('is told to the operator who acts for it, as one with every permission and no expiry', async () => {
    const { entityId } = await createTenant(store.db, ['events:write'], FAR_S);
    expect(await read({ entityId, keyId: '', apiKey: ADMIN_KEY })).toEqual({
      entityId,
      name: 'Test',
      keyId: 'operator',
      permissions: [...PERMISSIONS],
      dateExpires: null,
    });
  });

  test('is 304 while it stays the same', async () => {
    const tenant = await createTenant(store.db);
    const headers = { 'if-none-match': (await call(app, tenant, ENTITY)).headers.get('etag') ?? '' };
    expect((await call(app, tenant, ENTITY, { headers })).status).toBe(304);
  });
});
