import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import type { ApiKey, Entity } from '../../../src/contract/admin.ts';
import type { WebhookList } from '../../../src/contract/webhooks.ts';
import { PERMISSIONS } from '../../../src/domain/keys/api-keys.ts';
import { type CallOptions, call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { listAudit, shown } from '../../support/audit.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const ENTITIES = '/admin/v1/entities';
const KEYS = '/admin/v1/keys';
const NOW_S = 1_763_168_400;

type Made = { keyId: string; apiKey: string };

onSuiteEngine('the operator', (store) => {
  let app: App;
  let tenant: Tenant;
  let nowS: number;

  beforeAll(async () => {
    nowS = NOW_S;
    app = testApp(store.db, { ADMIN_KEY }, { nowMs: () => nowS * 1000 });
    tenant = await createTenant(store.db);
  });

  const operate = (path: string, options: CallOptions = {}) =>
    call(app, null, path, { ...options, headers: { 'api-key': ADMIN_KEY, ...options.headers } });
  const createEntity = async (name: string): Promise<Tenant> => {
    const response = await operate(ENTITIES, { json: { name } });
    expect(response.status).toBe(201);
    return { keyId: '', ...((await response.json()) as { entityId: string; apiKey: string }) };
  };
  const entities = async (query: string) =>
    (await (await operate(`${ENTITIES}${query}`)).json()) as { totalResults: number; entities: Entity[] };
  const keys = async (query: string) =>
    (await (await operate(`${KEYS}${query}`)).json()) as { totalResults: number; keys: ApiKey[] };

  test('makes an entity that can be used at once, with its key shown for no cache to keep', async () => {
    const response = await operate(ENTITIES, { json: { name: 'Acme' } });
    expect(response.status).toBe(201);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const made = (await response.json()) as Tenant;
    expect(made).toEqual({
      entityId: expect.stringMatching(/^ent_[0-9a-f]{32}$/),
      apiKey: expect.stringMatching(/^pbk_[0-9A-Za-z]{36}$/),
    } as never);
    expect((await call(app, made, WEBHOOKS)).status).toBe(200);
    const { audit } = await listAudit(app, made, '?sortDir=asc');
    expect(audit.map(({ actor, action }) => [actor, action])).toEqual([
      ['operator', 'entity.created'],
      ['operator', 'key.created'],
    ]);
  });

  test('lists entities by name and by date, page by page, names compared by bytes', async () => {
    const names = ['list b', 'list A', 'list a', 'list C'];
    const made = [];
    for (const name of names) {
      nowS += 1;
      made.push((await createEntity(name)).entityId);
    }
    expect(await entities(`?entityId=${made[1]}`)).toEqual({
      totalResults: 1,
      entities: [{ entityId: made[1] ?? '', name: 'list A', dateCreated: nowS - 2 }],
    });
    expect(await entities('?name=list+A')).toMatchObject({ totalResults: 1 });
    expect(await entities('?name=list')).toEqual({ totalResults: 0, entities: [] });
    expect(await entities(`?name=list+A&entityId=${made[0]}`)).toEqual({ totalResults: 0, entities: [] });

    const all = (await entities('?limit=100&sortBy=name&sortDir=asc')).entities.map(({ name }) => name);
    expect(all.filter((name) => name.startsWith('list'))).toEqual(['list A', 'list C', 'list a', 'list b']);
    const newest = (await entities('')).entities.slice(0, 4).map(({ name }) => name);
    expect(newest).toEqual(names.toReversed());
  });

  test('walks the pages of entities and sees each exactly once', async () => {
    const { totalResults } = await entities('');
    const seen: string[] = [];
    for (let page = 1; page <= Math.ceil(totalResults / 2); page++) {
      const part = await entities(`?limit=2&page=${page}&sortBy=name`);
      expect(part.totalResults).toBe(totalResults);
      seen.push(...part.entities.map(({ entityId }) => entityId));
    }
    expect([seen.length, new Set(seen).size]).toEqual([totalResults, totalResults]);
    expect(await entities('?page=1000')).toEqual({ totalResults, entities: [] });
  });

  test('makes, lists and revokes keys; a list shows all but the key', async () => {
    nowS += 1;
    const options = { name: 'Shop', permissions: ['webhooks:read', 'webhooks:read'], dateExpires: nowS + 90 };
    const response = await operate(KEYS, { json: { entityId: tenant.entityId, ...options } });
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { keyId, apiKey } = (await response.json()) as Made;
    const holder = { ...tenant, apiKey };
    expect((await call(app, holder, WEBHOOKS)).status).toBe(200);

    const listed = {
      keyId,
      entityId: tenant.entityId,
      name: 'Shop',
      prefix: 'pbk_',
      lastFour: apiKey.slice(-4),
      permissions: ['webhooks:read' as const],
      dateCreated: nowS,
      dateExpires: nowS + 90,
      dateRevoked: null,
      dateLastUsed: null,
    };
    expect(await keys(`?keyId=${keyId}`)).toEqual({ totalResults: 1, keys: [listed] });
    const ofEntity = await keys(`?entityId=${tenant.entityId}`);
    expect([ofEntity.totalResults, ofEntity.keys[0]]).toEqual([2, listed]);
    expect(JSON.stringify(await keys('?limit=100'))).not.toMatch(/pbk_[0-9A-Za-z]/);

    nowS += 1;
    const revoked = { ...listed, dateRevoked: nowS };
    for (let time = 0; time < 2; time++) {
      const again = await operate(`${KEYS}/${keyId}`, { method: 'DELETE' });
      expect([again.status, await again.json()]).toEqual([200, revoked]);
      nowS += 1;
    }
    await expectProblem(await call(app, holder, WEBHOOKS), 'unauthenticated');
    expect((await keys(`?keyId=${keyId}`)).keys).toEqual([revoked]);
    const { audit } = await listAudit(app, tenant, `?target=${keyId}&sortDir=asc`);
    expect(audit.map(shown)).toMatchObject([
      { actor: 'operator', action: 'key.created', after: { name: 'Shop', dateExpires: listed.dateExpires } },
      { actor: 'operator', action: 'key.revoked', before: { name: 'Shop' }, after: { dateRevoked: nowS - 2 } },
    ]);
  });

  test('makes a key that may do everything and never expires when nothing else is said', async () => {
    const json = { entityId: tenant.entityId };
    const { keyId } = (await (await operate(KEYS, { json })).json()) as Made;
    expect((await keys(`?keyId=${keyId}`)).keys).toMatchObject([
      { name: 'Key', permissions: [...PERMISSIONS], dateExpires: null },
    ]);
  });

  test.each([
    [{}, ['name']],
    [{ name: '' }, ['name']],
    [{ name: 'a\u0000b' }, ['name']],
    [{ name: 'a\nb' }, ['name']],
    [{ name: 'x'.repeat(201) }, ['name']],
    [{ name: 7 }, ['name']],
    [{ name: 'Acme', Name: 'Acme', id: 'ent_1' }, ['Name', 'id']],
    [[], ['']],
  ])('an entity of %j is 400 and names the invalid fields', async (json, names) => {
    const problem = await expectProblem(await operate(ENTITIES, { json }), 'invalid_request');
    expect(Object.keys(messagesByName(problem)).toSorted()).toEqual(names);
  });

  test.each([
    [{}, ['entityId']],
    [{ entityId: 'ent_none' }, ['entityId']],
    [{ entityId: '' }, ['entityId']],
    [{ entityId: 'ent_\u0000' }, ['entityId']],
    [{ entityId: 7, name: '', permissions: [] }, ['entityId', 'name', 'permissions']],
    [{ entityId: 'own', permissions: ['webhooks:eat'] }, ['permissions.0']],
    [{ entityId: 'own', permissions: 'webhooks:read' }, ['permissions']],
    [{ entityId: 'own', dateExpires: NOW_S - 1 }, ['dateExpires']],
    [{ entityId: 'own', dateExpires: 1.5 }, ['dateExpires']],
    [{ entityId: 'own', dateExpires: NOW_S * 1_000 }, ['dateExpires']],
    [{ entityId: 'own', dateExpires: '90d' }, ['dateExpires']],
    [{ entityId: 'own', expires: '90d' }, ['expires']],
  ])('a key of %j is 400 and names the invalid fields in our own words', async (given, names) => {
    const json = 'entityId' in given && given.entityId === 'own' ? { ...given, entityId: tenant.entityId } : given;
    const problem = await expectProblem(await operate(KEYS, { json }), 'invalid_request');
    const errors = messagesByName(problem);
    expect(Object.keys(errors).toSorted()).toEqual(names);
    for (const message of Object.values(errors)) expect(message).toMatch(/^(must|is|names) /);
  });

  test.each([
    ['?limit=101', 'limit'],
    ['?page=0', 'page'],
    ['?sortBy=entityId', 'sortBy'],
    ['?sortDir=up', 'sortDir'],
    ['?entityId=', 'entityId'],
    ['?entityId=a%00', 'entityId'],
    ['?entityid=x', 'entityid'],
    ['?limit=1&limit=2', 'limit'],
  ])('both lists refuse %s like every other list', async (query, name) => {
    for (const path of [ENTITIES, KEYS]) {
      const problem = await expectProblem(await operate(path + query), 'invalid_request');
      expect(Object.keys(messagesByName(problem))).toEqual([name]);
    }
  });

  test('is told 404 of a key that is not there', async () => {
    for (const id of ['key_none', '%00', tenant.entityId]) {
      await expectProblem(await operate(`${KEYS}/${id}`, { method: 'DELETE' }), 'not_found');
    }
  });

  test('acts for the entity that it names, is called operator in its audit, and leaves the others alone', async () => {
    const [acme, other] = [await createEntity('Acme'), await createEntity('Other')];
    const asAcme = { ...acme, apiKey: ADMIN_KEY };
    const json = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };
    const response = await call(app, asAcme, WEBHOOKS, { json });
    expect(response.status).toBe(201);
    const { webhooks } = (await response.json()) as WebhookList;
    const path = `${WEBHOOKS}/${webhooks[0]?.webhookId}`;
    await call(app, asAcme, path, { method: 'PATCH', json: { postUrl: 'https://example.com/new' } });
    await call(app, asAcme, `${WEBHOOKS}?networkId=1`, { method: 'DELETE' });
    await call(app, asAcme, '/api/v1/crypto/webhooks/secret/rotate', { method: 'POST' });
    const { audit } = await listAudit(app, acme, '?actor=operator&limit=100&sortDir=asc');
    expect(audit.map(({ action }) => action)).toEqual([
      'entity.created',
      'key.created',
      'webhooks.registered',
      'webhook.updated',
      'webhooks.deleted',
      'secret.rotated',
    ]);
    expect(JSON.stringify(audit)).not.toContain(ADMIN_KEY);
    expect((await listAudit(app, other)).totalResults).toBe(2);
    expect(await (await call(app, other, WEBHOOKS)).json()).toMatchObject({ totalResults: 0 });
  });
});
