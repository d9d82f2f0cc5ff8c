import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { auditListQuerySchema } from '../../../src/contract/audit.ts';
import { hashApiKey } from '../../../src/domain/keys/api-keys.ts';
import { listAudit } from '../../../src/store/tenants/audit.ts';
import { call, createTenant, type Tenant, testApp } from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const ENTITIES = '/admin/v1/entities';
const WEBHOOKS = '/api/v1/crypto/webhooks/classic';
const EXPIRY = '2027-01-31';
const EXPIRY_MS = Date.UTC(2027, 0, 31);

const keys = { all: 'key-of-all', reader: 'key-of-reader', writer: 'key-of-writer', sender: 'key-of-sender' };
const ADMIN_KEYS = [
  `all:${hashApiKey(keys.all)}`,
  `reader:${hashApiKey(keys.reader)}:entities:read+webhooks:read`,
  `writer:${hashApiKey(keys.writer)}:entities:read+entities:write`,
  `sender:${hashApiKey(keys.sender)}:events:write+keys:write:${EXPIRY}`,
].join(',');

onSuiteEngine("operators' keys with names", (store) => {
  let nowMs = EXPIRY_MS - 1;
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db, { ADMIN_KEYS }, { nowMs: () => nowMs });
    tenant = await createTenant(store.db);
  });

  const admin = (apiKey: string, method = 'GET', body?: object) =>
    call(app, null, ENTITIES, {
      method,
      headers: { 'api-key': apiKey },
      ...(body === undefined ? {} : { json: body }),
    });

  const asEntity = (apiKey: string, path: string, options = {}) => call(app, { ...tenant, apiKey }, path, options);

  test('open what their scopes name, and a 403 says which one is missing', async () => {
    expect((await admin(keys.all)).status).toBe(200);
    expect((await admin(keys.reader)).status).toBe(200);
    const { detail } = await expectProblem(await admin(keys.reader, 'POST', { name: 'Acme' }), 'missing_permission');
    expect(detail).toContain('entities:write');
    expect((await admin(keys.writer, 'POST', { name: 'Acme' })).status).toBe(201);
    await expectProblem(await admin(keys.sender), 'missing_permission');
    expect((await asEntity(keys.reader, WEBHOOKS)).status).toBe(200);
    await expectProblem(await asEntity(keys.reader, `${WEBHOOKS}/none`, { method: 'DELETE' }), 'missing_permission');
    await expectProblem(await asEntity(keys.writer, WEBHOOKS), 'missing_permission');
  });

  test('open an entity with an entry in its audit log, and say what they may do there', async () => {
    const visit = (apiKey: string, entityId = tenant.entityId) =>
      call(app, null, `${ENTITIES}/${entityId}/visits`, { method: 'POST', headers: { 'api-key': apiKey } });
    const opened = await visit(keys.reader);
    expect([opened.status, await opened.json()]).toEqual([
      201,
      { entityId: tenant.entityId, name: expect.any(String), permissions: ['webhooks:read'] },
    ]);
    const visits = async (): Promise<string[]> => {
      const query = auditListQuerySchema.parse({ action: 'entity.visited', target: tenant.entityId });
      const { audit } = await listAudit(store.db, tenant.entityId, query);
      return audit.map(({ actor }) => actor);
    };
    expect(await visits()).toEqual(['operator:reader']);
    await expectProblem(await visit(keys.reader, 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6'), 'not_found');
    await expectProblem(await visit(keys.sender), 'missing_permission');
    await expectProblem(await visit(tenant.apiKey), 'unauthenticated');
    expect(await visits()).toEqual(['operator:reader']);
  });

  test('are in the audit log by name', async () => {
    const response = await admin(keys.writer, 'POST', { name: 'Audited' });
    const { entityId } = (await response.json()) as { entityId: string };
    const { audit } = await listAudit(store.db, entityId, auditListQuerySchema.parse({}));
    expect(new Set(audit.map(({ actor }) => actor))).toEqual(new Set(['operator:writer']));
  });

  test('show their expiry, and make no key that lasts longer', async () => {
    const keysPath = '/api/v1/crypto/keys';
    const dateExpires = EXPIRY_MS / 1000;
    const shown = (await (await asEntity(keys.sender, '/api/v1/crypto/entity')).json()) as object;
    expect(shown).toMatchObject({ keyId: 'operator:sender', permissions: ['events:write', 'keys:write'], dateExpires });
    const key = { name: 'Made', permissions: ['events:write'] };
    const longer = { json: { ...key, dateExpires: dateExpires + 1 } };
    await expectProblem(await asEntity(keys.sender, keysPath, longer), 'invalid_request');
    expect((await asEntity(keys.sender, keysPath, { json: { ...key, dateExpires } })).status).toBe(201);
  });

  test('are refused from the moment at which they expire', async () => {
    const event = { method: 'POST', json: { event: 'LatePayment', networkId: 1 } };
    expect((await asEntity(keys.sender, '/api/v1/crypto/events', event)).status).toBe(202);
    nowMs = EXPIRY_MS;
    await expectProblem(await asEntity(keys.sender, '/api/v1/crypto/events', event), 'unauthenticated');
    await expectProblem(await admin(keys.sender), 'unauthenticated');
    expect((await admin(keys.all)).status).toBe(200);
    nowMs = EXPIRY_MS - 1;
  });
});
