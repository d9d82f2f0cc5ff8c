import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import type { SecretList } from '../../../src/contract/secrets.ts';
import { sign } from '../../../src/domain/signing.ts';
import { readSigningMaterial } from '../../../src/store/tenants/secrets.ts';
import {
  type CallOptions,
  call,
  createTenant,
  TEST_BOX,
  TEST_CHANGE,
  type Tenant,
  testApp,
} from '../../support/api.ts';
import { listAudit, shown } from '../../support/audit.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { checkSignature, signatureHeaders } from '../../support/signatures.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const SECRETS = '/api/v1/crypto/webhooks/secret';
const ROTATE = `${SECRETS}/rotate`;
const HOUR_S = 3_600;

onSuiteEngine('the signing secrets', (store) => {
  let app: App;
  let tenant: Tenant;
  let nowS: number;

  beforeEach(async () => {
    nowS = TEST_CHANGE.nowS;
    app = testApp(store.db, {}, { nowMs: () => nowS * 1000 + 999 });
    tenant = await createTenant(store.db);
  });

  const list = async () => (await (await call(app, tenant, SECRETS)).json()) as SecretList;
  const rotate = async (options: CallOptions = {}): Promise<SecretList> => {
    const response = await call(app, tenant, ROTATE, { method: 'POST', ...options });
    expect(response.status).toBe(201);
    return (await response.json()) as SecretList;
  };
  const ids = ({ secrets }: SecretList) => secrets.map(({ secretId }) => secretId);

  test('of a new entity are one, of 32 bytes, with a public key beside it, for no cache to keep', async () => {
    const response = await call(app, tenant, SECRETS);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('etag')).toBeNull();
    const shownOnce = (await response.json()) as SecretList;
    expect(shownOnce).toEqual({
      totalResults: 1,
      secrets: [
        {
          secretId: expect.stringMatching(/^sec_[0-9a-f]{32}$/),
          secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
          importedText: null,
          dateCreated: TEST_CHANGE.nowS,
          dateExpires: null,
        },
      ],
      publicKey: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
      publicKeys: [
        {
          keyId: expect.stringMatching(/^[\w-]{43}$/),
          publicKey: shownOnce.publicKey,
          dateCreated: TEST_CHANGE.nowS,
          dateExpires: null,
        },
      ],
      keySetPath: `/keys/${tenant.entityId}/jwks.json`,
    });
    expect(Buffer.from(shownOnce.secrets[0]?.secret.slice(6) ?? '', 'base64')).toHaveLength(32);
    expect(await list()).toEqual(shownOnce);
  });

  test('of two entities have nothing in common', async () => {
    const mine = await list();
    tenant = await createTenant(store.db);
    const theirs = await list();
    expect(theirs.secrets[0]?.secret).not.toBe(mine.secrets[0]?.secret);
    expect(theirs.publicKey).not.toBe(mine.publicKey);
  });

  test('rotated without a body are two for a day, the newest first, and then one', async () => {
    const [first] = (await list()).secrets;
    nowS += 10;
    const rotatedAt = nowS;
    const after = await rotate();
    expect(after.secrets.map(({ dateExpires }) => dateExpires)).toEqual([null, rotatedAt + 24 * HOUR_S]);
    expect(after.secrets[1]).toEqual({ ...first, dateExpires: rotatedAt + 24 * HOUR_S } as never);
    expect(after.secrets[0]).toMatchObject({ dateCreated: rotatedAt });
    expect(await list()).toEqual(after);
    nowS = rotatedAt + 24 * HOUR_S - 1;
    expect(await list()).toEqual(after);
    nowS += 1;
    expect(await list()).toEqual({ ...after, totalResults: 1, secrets: after.secrets.slice(0, 1) });
  });

  test('rotated are for no cache to keep, and keep their public key', async () => {
    const { publicKey } = await list();
    const response = await call(app, tenant, ROTATE, { method: 'POST' });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({ totalResults: 2, publicKey });
  });

  test.each([0, 1, 168])('rotated with overlapHours %i sign together for so long', async (overlapHours) => {
    const before = ids(await list());
    const after = await rotate({ json: { overlapHours } });
    expect(after.totalResults).toBe(overlapHours === 0 ? 1 : 2);
    expect(ids(after).slice(1)).toEqual(overlapHours === 0 ? [] : before);
    expect(after.secrets[1]?.dateExpires ?? nowS).toBe(nowS + overlapHours * HOUR_S);
  });

  test.each([[-1], [169], [1.5], ['24'], [null], [true], [[24]], [1e300]])(
    'overlapHours %j is 400 and rotates nothing',
    async (value) => {
      const before = await list();
      const response = await call(app, tenant, ROTATE, { json: { overlapHours: value } });
      const errors = messagesByName(await expectProblem(response, 'invalid_request'));
      expect(errors).toEqual({ overlapHours: 'must be a whole number of hours from 0 to 168' });
      expect(await list()).toEqual(before);
    },
  );

  test('rotated with an empty object or an empty body sign together for a day as well', async () => {
    const day = nowS + 24 * HOUR_S;
    expect((await rotate({ json: {} })).secrets[1]?.dateExpires).toBe(day);
    const empty = { body: '', headers: { 'content-type': 'application/json' } };
    expect((await rotate(empty)).secrets[1]?.dateExpires).toBe(day);
  });

  test('are not rotated by a body that is not what it should be', async () => {
    const before = await list();
    const text = { body: 'overlapHours=0', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    await expectProblem(await call(app, tenant, ROTATE, text), 'unsupported_media_type');
    const broken = { body: '{', headers: { 'content-type': 'application/json' } };
    await expectProblem(await call(app, tenant, ROTATE, broken), 'invalid_json');
    const unknown = await call(app, tenant, ROTATE, { json: { overlaphours: 0 } });
    expect(messagesByName(await expectProblem(unknown, 'invalid_request'))).toEqual({
      overlaphours: expect.stringContaining('did you mean overlapHours?'),
    });
    await expectProblem(await call(app, tenant, ROTATE, { json: [] }), 'invalid_request');
    await expectProblem(await call(app, tenant, `${ROTATE}?overlapHours=0`, { method: 'POST' }), 'invalid_request');
    expect(await list()).toEqual(before);
  });

  test('in force are five at most: the sixth is 409, and rotating with no overlap or after one expired is not', async () => {
    for (let count = 2; count <= 5; count++) expect(await rotate()).toMatchObject({ totalResults: count });
    const five = await list();
    const { detail } = await expectProblem(await call(app, tenant, ROTATE, { method: 'POST' }), 'conflict');
    expect(detail).toContain('At most 5');
    expect(await list()).toEqual(five);
    nowS += 24 * HOUR_S;
    expect(await rotate()).toMatchObject({ totalResults: 2 });
    expect(await rotate({ json: { overlapHours: 0 } })).toMatchObject({ totalResults: 1 });
  });

  test('rotated are in the audit by their ids and ends, and by nothing that signs', async () => {
    const { secrets } = await rotate({ json: { overlapHours: 2 } });
    const rows = (await listAudit(app, tenant, '?action=secret.rotated')).audit.map(shown);
    const inForce = secrets.map(({ secretId, dateExpires }) => ({ secretId, dateExpires }));
    expect(rows).toEqual([
      {
        actor: tenant.keyId,
        action: 'secret.rotated',
        target: secrets[0]?.secretId ?? '',
        before: null,
        after: { overlapHours: 2, inForce },
        dateCreated: nowS,
      },
    ]);
  });

  const bring = async (body: object): Promise<SecretList> => {
    const response = await call(app, tenant, SECRETS, { method: 'PUT', json: body });
    expect({ status: response.status, cache: response.headers.get('cache-control') }).toEqual({
      status: 200,
      cache: 'no-store',
    });
    return (await response.json()) as SecretList;
  };

  test('of another service become the newest; the ones before keep signing for the overlap', async () => {
    const [first] = (await list()).secrets;
    const imported = await bring({ secret: 'their secret, as it is', overlapHours: 2 });
    expect(imported.secrets).toEqual([
      {
        secretId: expect.stringMatching(/^sec_/),
        secret: `whsec_${Buffer.from('their secret, as it is\0\0').toString('base64')}`,
        importedText: 'their secret, as it is',
        dateCreated: nowS,
        dateExpires: null,
      },
      { secretId: '', secret: '', importedText: null, dateCreated: 0, ...first, dateExpires: nowS + 2 * HOUR_S },
    ]);
    expect(await list()).toEqual(imported);
    const [newest] = (await listAudit(app, tenant, '?action=secret.imported')).audit.map(shown);
    expect(newest).toMatchObject({ action: 'secret.imported', target: imported.secrets[0]?.secretId ?? '' });
    expect(JSON.stringify(newest)).not.toContain('their secret');
  });

  test('can be whsec_ or hex, and what is listed verifies what they sign', async () => {
    const key = Buffer.alloc(32, 9);
    const whsec = `whsec_${key.toString('base64')}`;
    const [byWhsec] = (await bring({ secret: whsec })).secrets;
    expect(byWhsec).toMatchObject({ secret: whsec, importedText: null });
    const [byHex] = (await bring({ secret: key.toString('hex'), format: 'hex' })).secrets;
    expect(byHex).toMatchObject({ secret: whsec, importedText: key.toString('hex') });
    const [byText] = (await bring({ secret: whsec, format: 'text' })).secrets;
    expect(byText).toMatchObject({ importedText: whsec });
  });

  test('that are imported twice are there once', async () => {
    const once = await bring({ secret: 'their secret, as it is' });
    expect(await bring({ secret: 'their secret, as it is' })).toEqual(once);
    await rotate();
    const again = await bring({ secret: 'their secret, as it is' });
    expect(again.secrets.map(({ importedText }) => importedText)).toEqual(['their secret, as it is', null, null]);
  });

  test.each([
    [{ secret: 'too short' }, 'secret', /16 to 256 bytes/],
    [{ secret: 'x'.repeat(257) }, 'secret', /16 to 256 bytes/],
    [{ secret: 'a secret with a line break\n' }, 'secret', /control characters/],
    [{ secret: 'whsec_' }, 'secret', /base64 of 24 to 64 bytes/],
    [{ secret: 'a secret that is not hexadecimal', format: 'hex' }, 'secret', /hex digits/],
    [{ secret: 'their secret, as it is', format: 'base64' }, 'format', /one of whsec, hex, text/],
    [{ secret: 7 }, 'secret', /must be a text/],
    [{ overlapHours: 1 }, 'secret', /must be/],
  ])('cannot be imported as %j', async (body, name, message) => {
    const response = await call(app, tenant, SECRETS, { method: 'PUT', json: body });
    const problem = await expectProblem(response, 'invalid_request');
    expect(messagesByName(problem)[name]).toMatch(message);
    expect((await list()).totalResults).toBe(1);
  });

  test('sign what the listed secrets and the public key verify, old and new alike', async () => {
    const { secrets, publicKey } = await rotate();
    const material = await readSigningMaterial(store.db, TEST_BOX, tenant.entityId, nowS);
    const message = { id: 'dlv_1', timestampS: nowS, body: '{"amount":"25.00"}' };
    const signature = sign({
      ...message,
      secrets: material.secrets.map(({ stored }) => stored),
      signingKeys: material.signingKeys.map(({ secretKey }) => secretKey),
    });
    expect(signature.split(' ').map((part) => part.split(',')[0])).toEqual(['v1', 'v1', 'v1a']);
    const headers = signatureHeaders(message.id, nowS, signature);
    const check = (key: string, body = message.body) => checkSignature(body, headers, key, { nowS });
    expect(await check(publicKey)).toBe('verified');
    for (const { secret } of secrets) expect(await check(secret)).toBe('verified');
    expect(await check(publicKey, '{"amount":"26.00"}')).toBe('no_match');
    tenant = await createTenant(store.db);
    expect(await check((await list()).publicKey)).toBe('no_match');
  });
});
