import { expect, test } from 'bun:test';
import { SecretBox, SecretKeyError } from '../../../src/store/tenants/secret-box.ts';
import { listSecrets, readSigningMaterial, rekeySecrets } from '../../../src/store/tenants/secrets.ts';
import { readPublicKeys, rotateSigningKey } from '../../../src/store/tenants/signing-keys.ts';
import { TEST_BOX, TEST_CHANGE } from '../../support/api.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { NOW_S, newEntity } from '../../support/webhooks.ts';

const HOUR_S = 3_600;
const NEW_BOX = new SecretBox(new Uint8Array(32).fill(9));
const at = (nowS: number) => ({ actor: 'test', nowS });

onSuiteEngine('signing keys', (store) => {
  const idsAt = async (entityId: string, nowS: number) =>
    (await readPublicKeys(store.db, entityId, nowS)).map(({ keyId }) => keyId);
  const rotate = (entityId: string, overlapHours: number, nowS = NOW_S, box = TEST_BOX) =>
    rotateSigningKey(store.db, box, entityId, overlapHours, at(nowS));

  test('the private half of each listed key signs, and of no other', async () => {
    const entityId = await newEntity(store.db);
    await rotate(entityId, 1);
    for (const nowS of [NOW_S, NOW_S + HOUR_S]) {
      const { signingKeys } = await readSigningMaterial(store.db, TEST_BOX, entityId, nowS);
      const halves = signingKeys.map(({ secretKey }) => Buffer.from(secretKey.slice(5), 'base64').subarray(32));
      const listed = (await readPublicKeys(store.db, entityId, nowS)).map(({ publicKey }) => publicKey);
      expect(halves.map((bytes) => `whpk_${bytes.toString('base64')}`)).toEqual(listed);
    }
  });

  test('an overlap of zero ends every older key at once and deletes its private half', async () => {
    const entityId = await newEntity(store.db);
    await rotate(entityId, 24);
    await rotate(entityId, 0, NOW_S + 1);
    expect(await idsAt(entityId, NOW_S)).toHaveLength(1);
    expect(await store.db.all('select sealed from signing_keys where entity_id = $1', [entityId])).toHaveLength(1);
  });

  test('a rotation never extends the life of an older key', async () => {
    const entityId = await newEntity(store.db);
    await rotate(entityId, 1);
    const { publicKeys } = await rotate(entityId, 100, NOW_S + 10);
    expect(publicKeys.map(({ dateExpires }) => dateExpires)).toEqual([null, NOW_S + 10 + 100 * HOUR_S, NOW_S + HOUR_S]);
  });

  test('a rekey keeps every key, and from then on the old SECRET_KEY seals none', async () => {
    const entityId = await newEntity(store.db);
    await rotate(entityId, 24);
    const before = await readSigningMaterial(store.db, TEST_BOX, entityId, NOW_S);
    expect(before.signingKeys).toHaveLength(2);
    await rekeySecrets(store.db, TEST_BOX, NEW_BOX, TEST_CHANGE);
    expect(await readSigningMaterial(store.db, NEW_BOX, entityId, NOW_S)).toEqual(before);
    for (const overlapHours of [24, 0]) {
      expect(await rejection(rotate(entityId, overlapHours))).toBeInstanceOf(SecretKeyError);
    }
    expect(await readSigningMaterial(store.db, NEW_BOX, entityId, NOW_S)).toEqual(before);
    const audit = await store.db.all(`select id from audit where entity_id = $1 and action = 'secret.rekeyed'`, [
      entityId,
    ]);
    expect(audit).toHaveLength(1);
    // Restored, so that the order of the tests does not matter.
    await rekeySecrets(store.db, NEW_BOX, TEST_BOX, TEST_CHANGE);
  });

  test('a private half that was copied beside another public key does not sign', async () => {
    const entityId = await newEntity(store.db);
    const { publicKeys } = await rotate(entityId, 24);
    const [newest, old] = publicKeys.map(({ publicKey }) => publicKey);
    await store.db.transaction((queries) =>
      queries.run(
        `update signing_keys set sealed = (select sealed from signing_keys where entity_id = $1 and public_key = $2)
         where entity_id = $1 and public_key = $3`,
        [entityId, old ?? '', newest ?? ''],
      ),
    );
    const reading = readSigningMaterial(store.db, TEST_BOX, entityId, NOW_S);
    expect(await rejection(reading)).toBeInstanceOf(SecretKeyError);
    // Such a row would fail the tests of the whole store.
    await rotate(entityId, 0).catch(() => undefined);
    await store.db.transaction((queries) => queries.run('delete from signing_keys where entity_id = $1', [entityId]));
  });

  test('a rotation of the key leaves the secrets as they are', async () => {
    const entityId = await newEntity(store.db);
    const { secrets } = await listSecrets(store.db, TEST_BOX, entityId, NOW_S);
    const { publicKeys, keySetPath } = await rotate(entityId, 24);
    expect(await listSecrets(store.db, TEST_BOX, entityId, NOW_S)).toEqual({
      totalResults: 1,
      secrets,
      publicKey: publicKeys[0]?.publicKey ?? '',
      publicKeys,
      keySetPath,
    });
  });
});
