import { expect, test } from 'bun:test';
import { createEntity } from '../../../src/store/tenants/entities.ts';
import { SecretBox, SecretKeyError } from '../../../src/store/tenants/secret-box.ts';
import { listSecrets, rekeySecrets, rotateSecret } from '../../../src/store/tenants/secrets.ts';
import { checkSecretsOpen } from '../../../src/store/tenants/signing-keys.ts';
import { TEST_BOX, TEST_CHANGE } from '../../support/api.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { NOW_S, newEntity } from '../../support/webhooks.ts';

const HOUR_S = 3_600;
const NEW_BOX = new SecretBox(new Uint8Array(32).fill(9));
const at = (nowS: number) => ({ actor: 'test', nowS });

onSuiteEngine('signing secrets', (store) => {
  test('a rotation never extends the life of an older secret', async () => {
    const entityId = await newEntity(store.db);
    await rotateSecret(store.db, TEST_BOX, entityId, 1, at(NOW_S));
    const { secrets } = await rotateSecret(store.db, TEST_BOX, entityId, 100, at(NOW_S + 10));
    expect(secrets.map(({ dateExpires }) => dateExpires)).toEqual([null, NOW_S + 10 + 100 * HOUR_S, NOW_S + HOUR_S]);
  });

  test('a rekey keeps every secret, and from then on the old key neither opens nor seals anything', async () => {
    const entityId = await newEntity(store.db);
    const before = await listSecrets(store.db, TEST_BOX, entityId, NOW_S);
    await rekeySecrets(store.db, TEST_BOX, NEW_BOX, TEST_CHANGE);
    expect(await listSecrets(store.db, NEW_BOX, entityId, NOW_S)).toEqual(before);
    expect(await rejection(checkSecretsOpen(store.db, TEST_BOX))).toBeInstanceOf(SecretKeyError);
    const rotation = rotateSecret(store.db, TEST_BOX, entityId, 24, at(NOW_S));
    expect(await rejection(rotation)).toBeInstanceOf(SecretKeyError);
    const creation = store.db.transaction((queries) => createEntity(queries, TEST_BOX, 'Late', TEST_CHANGE));
    expect(await rejection(creation)).toBeInstanceOf(SecretKeyError);
    expect(await listSecrets(store.db, NEW_BOX, entityId, NOW_S)).toEqual(before);
    // Restored, so that the order of the tests does not matter.
    await rekeySecrets(store.db, NEW_BOX, TEST_BOX, TEST_CHANGE);
  });

  test('entities created during a rekey are never sealed under the old key', async () => {
    const make = () => store.db.transaction((queries) => createEntity(queries, TEST_BOX, 'Racing', TEST_CHANGE));
    const attempts = Array.from({ length: 6 }, make);
    const rekeyed = rekeySecrets(store.db, TEST_BOX, NEW_BOX, TEST_CHANGE);
    const made = await Promise.allSettled(attempts);
    await rekeyed;
    for (const attempt of made) {
      if (attempt.status === 'rejected') expect(attempt.reason).toBeInstanceOf(SecretKeyError);
      else expect((await listSecrets(store.db, NEW_BOX, attempt.value.entityId, NOW_S)).totalResults).toBe(1);
    }
    await rekeySecrets(store.db, NEW_BOX, TEST_BOX, TEST_CHANGE);
  });
});
