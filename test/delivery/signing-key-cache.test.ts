import { expect, test } from 'bun:test';
import { SigningKeyCache } from '../../src/delivery/signing-key-cache.ts';
import { type SigningKeys, signWith } from '../../src/domain/signing.ts';
import { type Database, StoreUnavailableError } from '../../src/store/database/database.ts';
import { listSecrets, rotateSecret } from '../../src/store/tenants/secrets.ts';
import { rotateSigningKey } from '../../src/store/tenants/signing-keys.ts';
import { TEST_BOX } from '../support/api.ts';
import { rejection } from '../support/rejection.ts';
import { checkSignature, signatureHeaders } from '../support/signatures.ts';
import { alteredStore, onSuiteEngine } from '../support/stores.ts';
import { NOW_S, newEntity } from '../support/webhooks.ts';

function counted(db: Database): { db: Database; reads: () => number } {
  let reads = 0;
  const counting = alteredStore(db, {
    snapshot: (work) => {
      reads++;
      return db.snapshot(work);
    },
  });
  return { db: counting, reads: () => reads };
}

const MESSAGE = { id: 'dlv_1', timestampS: NOW_S, body: '{}' };

async function signs(keys: SigningKeys, key: string): Promise<boolean> {
  const headers = signatureHeaders(MESSAGE.id, NOW_S, signWith(keys, MESSAGE));
  return (await checkSignature(MESSAGE.body, headers, key, { nowS: NOW_S })) === 'verified';
}

onSuiteEngine('the signing keys of an entity', (store) => {
  const secretsOf = async (entityId: string, nowS = NOW_S) =>
    (await listSecrets(store.db, TEST_BOX, entityId, nowS)).secrets.map(({ secret }) => secret);

  test('are read once for all attempts, even for simultaneous ones', async () => {
    const entityId = await newEntity(store.db);
    const { db, reads } = counted(store.db);
    const cache = new SigningKeyCache(db, TEST_BOX, false);
    await Promise.all(Array.from({ length: 20 }, () => cache.keysFor(entityId, 1, NOW_S, 0)));
    const keys = await cache.keysFor(entityId, 1, NOW_S, 0);
    expect(reads()).toBe(1);
    expect(await signs(keys, (await secretsOf(entityId))[0] ?? '')).toBe(true);
  });

  test('are read again when the revision has changed: both secrets sign after a rotation', async () => {
    const entityId = await newEntity(store.db);
    const cache = new SigningKeyCache(store.db, TEST_BOX, false);
    await cache.keysFor(entityId, 1, NOW_S, 0);
    await rotateSecret(store.db, TEST_BOX, entityId, 24, { actor: 'test', nowS: NOW_S });
    const secrets = await secretsOf(entityId);
    expect(secrets).toHaveLength(2);
    const keys = await cache.keysFor(entityId, 2, NOW_S, 0);
    expect(await Promise.all(secrets.map((secret) => signs(keys, secret)))).toEqual([true, true]);
  });

  test('are read again when the revision has gone back, as after a failover that lost a rotation', async () => {
    const entityId = await newEntity(store.db);
    const { db, reads } = counted(store.db);
    const cache = new SigningKeyCache(db, TEST_BOX, false);
    await cache.keysFor(entityId, 3, NOW_S, 0);
    await cache.keysFor(entityId, 2, NOW_S, 0);
    expect(reads()).toBe(2);
  });

  test('are read once for each revision, however deliveries of both alternate', async () => {
    const entityId = await newEntity(store.db);
    const { db, reads } = counted(store.db);
    const cache = new SigningKeyCache(db, TEST_BOX, false);
    for (const revision of [1, 2, 1, 2, 1, 2]) await cache.keysFor(entityId, revision, NOW_S, 0);
    expect(reads()).toBe(2);
  });

  test('are read again when one of them has expired', async () => {
    const entityId = await newEntity(store.db);
    const cache = new SigningKeyCache(store.db, TEST_BOX, false);
    await rotateSecret(store.db, TEST_BOX, entityId, 1, { actor: 'test', nowS: NOW_S });
    const [newest = '', old = ''] = await secretsOf(entityId);
    const during = await cache.keysFor(entityId, 2, NOW_S + 3_599, 0);
    expect([await signs(during, newest), await signs(during, old)]).toEqual([true, true]);
    const after = await cache.keysFor(entityId, 2, NOW_S + 3_600, 0);
    expect([await signs(after, newest), await signs(after, old)]).toEqual([true, false]);
  });

  test('include the Ed25519 key only if the setting asks for it', async () => {
    const entityId = await newEntity(store.db);
    const { publicKey } = await listSecrets(store.db, TEST_BOX, entityId, NOW_S);
    for (const asymmetric of [false, true]) {
      const keys = await new SigningKeyCache(store.db, TEST_BOX, asymmetric).keysFor(entityId, 1, NOW_S, 0);
      expect(await signs(keys, publicKey)).toBe(asymmetric);
      expect(signWith(keys, MESSAGE).split(' ')).toHaveLength(asymmetric ? 2 : 1);
    }
  });

  test('include both Ed25519 keys during the overlap of a rotation, and then the new one only', async () => {
    const entityId = await newEntity(store.db);
    const cache = new SigningKeyCache(store.db, TEST_BOX, true);
    const change = { actor: 'test', nowS: NOW_S };
    const { publicKeys } = await rotateSigningKey(store.db, TEST_BOX, entityId, 1, change);
    const signers = async (nowS: number) => {
      const keys = await cache.keysFor(entityId, 2, nowS, 0);
      return Promise.all(publicKeys.map(({ publicKey }) => signs(keys, publicKey)));
    };
    expect(await signers(NOW_S + 3_599)).toEqual([true, true]);
    expect(await signers(NOW_S + 3_600)).toEqual([true, false]);
  });

  test('are read again after the store has failed', async () => {
    const entityId = await newEntity(store.db);
    let down = true;
    const flaky = alteredStore(store.db, {
      snapshot: (work) => (down ? Promise.reject(new StoreUnavailableError('down')) : store.db.snapshot(work)),
    });
    const cache = new SigningKeyCache(flaky, TEST_BOX, false);
    const failing = Promise.resolve(cache.keysFor(entityId, 1, NOW_S, 0));
    expect(await rejection(failing)).toBeInstanceOf(StoreUnavailableError);
    down = false;
    expect((await cache.keysFor(entityId, 1, NOW_S, 0)).secrets).toHaveLength(1);
  });

  test('of one entity never sign for another', async () => {
    const [one, two] = [await newEntity(store.db), await newEntity(store.db)];
    const cache = new SigningKeyCache(store.db, TEST_BOX, false);
    const keys = await cache.keysFor(one, 1, NOW_S, 0);
    await cache.keysFor(two, 1, NOW_S, 0);
    expect(await signs(keys, (await secretsOf(two))[0] ?? '')).toBe(false);
  });
});
