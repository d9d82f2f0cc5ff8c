import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Endpoint, EndpointList } from '../../../../src/contract/endpoints/endpoint.ts';
import { makeAuthority, pastValidity } from '../../../delivery/http/certificates.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { listAudit } from '../../../support/audit.ts';
import { HOOK, LATE_ON_1 } from '../../../support/deliveries.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const ENDPOINTS = '/api/v1/crypto/endpoints';
const authority = makeAuthority('Paybell Test');
const { cert: certificate, key: privateKey } = authority.issue(['client.test']);
const other = authority.issue(['other.test']);
const expired = authority.issue(['client.test'], pastValidity());

onSuiteEngine('the client certificate of an endpoint', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db, { ALLOW_INSECURE_TARGETS: 'true' });
    tenant = await createTenant(store.db);
  });

  const list = async () => (await (await call(app, tenant, ENDPOINTS)).json()) as EndpointList;
  const stored = () => store.db.all('select * from endpoint_certificates where entity_id = $1', [tenant.entityId]);
  const newEndpoint = async (postUrl = HOOK): Promise<Endpoint> => {
    await register(store.db, tenant.entityId, postUrl, [LATE_ON_1]);
    return (await list()).endpoints.find((endpoint) => endpoint.postUrl === postUrl) as Endpoint;
  };
  const patch = (id: string, clientCertificate: unknown) =>
    call(app, tenant, `${ENDPOINTS}/${id}`, { method: 'PATCH', json: { clientCertificate } });
  const set = async (id: string, clientCertificate: unknown) => {
    const response = await patch(id, clientCertificate);
    expect({ status: response.status, body: await response.clone().text() }).toMatchObject({ status: 200 });
    return ((await response.json()) as Endpoint).clientCertificate;
  };

  test('shows its subject, fingerprint and expiry, and nowhere itself or its key; null removes it', async () => {
    const { endpointId, clientCertificate } = await newEndpoint();
    expect(clientCertificate).toBeNull();
    const shown = {
      subject: 'CN=client.test',
      fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      dateExpires: expect.any(Number),
    };
    expect(await set(endpointId, { certificate, privateKey })).toEqual(shown);
    expect((await list()).endpoints).toMatchObject([{ clientCertificate: shown }]);
    const { audit } = await listAudit(app, tenant);
    expect(audit[0]).toMatchObject({ before: { clientCertificate: null }, after: { clientCertificate: shown } });
    const everywhere = [
      JSON.stringify(await list()),
      JSON.stringify(await listAudit(app, tenant)),
      JSON.stringify(await stored()),
    ];
    const lineOfKey = privateKey.split('\n')[1] ?? '';
    const lineOfCertificate = certificate.split('\n')[2] ?? '';
    for (const text of everywhere) {
      expect(text).not.toContain(lineOfKey);
      expect(text).not.toContain(lineOfCertificate);
    }
    expect(await set(endpointId, { certificate: other.cert, privateKey: other.key })).toMatchObject({
      subject: 'CN=other.test',
    });
    expect(await set(endpointId, null)).toBeNull();
    expect(await stored()).toEqual([]);
  });

  test.each<[string, unknown, Record<string, RegExp>]>([
    ['has expired', { certificate: expired.cert, privateKey: expired.key }, { certificate: /has expired/ }],
    ['has another key', { certificate, privateKey: other.key }, { privateKey: /does not belong to the certificate/ }],
    ['is no PEM', { certificate: 'x', privateKey: 'y' }, { certificate: /certificates in PEM/ }],
    ['is too long', { certificate: 'x'.repeat(32_769), privateKey }, { certificate: /at most 32768 characters/ }],
    ['has no key', { certificate }, { privateKey: /private key in PEM/ }],
    ['has more than that', { certificate, privateKey, passphrase: 'a' }, { passphrase: /not a known field/ }],
    ['is a text', certificate, { '': /object with certificate and privateKey/ }],
  ])('is refused if it %s, and the one before stays', async (_what, given, messages) => {
    const { endpointId } = await newEndpoint();
    const before = await set(endpointId, { certificate, privateKey });
    const problem = await expectProblem(await patch(endpointId, given), 'invalid_request');
    const shown = messagesByName(problem);
    const nameOf = (field: string) => (field === '' ? 'clientCertificate' : `clientCertificate.${field}`);
    expect(Object.keys(shown)).toEqual(Object.keys(messages).map(nameOf));
    for (const [field, message] of Object.entries(messages)) expect(shown[nameOf(field)] ?? '').toMatch(message);
    expect(JSON.stringify(problem)).not.toContain('PRIVATE');
    expect((await list()).endpoints).toMatchObject([{ clientCertificate: before }]);
  });

  test('is refused for a URL without TLS', async () => {
    const { endpointId } = await newEndpoint('http://127.0.0.1:9/hook');
    const problem = await expectProblem(await patch(endpointId, { certificate, privateKey }), 'invalid_request');
    expect(messagesByName(problem)).toEqual({ clientCertificate: expect.stringContaining('https://') });
    expect(await set(endpointId, null)).toBeNull();
  });

  test('goes with the last webhook of its URL, and does not come back with a new one', async () => {
    const { endpointId } = await newEndpoint();
    await set(endpointId, { certificate, privateKey });
    const webhooks = await store.db.all<{ id: string }>('select id from webhooks where entity_id = $1', [
      tenant.entityId,
    ]);
    for (const { id } of webhooks) {
      await call(app, tenant, `/api/v1/crypto/webhooks/classic/${id}`, { method: 'DELETE' });
    }
    expect(await stored()).toEqual([]);
    expect(await newEndpoint()).toMatchObject({ clientCertificate: null });
  });
});
