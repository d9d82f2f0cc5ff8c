import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import type { ProblemCode } from '../../../src/contract/problems.ts';
import { makeApiKey, PERMISSIONS, type Permission } from '../../../src/domain/keys/api-keys.ts';
import { randomBytes } from '../../../src/store/new-id.ts';
import { createApiKey, revokeApiKey } from '../../../src/store/tenants/api-keys.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../support/api.ts';
import { type Operation, operationsOf, pathWith } from '../../support/operations.ts';
import { expectProblem, type ProblemBody } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const LONG_AGO_S = 1_000;

type Refusal = { case: string; headers: Record<string, string>; code: ProblemCode };

onSuiteEngine('every route of the OpenAPI document', (store) => {
  let app: App;
  let tenant: Tenant;
  let other: Tenant;
  let expired: Tenant;
  let revoked: Tenant;
  let operations: Operation[];
  let entityRoutes: Operation[];
  let operatorRoutes: Operation[];
  let openRoutes: Operation[];

  beforeAll(async () => {
    app = testApp(store.db, { ADMIN_KEY });
    [tenant, other, revoked] = [
      await createTenant(store.db),
      await createTenant(store.db),
      await createTenant(store.db),
    ];
    expired = await createTenant(store.db, PERMISSIONS, LONG_AGO_S);
    await revokeApiKey(store.db, revoked.keyId, TEST_CHANGE);
    const all = await operationsOf(app);
    openRoutes = all.filter(({ permission }) => permission === 'none');
    operations = all.filter(({ permission }) => permission !== 'none');
    entityRoutes = operations.filter(({ permission }) => permission !== 'operator');
    operatorRoutes = operations.filter(({ permission }) => permission === 'operator');
  });

  /** Without a body, on purpose: who calls is asked before what they say. */
  const send = (operation: Operation, headers: Record<string, string>) =>
    call(app, null, pathWith(operation, 'none'), { method: operation.method, headers });

  const credentials = ({ apiKey, entityId }: Tenant) => ({ 'api-key': apiKey, 'entity-id': entityId });

  async function keyWith(permissions: readonly Permission[]): Promise<Tenant> {
    const options = { name: 'Narrow', permissions, expiresAt: null };
    const key = await store.db.transaction((queries) => createApiKey(queries, tenant.entityId, options, TEST_CHANGE));
    return { entityId: tenant.entityId, ...key };
  }

  /** Bad keys are the same everywhere; what an entity is told of its own headers is not asked of the operator. */
  const badKeys = (): Refusal[] =>
    [
      { case: 'a malformed key', apiKey: 'nonsense', entityId: tenant.entityId },
      { case: 'a key with a wrong checksum', apiKey: misspell(tenant.apiKey), entityId: tenant.entityId },
      { case: 'an unknown key', apiKey: makeApiKey(randomBytes), entityId: tenant.entityId },
      { case: 'an expired key', ...expired },
      { case: 'a revoked key', ...revoked },
    ].map(({ case: name, apiKey, entityId }) => ({
      case: name,
      headers: { 'api-key': apiKey, 'entity-id': entityId },
      code: 'unauthenticated',
    }));

  async function expectRefusal(operation: Operation, refusal: Refusal): Promise<ProblemBody> {
    const response = await send(operation, refusal.headers);
    const { status } = response;
    expect([operation.name, refusal.case, status]).toEqual([
      operation.name,
      refusal.case,
      refusal.code === 'unauthenticated' ? 401 : 403,
    ]);
    return expectProblem(response, refusal.code);
  }

  test('needs a permission that exists, or the operator, but for one that tells a key about itself', () => {
    expect(operations.length).toBeGreaterThan(15);
    const needed = operations.map(({ name, permission }) => [name, permission ?? 'none']);
    const allowed = new Set<string>([...PERMISSIONS, 'operator']);
    expect(needed.filter(([, permission]) => !allowed.has(permission ?? ''))).toEqual([
      ['GET /api/v1/crypto/entity', 'any'],
    ]);
  });

  test('is open to everyone only where a key set is published, and ignores credentials there', async () => {
    expect(openRoutes.map(({ name }) => name)).toEqual(['GET /keys/{entityId}/jwks.json']);
    for (const headers of [{}, ...badKeys().map((bad) => bad.headers)]) {
      const response = await call(app, null, `/keys/${tenant.entityId}/jwks.json`, { headers });
      expect(response.status).toBe(200);
    }
  });

  test('is one of the operator exactly when it is under /admin/v1/', () => {
    for (const { path, permission } of operations)
      expect(path.startsWith('/admin/v1/')).toBe(permission === 'operator');
    expect(operatorRoutes.length).toBeGreaterThan(0);
  });

  test('is 401 with one body for every key that is not in force, and names a header that is missing', async () => {
    const missing = [
      { headers: {}, names: ['api-key', 'entity-id'] },
      { headers: { 'entity-id': tenant.entityId }, names: ['api-key'] },
      { headers: { 'api-key': tenant.apiKey }, names: ['entity-id'] },
      { headers: { 'api-key': '', 'entity-id': tenant.entityId }, names: ['api-key'] },
      { headers: { 'api-key': tenant.apiKey, 'entity-id': '' }, names: ['entity-id'] },
    ];
    const bodies = new Set<string>();
    for (const operation of entityRoutes) {
      for (const bad of badKeys()) {
        bodies.add(JSON.stringify({ ...(await expectRefusal(operation, bad)), requestId: '' }));
      }
      for (const { headers, names } of missing) {
        const refusal: Refusal = { case: `without ${names}`, headers, code: 'unauthenticated' };
        const { errors } = await expectRefusal(operation, refusal);
        expect(errors).toEqual(names.map((name) => ({ in: 'header', name, message: 'is required' })));
      }
    }
    expect(bodies.size).toBe(1);
  });

  test('is 403 with one body for a key of another entity, whether or not the one named exists', async () => {
    const bodies = new Set<string>();
    for (const operation of entityRoutes) {
      for (const entityId of [other.entityId, 'ent_none']) {
        const refusal: Refusal = {
          case: `as ${entityId}`,
          headers: { 'api-key': tenant.apiKey, 'entity-id': entityId },
          code: 'wrong_entity',
        };
        bodies.add(JSON.stringify({ ...(await expectRefusal(operation, refusal)), requestId: '' }));
      }
    }
    expect(bodies.size).toBe(1);
  });

  test('is 403 that names the permission for a key with all others, and open to a key with that one alone', async () => {
    const guarded = entityRoutes.filter(({ permission }) => permission !== 'any');
    for (const needed of new Set(guarded.map(({ permission }) => permission as Permission))) {
      const without = await keyWith(PERMISSIONS.filter((permission) => permission !== needed));
      const withIt = await keyWith([needed]);
      for (const operation of entityRoutes.filter(({ permission }) => permission === needed)) {
        const refusal: Refusal = { case: 'lacking', headers: credentials(without), code: 'missing_permission' };
        const { detail, errors } = await expectRefusal(operation, refusal);
        expect(detail).toContain(needed);
        expect(errors).toEqual([{ in: 'header', name: 'api-key', message: `needs the permission ${needed}` }]);
        expect([operation.name, await isOpen(operation, credentials(withIt))]).toEqual([operation.name, true]);
      }
    }
  });

  test('of the operator is 401 with one body for every key but ADMIN_KEY, however good', async () => {
    const bodies = new Set<string>();
    for (const operation of operatorRoutes) {
      const good: Refusal = { case: 'a key of an entity', headers: credentials(tenant), code: 'unauthenticated' };
      const near: Refusal = { ...good, case: 'nearly', headers: { 'api-key': `${ADMIN_KEY}x` } };
      const twice: Refusal = { ...good, case: 'twice', headers: { 'api-key': `${ADMIN_KEY}, ${ADMIN_KEY}` } };
      for (const bad of [...badKeys(), good, near, twice]) {
        bodies.add(JSON.stringify({ ...(await expectRefusal(operation, bad)), requestId: '' }));
      }
      const { errors } = await expectRefusal(operation, { case: 'none', headers: {}, code: 'unauthenticated' });
      expect(errors).toEqual([{ in: 'header', name: 'api-key', message: 'is required' }]);
      expect([operation.name, await isOpen(operation, { 'api-key': ADMIN_KEY })]).toEqual([operation.name, true]);
    }
    expect(bodies.size).toBe(1);
  });

  test('accepts ADMIN_KEY with an existing entity-id, and is 403 with any other and 401 without one', async () => {
    for (const operation of entityRoutes) {
      const asOperator = (entityId: string) => ({ 'api-key': ADMIN_KEY, 'entity-id': entityId });
      for (const { entityId } of [tenant, other]) {
        expect([operation.name, await isOpen(operation, asOperator(entityId))]).toEqual([operation.name, true]);
      }
      const headers = asOperator('ent_none');
      await expectRefusal(operation, { case: 'for an unknown entity', headers, code: 'wrong_entity' });
      const alone = { 'api-key': ADMIN_KEY };
      await expectRefusal(operation, { case: 'without an entity', headers: alone, code: 'unauthenticated' });
    }
  });

  test('is 404 under /admin/v1/ when ADMIN_KEY is not set, and its key opens nothing', async () => {
    const plain = testApp(store.db);
    const headers = { 'api-key': ADMIN_KEY, 'entity-id': tenant.entityId };
    for (const operation of operations) {
      const options = { method: operation.method, headers };
      const response = await call(plain, null, pathWith(operation, 'none'), options);
      await expectProblem(response, operation.permission === 'operator' ? 'not_found' : 'unauthenticated');
    }
    await expectProblem(await call(plain, null, '/admin/v1/entities', { method: 'PUT' }), 'not_found');
  });

  /** The credentials are accepted: the status can be about the inputs, but not 401, 403 or 5xx. */
  async function isOpen(operation: Operation, headers: Record<string, string>): Promise<boolean> {
    const { status } = await send(operation, headers);
    return status !== 401 && status !== 403 && status < 500;
  }
});

/** Another letter at the end: well formed but for its checksum. */
function misspell(apiKey: string): string {
  return apiKey.slice(0, -1) + (apiKey.endsWith('a') ? 'b' : 'a');
}
