import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { EndpointSecretList } from '../../../../src/contract/endpoints/endpoint.ts';
import type { SecretList } from '../../../../src/contract/secrets.ts';
import { SigningKeyCache } from '../../../../src/delivery/signing-key-cache.ts';
import { endpointNo } from '../../../../src/domain/ids.ts';
import { parseSecret } from '../../../../src/domain/signing.ts';
import { call, createTenant, TEST_BOX, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { listAudit } from '../../../support/audit.ts';
import { HOOK, LATE_ON_1 } from '../../../support/deliveries.ts';
import { endpointOf } from '../../../support/endpoints.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const API = '/api/v1/crypto';
const HOUR_S = 3_600;

onSuiteEngine('the signing secrets of an endpoint', (store) => {
  let app: App;
  let tenant: Tenant;
  let nowS: number;
  let endpointId: string;

  beforeEach(async () => {
    nowS = TEST_CHANGE.nowS;
    app = testApp(store.db, {}, { nowMs: () => nowS * 1_000 });
    tenant = await createTenant(store.db);
    await register(store.db, tenant.entityId, HOOK, [LATE_ON_1]);
    ({ endpointId } = await endpointOf(store.db, tenant.entityId, HOOK));
  });

  const path = () => `${API}/endpoints/${endpointId}/secret`;
  const list = async () => (await (await call(app, tenant, path())).json()) as EndpointSecretList;
  const rotate = async (overlapHours?: number): Promise<EndpointSecretList> => {
    const json = overlapHours === undefined ? {} : { overlapHours };
    const response = await call(app, tenant, `${path()}/rotate`, { method: 'POST', json });
    expect({ status: response.status, cache: response.headers.get('cache-control') }).toEqual({
      status: 201,
      cache: 'no-store',
    });
    return (await response.json()) as EndpointSecretList;
  };
  const setSource = async (secret: 'own' | 'entity') =>
    (await call(app, tenant, `${API}/endpoints/${endpointId}`, { method: 'PATCH', json: { secret } })).json();
  const ofEntity = async () => {
    const { secrets } = (await (await call(app, tenant, `${API}/webhooks/secret`)).json()) as SecretList;
    return secrets.map(({ secret }) => secret);
  };
  const texts = ({ secrets }: EndpointSecretList) => secrets.map(({ secret }) => secret);

  /** The secrets that a request to the endpoint is signed with at this time, the one that counts first. */
  const signing = async (no = endpointNo(endpointId) ?? 0) => {
    const keys = await new SigningKeyCache(store.db, TEST_BOX, false).keysFor(tenant.entityId, 1, nowS, no);
    return keys.secrets.map((key) => Buffer.from(key).toString('base64'));
  };
  const bytes = (secrets: readonly string[]) =>
    secrets.map((text) => Buffer.from(parseSecret(text)).toString('base64'));

  test('are those of the entity, until it gets one of its own', async () => {
    expect(await list()).toEqual({ totalResults: 0, source: 'entity', secrets: [], dateEntitySecretsExpire: null });
    expect(await signing()).toEqual(bytes(await ofEntity()));
    expect(await setSource('own')).toMatchObject({ secret: 'own' });
    const own = await list();
    const dateEntitySecretsExpire = nowS + 24 * HOUR_S;
    expect(own).toMatchObject({
      totalResults: 1,
      source: 'own',
      secrets: [{ dateExpires: null }],
      dateEntitySecretsExpire,
    });
    expect(texts(own)[0] ?? '').toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await ofEntity()).not.toContain(texts(own)[0] ?? '');
    expect(await signing()).toEqual(bytes([...texts(own), ...(await ofEntity())]));
    nowS += 24 * HOUR_S;
    expect(await signing()).toEqual(bytes(texts(own)));
    expect(await list()).toMatchObject({ source: 'own', dateEntitySecretsExpire: null });
  });

  test('are rotated with an overlap, of what signed before', async () => {
    const first = await rotate(2);
    expect(first).toMatchObject({ totalResults: 1, source: 'own', dateEntitySecretsExpire: nowS + 2 * HOUR_S });
    nowS += 2 * HOUR_S;
    const second = await rotate(1);
    expect(second).toMatchObject({ totalResults: 2, secrets: [{ dateExpires: null }, { dateExpires: nowS + HOUR_S }] });
    expect(texts(second)[1]).toBe(texts(first)[0] ?? '');
    expect(await signing()).toEqual(bytes(texts(second)));
    nowS += HOUR_S;
    expect(await signing()).toEqual(bytes([texts(second)[0] ?? '']));
  });

  test('are revoked at once with an overlap of 0, those of the entity too', async () => {
    await rotate();
    const only = await rotate(0);
    expect(only).toMatchObject({ totalResults: 1, dateEntitySecretsExpire: null });
    expect(await signing()).toEqual(bytes(texts(only)));
  });

  test('give way to those of the entity again, and sign beside them for a day', async () => {
    const own = await rotate(0);
    expect(await setSource('entity')).toMatchObject({ secret: 'entity' });
    expect(await list()).toMatchObject({ source: 'entity', secrets: [{ dateExpires: nowS + 24 * HOUR_S }] });
    expect(await signing()).toEqual(bytes([...(await ofEntity()), ...texts(own)]));
    nowS += 24 * HOUR_S;
    expect(await signing()).toEqual(bytes(await ofEntity()));
    expect(await list()).toMatchObject({ totalResults: 0, source: 'entity' });
  });

  test('sign nothing else, and have no more than five in force', async () => {
    await register(store.db, tenant.entityId, `${HOOK}/other`, [LATE_ON_1]);
    const other = await endpointOf(store.db, tenant.entityId, `${HOOK}/other`);
    for (let count = 1; count <= 5; count++) expect((await rotate()).totalResults).toBe(count);
    await expectProblem(await call(app, tenant, `${path()}/rotate`, { method: 'POST', json: {} }), 'conflict');
    expect((await list()).totalResults).toBe(5);
    expect(await signing(endpointNo(other.endpointId) ?? 0)).toEqual(bytes(await ofEntity()));
  });

  test('are in the audit by their ids, and nowhere as they are', async () => {
    const { secrets } = await rotate(3);
    const { audit } = await listAudit(app, tenant, `?target=${endpointId}`);
    const secretId = secrets[0]?.secretId ?? '';
    expect(audit).toMatchObject([
      {
        action: 'endpoint.secret_rotated',
        after: { secretId, overlapHours: 3, inForce: [{ secretId, dateExpires: null }] },
      },
    ]);
    const stored = JSON.stringify([
      await store.db.all('select * from endpoint_secrets'),
      await store.db.all('select * from audit'),
    ]);
    expect(stored).not.toContain((secrets[0]?.secret ?? '').slice('whsec_'.length, 30));
  });
});
