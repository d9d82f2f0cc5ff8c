import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { type ApiKey, apiKeyListSchema, apiKeySchema, createdApiKeySchema } from '../../../../src/contract/admin.ts';
import { PERMISSIONS, type Permission } from '../../../../src/domain/keys/api-keys.ts';
import { createApiKey, revokeApiKey } from '../../../../src/store/tenants/api-keys.ts';
import { createOwnKey, MAX_KEYS_IN_FORCE } from '../../../../src/store/tenants/own-keys.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit } from '../../../support/audit.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { rejection } from '../../../support/rejection.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const KEYS = '/api/v1/crypto/keys';
const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const NOW_S = 1_800_000_000;
const LATER_S = NOW_S + 86_400;
const READ = { name: 'Reader', permissions: ['webhooks:read'] };

onSuiteEngine('the keys of an entity', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, { ADMIN_KEY }, { nowMs: () => NOW_S * 1000 });
    tenant = await createTenant(store.db);
  });

  const post = (who: Tenant, json: unknown) => call(app, who, KEYS, { json });
  const create = async (who: Tenant, json: unknown): Promise<Tenant> => {
    const response = await post(who, json);
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
    return { entityId: who.entityId, ...createdApiKeySchema.parse(await response.json()) };
  };
  const list = async (who: Tenant): Promise<ApiKey[]> =>
    apiKeyListSchema.parse(await (await call(app, who, `${KEYS}?sortDir=asc`)).json()).keys;
  const revoke = (who: Tenant, keyId: string, query = '') =>
    call(app, who, `${KEYS}/${keyId}${query}`, { method: 'DELETE' });
  const newKey = async (permissions: readonly Permission[], expiresAt: number | null = null): Promise<Tenant> => {
    const options = { name: 'Other', permissions, expiresAt };
    const key = await store.db.transaction((queries) => createApiKey(queries, tenant.entityId, options, TEST_CHANGE));
    return { entityId: tenant.entityId, ...key };
  };

  test('are listed without the keys, and one that is created works at once and only for what it was given', async () => {
    const made = await create(tenant, { ...READ, dateExpires: LATER_S });
    const keys = await list(tenant);
    expect(keys.map(({ keyId }) => keyId).toSorted()).toEqual([tenant.keyId, made.keyId].toSorted());
    expect(keys.find(({ keyId }) => keyId === made.keyId)).toMatchObject({
      name: 'Reader',
      permissions: ['webhooks:read'],
      dateExpires: LATER_S,
      lastFour: made.apiKey.slice(-4),
    });
    expect(JSON.stringify(keys)).not.toContain(made.apiKey.slice(4, 34));
    expect((await call(app, made, WEBHOOKS)).status).toBe(200);
    await expectProblem(await call(app, made, KEYS), 'missing_permission');
    await expectProblem(await post(made, READ), 'missing_permission');
  });

  test('never give a permission that the key which creates them does not have', async () => {
    for (const given of PERMISSIONS) {
      const held = PERMISSIONS.filter((permission) => permission !== given);
      const lacking = await newKey(given === 'keys:write' ? ['keys:write'] : held);
      const wanted = given === 'keys:write' ? 'keys:read' : given;
      const problem = await expectProblem(
        await post(lacking, { name: 'More', permissions: ['keys:write', wanted] }),
        'missing_permission',
      );
      expect(problem).toMatchObject({ permission: wanted, errors: [{ in: 'body', name: 'permissions' }] });
    }
    expect(await list(tenant)).toHaveLength(PERMISSIONS.length + 1);
  });

  test('expire no later than the key that creates them, and by default with it', async () => {
    const passing = await newKey(['keys:write', 'webhooks:read'], LATER_S);
    for (const dateExpires of [LATER_S + 1, null]) {
      const problem = await expectProblem(await post(passing, { ...READ, dateExpires }), 'invalid_request');
      expect(messagesByName(problem)).toEqual({ dateExpires: expect.stringContaining(String(LATER_S)) });
    }
    const made = [await create(passing, READ), await create(passing, { ...READ, dateExpires: LATER_S - 1 })];
    const expiries = new Map((await list(tenant)).map(({ keyId, dateExpires }) => [keyId, dateExpires]));
    expect(made.map(({ keyId }) => expiries.get(keyId))).toEqual([LATER_S, LATER_S - 1]);
    const past = await expectProblem(await post(tenant, { ...READ, dateExpires: NOW_S }), 'invalid_request');
    expect(messagesByName(past)).toEqual({ dateExpires: 'must be in the future' });
    expect((await list(tenant)).length).toBe(4);
  });

  test('need a list of permissions, which has no default', async () => {
    for (const [json, name] of [
      [{ name: 'X' }, 'permissions'],
      [{ ...READ, permissions: [] }, 'permissions'],
      [{ ...READ, permissions: ['keys:all'] }, 'permissions.0'],
      [{ ...READ, entityId: tenant.entityId }, 'entityId'],
      [{ ...READ, name: '' }, 'name'],
    ] as const) {
      const problem = await expectProblem(await post(tenant, json), 'invalid_request');
      expect(Object.keys(messagesByName(problem))).toEqual([name]);
    }
  });

  test('are refused above the limit, also when many are created at once, and a revoked one makes room', async () => {
    for (let index = 2; index < MAX_KEYS_IN_FORCE; index++) await newKey(['events:write']);
    await newKey(['events:write'], NOW_S - 1);
    const responses = await Promise.all(Array.from({ length: 5 }, () => post(tenant, READ)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409]);
    await expectProblem(await post(tenant, READ), 'key_limit');
    const { keyId } = await newKey(['events:write']);
    for (const spare of [keyId, (await list(tenant)).at(2)?.keyId ?? '']) {
      expect((await revoke(tenant, spare)).status).toBe(200);
    }
    await create(tenant, READ);
  });

  test('are refused from the next request after their revocation on, and a second one keeps the first date', async () => {
    const made = await create(tenant, READ);
    const revoked = apiKeySchema.parse(await (await revoke(tenant, made.keyId)).json());
    expect(revoked).toMatchObject({ keyId: made.keyId, dateRevoked: NOW_S });
    await expectProblem(await call(app, made, WEBHOOKS), 'unauthenticated');
    app = testApp(store.db, {}, { nowMs: () => LATER_S * 1000 });
    expect(await (await revoke(tenant, made.keyId)).json()).toEqual(revoked);
  });

  test('revoke themselves only if told so, and the last that can create others only if told so too', async () => {
    const second = await newKey(PERMISSIONS);
    await expectProblem(await revoke(tenant, tenant.keyId), 'key_in_use');
    await expectProblem(await revoke(tenant, tenant.keyId, '?last=true'), 'key_in_use');
    expect((await revoke(tenant, tenant.keyId, '?self=true')).status).toBe(200);
    await newKey(['events:write']);
    await expectProblem(await revoke(second, second.keyId), 'key_in_use');
    await expectProblem(await revoke(second, second.keyId, '?self=true'), 'last_key');
    expect((await call(app, second, WEBHOOKS)).status).toBe(200);
    expect((await revoke(second, second.keyId, '?self=true&last=true')).status).toBe(200);
    await expectProblem(await call(app, second, WEBHOOKS), 'unauthenticated');
  });

  test('do not count as left once they have expired, and the operator needs to say so for the last one too', async () => {
    await newKey(PERMISSIONS, NOW_S - 1);
    await expectProblem(await revoke(tenant, tenant.keyId, '?self=true'), 'last_key');
    const operator = { ...tenant, apiKey: ADMIN_KEY };
    await expectProblem(await revoke(operator, tenant.keyId), 'last_key');
    expect((await revoke(operator, tenant.keyId, '?last=true')).status).toBe(200);
    const made = await create(operator, { name: 'Rescue', permissions: [...PERMISSIONS] });
    expect((await call(app, made, WEBHOOKS)).status).toBe(200);
  });

  test('cannot be made by a key that was revoked between its authentication and the change', async () => {
    const leaving = await newKey(PERMISSIONS);
    await revokeApiKey(store.db, leaving.keyId, TEST_CHANGE);
    const key = { name: 'Late', permissions: ['webhooks:read'] as const, expiresAt: undefined };
    const making = createOwnKey(store.db, tenant.entityId, { keyId: leaving.keyId }, key, TEST_CHANGE);
    expect(await rejection(making)).toMatchObject({ kind: 'key_not_in_force' });
    expect(await list(tenant)).toHaveLength(2);
  });

  test('are in the audit log when they are made and revoked, with the key that did it and no key itself', async () => {
    const made = await create(tenant, READ);
    await revoke(tenant, made.keyId);
    const { audit } = await listAudit(app, tenant, `?target=${made.keyId}&sortDir=asc`);
    expect(audit).toMatchObject([
      { actor: tenant.keyId, action: 'key.created', after: { name: 'Reader', permissions: ['webhooks:read'] } },
      { actor: tenant.keyId, action: 'key.revoked', before: { name: 'Reader' }, after: { dateRevoked: NOW_S } },
    ]);
    expect(JSON.stringify(audit)).not.toContain(made.apiKey);
  });
});
