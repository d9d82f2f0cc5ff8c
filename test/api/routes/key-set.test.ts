import { beforeEach, expect, test } from 'bun:test';
import { createPublicKey, verify } from 'node:crypto';
import type { App } from '../../../src/api/app.ts';
import type { PublicKeyList } from '../../../src/contract/secrets.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../support/api.ts';
import { listAudit, shown } from '../../support/audit.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const BASE = '/api/v1/crypto';
const ROTATE = `${BASE}/webhooks/signing-key/rotate`;
const HOUR_S = 3_600;

type KeySet = { keys: { kty: string; crv: string; x: string; kid: string; use: string; alg: string }[] };

onSuiteEngine('the published key set', (store) => {
  let app: App;
  let tenant: Tenant;
  let nowS: number;

  beforeEach(async () => {
    nowS = TEST_CHANGE.nowS;
    const settings = { SIGN_ASYMMETRIC: 'true', ALLOW_INSECURE_TARGETS: 'true' };
    app = testApp(store.db, settings, { nowMs: () => nowS * 1000 + 999 });
    tenant = await createTenant(store.db);
  });

  const read = (headers: Record<string, string> = {}, method = 'GET') =>
    call(app, null, `/keys/${tenant.entityId}/jwks.json`, { headers, method });
  const keys = async () => ((await (await read()).json()) as KeySet).keys;
  const rotate = async (overlapHours: number): Promise<PublicKeyList> => {
    const response = await call(app, tenant, ROTATE, { json: { overlapHours } });
    expect({ status: response.status, cache: response.headers.get('cache-control') }).toEqual({
      status: 201,
      cache: 'no-store',
    });
    return (await response.json()) as PublicKeyList;
  };

  test('has the Ed25519 key of the entity as a JSON Web Key, and nothing else', async () => {
    const response = await read();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await response.json()).toEqual({
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          x: expect.stringMatching(/^[\w-]{43}$/),
          kid: expect.stringMatching(/^[\w-]{43}$/),
          use: 'sig',
          alg: 'EdDSA',
        },
      ],
    });
  });

  test('has the old and the new key for the overlap, and then the new one', async () => {
    const [first] = await keys();
    const { publicKeys, keySetPath } = await rotate(2);
    expect(keySetPath).toBe(`/keys/${tenant.entityId}/jwks.json`);
    const both = await keys();
    expect(both.map(({ kid }) => kid)).toEqual(publicKeys.map(({ keyId }) => keyId));
    expect(both[1]).toEqual(first as never);
    nowS += 2 * HOUR_S;
    expect(await keys()).toEqual(both.slice(0, 1));
    await rotate(0);
    expect(await keys()).not.toContainEqual(both[0]);
    expect(await keys()).toHaveLength(1);
  });

  test('can be cached for five minutes, by anyone, but never beyond the end of a key', async () => {
    expect((await read()).headers.get('cache-control')).toBe('public, max-age=300');
    expect((await read()).headers.get('vary')).toBeNull();
    await rotate(1);
    expect((await read()).headers.get('cache-control')).toBe('public, max-age=300');
    nowS += HOUR_S - 7;
    expect((await read()).headers.get('cache-control')).toBe('public, max-age=7');
    nowS += 7;
    expect((await read()).headers.get('cache-control')).toBe('public, max-age=300');
  });

  test('has a tag that changes with the keys, and is 304 to whoever has it', async () => {
    const etag = (await read()).headers.get('etag') ?? '';
    const known = await read({ 'if-none-match': etag });
    expect({ status: known.status, etag: known.headers.get('etag'), body: await known.text() }).toEqual({
      status: 304,
      etag,
      body: '',
    });
    expect(known.headers.get('cache-control')).toBe('public, max-age=300');
    await rotate(1);
    expect((await read({ 'if-none-match': etag })).status).toBe(200);
    const head = await read({}, 'HEAD');
    expect({ status: head.status, body: await head.text() }).toEqual({ status: 200, body: '' });
  });

  test('is one and the same 404 for every entity that there is not, however its id looks', async () => {
    const bodies = new Set<string>();
    for (const id of [`ent_${'0'.repeat(32)}`, 'nonsense', '%00', '%27', 'é', tenant.keyId, `${tenant.entityId}%2F`]) {
      const response = await call(app, tenant, `/keys/${id}/jwks.json`);
      bodies.add(JSON.stringify({ ...(await expectProblem(response, 'not_found')), requestId: '' }));
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
    expect(bodies.size).toBe(1);
  });

  test('accepts no other method and no parameters', async () => {
    const posted = await read({}, 'POST');
    await expectProblem(posted, 'method_not_allowed');
    expect(posted.headers.get('allow')).toBe('GET, HEAD');
    await expectProblem(await call(app, null, `/keys/${tenant.entityId}/jwks.json?kid=1`), 'invalid_request');
  });

  test('is 429 to an address that asks too often, and to no other', async () => {
    const ask = (from: string, id = tenant.entityId) => call(app, null, `/keys/${id}/jwks.json`, { from });
    const statuses = new Map<number, number>();
    for (let i = 0; i < 400; i++) {
      const { status } = await ask('203.0.113.7', i % 2 === 0 ? tenant.entityId : 'ent_none');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) break;
    }
    expect(statuses.get(429)).toBe(1);
    const refused = await ask('203.0.113.7');
    await expectProblem(refused, 'rate_limited');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask('203.0.113.8')).status).toBe(200);
  });

  test('is not served by an instance that only delivers', async () => {
    app = testApp(store.db, { ROLE: 'delivery' });
    await expectProblem(await read(), 'not_found');
  });

  test('verifies what is sent, with node:crypto alone, before, during and after a rotation', async () => {
    // Requests are sent by the clock of the machine.
    nowS = Math.floor(Date.now() / 1000);
    const received: { headers: Headers; body: string }[] = [];
    await using receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        received.push({ headers: request.headers, body: await request.text() });
        return new Response(null, { status: 204 });
      },
    });
    const registration = { postUrl: `${receiver.url}hook`, networkIds: [1], events: ['LatePayment'] };
    const registered = await call(app, tenant, `${BASE}/webhooks/classic`, { json: registration });
    const { webhooks } = (await registered.json()) as { webhooks: { webhookId: string }[] };
    const path = `${BASE}/webhooks/classic/${webhooks[0]?.webhookId}/test`;
    /** For each key of the set, how many of the request's signatures it verifies. */
    const verified = async (set: KeySet['keys']) => {
      expect((await call(app, tenant, path, { method: 'POST' })).status).toBe(200);
      const { headers, body } = received.at(-1) ?? { headers: new Headers(), body: '' };
      const signed = Buffer.from(`${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`);
      const signatures = (headers.get('webhook-signature') ?? '').split(' ').filter((text) => text.startsWith('v1a,'));
      const counts = set.map(({ kty, crv, x }) => {
        const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
        return signatures.filter((text) => verify(null, signed, key, Buffer.from(text.slice(4), 'base64'))).length;
      });
      return { signatures: signatures.length, counts };
    };

    const before = await keys();
    expect(await verified(before)).toEqual({ signatures: 1, counts: [1] });
    // A receiver may have cached the set shortly before the rotation.
    await rotate(1);
    expect(await verified(before)).toEqual({ signatures: 2, counts: [1] });
    expect(await verified(await keys())).toEqual({ signatures: 2, counts: [1, 1] });
    await rotate(0);
    expect(await verified(before)).toEqual({ signatures: 1, counts: [0] });
    expect(await verified(await keys())).toEqual({ signatures: 1, counts: [1] });
  });

  test('and the response to a rotation never have anything that signs', async () => {
    const texts = [JSON.stringify(await rotate(1)), await (await read()).text()];
    const { secrets } = (await (await call(app, tenant, `${BASE}/webhooks/secret`)).json()) as {
      secrets: { secret: string }[];
    };
    const rows = await store.db.all<{ sealed: string }>('select sealed from signing_keys where entity_id = $1', [
      tenant.entityId,
    ]);
    for (const text of texts) {
      expect(text).not.toMatch(/whsec_|whsk_|"d"|"k"|sealed/);
      for (const { secret } of secrets) expect(text).not.toContain(secret.slice(6));
      for (const { sealed } of rows) expect(text).not.toContain(sealed);
    }
  });

  test.each([[-1], [169], [1.5], ['24'], [null]])('is not rotated with overlapHours %j', async (overlapHours) => {
    const before = await keys();
    const response = await call(app, tenant, ROTATE, { json: { overlapHours } });
    const errors = messagesByName(await expectProblem(response, 'invalid_request'));
    expect(errors).toEqual({ overlapHours: 'must be a whole number of hours from 0 to 168' });
    expect(await keys()).toEqual(before);
  });

  test('has five keys at most: the sixth is 409', async () => {
    for (let count = 2; count <= 5; count++) expect(await rotate(24)).toMatchObject({ totalResults: count });
    const { detail } = await expectProblem(await call(app, tenant, ROTATE, { method: 'POST' }), 'conflict');
    expect(detail).toContain('At most 5 signing keys');
    expect(await keys()).toHaveLength(5);
  });

  test('is rotated once in the audit, by the ids and ends of its keys', async () => {
    const { publicKeys } = await rotate(2);
    const inForce = publicKeys.map(({ keyId, dateExpires }) => ({ keyId, dateExpires }));
    expect((await listAudit(app, tenant, '?action=signing_key.rotated')).audit.map(shown)).toEqual([
      {
        actor: tenant.keyId,
        action: 'signing_key.rotated',
        target: publicKeys[0]?.keyId ?? '',
        before: null,
        after: { overlapHours: 2, inForce },
        dateCreated: nowS,
      },
    ]);
  });
});
