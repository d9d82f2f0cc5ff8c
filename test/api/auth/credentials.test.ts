import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { hashApiKey, makeApiKey } from '../../../src/domain/keys/api-keys.ts';
import type { Database, SqlValue } from '../../../src/store/database/database.ts';
import { randomBytes } from '../../../src/store/new-id.ts';
import { revokeApiKey } from '../../../src/store/tenants/api-keys.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem, type ProblemBody } from '../../support/problems.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const registration = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };

onSuiteEngine('credentials', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  const listWith = (headers: Bun.HeadersInit) =>
    app.fetch(new Request(`http://paybell.test${WEBHOOKS}`, { headers: new Headers(headers) }));

  test('401 with one and the same body for a malformed, unknown, revoked and expired key and a header given twice', async () => {
    const revoked = await createTenant(store.db);
    await revokeApiKey(store.db, revoked.keyId, TEST_CHANGE);
    const expired = await createTenant(store.db, undefined, 1_000);
    const { apiKey, entityId } = tenant;
    const twice = (name: string): [string, string][] => [
      ['api-key', apiKey],
      ['entity-id', entityId],
      [name, name === 'api-key' ? apiKey : entityId],
    ];
    const refused: Bun.HeadersInit[] = [
      { 'api-key': 'nonsense', 'entity-id': entityId },
      { 'api-key': `${apiKey}x`, 'entity-id': entityId },
      { 'api-key': apiKey.slice(0, -1), 'entity-id': entityId },
      { 'api-key': makeApiKey(randomBytes), 'entity-id': entityId },
      { 'api-key': makeApiKey(randomBytes), 'entity-id': 'ent_none' },
      { 'api-key': revoked.apiKey, 'entity-id': revoked.entityId },
      { 'api-key': revoked.apiKey, 'entity-id': entityId },
      { 'api-key': expired.apiKey, 'entity-id': expired.entityId },
      twice('api-key'),
      twice('entity-id'),
    ];
    const bodies: ProblemBody[] = [];
    for (const headers of refused) {
      const response = await listWith(headers);
      expect(response.headers.get('www-authenticate')).not.toBeNull();
      bodies.push(await expectProblem(response, 'unauthenticated'));
    }
    expect(new Set(bodies.map((body) => JSON.stringify({ ...body, requestId: '' }))).size).toBe(1);
  });

  test('403 with one and the same body for another entity, whether or not it exists', async () => {
    const other = await createTenant(store.db);
    const responses = ['ent_none', other.entityId, tenant.entityId.toUpperCase(), ` ${other.entityId} `].map(
      (entityId) => listWith({ 'api-key': tenant.apiKey, 'entity-id': entityId }),
    );
    const bodies = [];
    for (const response of responses) bodies.push(await expectProblem(await response, 'wrong_entity'));
    expect(new Set(bodies.map((body) => JSON.stringify({ ...body, requestId: '' }))).size).toBe(1);
  });

  test('403 that names the missing permission, for reading and for writing', async () => {
    const reader = await createTenant(store.db, ['webhooks:read']);
    const writer = await createTenant(store.db, ['webhooks:write']);
    expect((await call(app, reader, WEBHOOKS)).status).toBe(200);
    expect((await call(app, writer, WEBHOOKS, { json: registration })).status).toBe(201);
    const write = await expectProblem(await call(app, reader, WEBHOOKS, { json: registration }), 'missing_permission');
    expect(write).toMatchObject({ permission: 'webhooks:write', detail: expect.stringContaining('webhooks:write') });
    const read = await expectProblem(await call(app, writer, WEBHOOKS), 'missing_permission');
    expect(read).toMatchObject({ permission: 'webhooks:read', detail: expect.stringContaining('webhooks:read') });
  });

  test('a key is refused from the next request after its revocation on, and the other keys are not', async () => {
    const leaving = await createTenant(store.db);
    expect((await call(app, leaving, WEBHOOKS)).status).toBe(200);
    await revokeApiKey(store.db, leaving.keyId, TEST_CHANGE);
    await expectProblem(await call(app, leaving, WEBHOOKS), 'unauthenticated');
    expect((await call(app, tenant, WEBHOOKS)).status).toBe(200);
  });

  test('a key is let in until the second of its expiry', async () => {
    const expiresAt = 2_000_000_000;
    const passing = await createTenant(store.db, undefined, expiresAt);
    const at = (nowS: number) => testApp(store.db, {}, { nowMs: () => nowS * 1000 });
    expect((await call(at(expiresAt - 1), passing, WEBHOOKS)).status).toBe(200);
    await expectProblem(await call(at(expiresAt), passing, WEBHOOKS), 'unauthenticated');
  });

  test('the store holds no key, only its hash', async () => {
    const rows = await store.db.all('select * from api_keys');
    expect(JSON.stringify(rows)).not.toContain(tenant.apiKey);
    expect(JSON.stringify(rows)).not.toContain(tenant.apiKey.slice(4, 34));
  });

  test('a key wrong in one character asks the store exactly what a random one does: for the hash of all of it', async () => {
    const asked: unknown[][] = [];
    const db = alteredStore(store.db, {
      all: ((sql: string, parameters: readonly SqlValue[]) => {
        asked.push([sql, ...parameters.slice(1)]);
        return store.db.all(sql, parameters);
      }) as Database['all'],
    });
    const body = tenant.apiKey.slice('pbk_'.length, -6);
    const swapped = body.endsWith('a') ? 'b' : 'a';
    const digits = [...(body.slice(0, -1) + swapped)].map((character) => BASE62.indexOf(character));
    const nearMiss = makeApiKey(() => Uint8Array.from(digits));
    expect(nearMiss.slice(0, 33)).toBe(tenant.apiKey.slice(0, 33));
    const guesses = [nearMiss, makeApiKey(randomBytes)];
    const other = testApp(db, { ADMIN_KEY: 'operator-key-0123456789-abcdefghij' });
    for (const apiKey of guesses)
      await expectProblem(await call(other, { ...tenant, apiKey }, WEBHOOKS), 'unauthenticated');
    const [statement] = asked[0] ?? [];
    expect(asked).toEqual(guesses.map((apiKey) => [statement, hashApiKey(apiKey)]));
  });
});
