import type { PublicKey, PublicKeyList } from '../../contract/secrets.ts';
import { DomainError } from '../../domain/errors.ts';
import { MAX_SECRETS_IN_FORCE } from '../../domain/secret-overlap.ts';
import { keyIdOf, makeSigningKey, publicKeyOf } from '../../domain/signing.ts';
import type { Database, Queries } from '../database/database.ts';
import { randomBytes } from '../new-id.ts';
import { lockEntity } from '../webhooks/register.ts';
import { type Change, recordChange } from './audit.ts';
import { type SecretBox, SecretKeyError } from './secret-box.ts';
import { signingKeyTable } from './tables.ts';

/** The Ed25519 key pairs of an entity. The private half is sealed; the public half is published (`/keys/…/jwks.json`). */

const NEW_KEY = signingKeyTable.insertion(['entityId', 'publicKey', 'sealed', 'dateCreated']);
const SEALED_KEY = signingKeyTable.pick(['entityId', 'publicKey', 'sealed']);
const KEY_IN_FORCE = signingKeyTable.pick(['entityId', 'publicKey', 'sealed', 'dateExpires']);
const PUBLIC_KEY = signingKeyTable.pick(['publicKey', 'dateCreated', 'dateExpires']);

/** Keys of one entity in force at one time, newest first. */
const IN_FORCE = `from signing_keys
  where entity_id = $1 and (expires_at is null or expires_at > $2)
  order by case when expires_at is null then 0 else 1 end, expires_at desc, created_at desc, public_key`;

/** Stores a new key pair, and returns its public half. */
export async function insertSigningKey(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  nowS: number,
): Promise<string> {
  const { secretKey, publicKey } = makeSigningKey(randomBytes(32));
  const sealed = box.seal(secretKey, contextOf(entityId));
  await queries.run(NEW_KEY.text(1), NEW_KEY.parameters([{ entityId, publicKey, sealed, dateCreated: nowS }]));
  return publicKey;
}

export type OpenSigningKey = { secretKey: string; dateExpires: number | null };

/** The private halves that have not expired, newest first. */
export async function openSigningKeys(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  nowS: number,
): Promise<OpenSigningKey[]> {
  const rows = await KEY_IN_FORCE.all(queries, `select ${KEY_IN_FORCE.list} ${IN_FORCE}`, [entityId, nowS]);
  return rows.map((row) => ({ secretKey: open(box, row), dateExpires: row.dateExpires }));
}

/** The public halves that have not expired, newest first. Empty for an unknown entity. */
export async function readPublicKeys(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  nowS: number,
): Promise<PublicKey[]> {
  const rows = await PUBLIC_KEY.all(queries, `select ${PUBLIC_KEY.list} ${IN_FORCE}`, [entityId, nowS]);
  return rows.map((row) => ({ keyId: keyIdOf(row.publicKey), ...row }));
}

/** Adds a new key pair. Every older pair stays in force for at most the overlap. */
export function rotateSigningKey(
  db: Database,
  box: SecretBox,
  entityId: string,
  overlapHours: number,
  change: Change,
): Promise<PublicKeyList> {
  const { nowS } = change;
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, nowS);
    await queries.run(
      'update signing_keys set expires_at = $2 where entity_id = $1 and (expires_at is null or expires_at > $2)',
      [entityId, nowS + overlapHours * 3600],
    );
    // Checks after the update, because the update waits for a rekey to end, and before the insert, so that the check opens an
    // older key.
    await checkSecretsOpen(queries, box);
    await queries.run('delete from signing_keys where entity_id = $1 and expires_at <= $2', [entityId, nowS]);
    const target = keyIdOf(await insertSigningKey(queries, box, entityId, nowS));
    const publicKeys = await readPublicKeys(queries, entityId, nowS);
    if (publicKeys.length > MAX_SECRETS_IN_FORCE) {
      throw new DomainError('signing_key_limit', { limit: MAX_SECRETS_IN_FORCE });
    }
    const inForce = publicKeys.map(({ keyId, dateExpires }) => ({ keyId, dateExpires }));
    const after = { overlapHours, inForce };
    await recordChange(queries, entityId, change, { action: 'signing_key.rotated', target, after });
    return { totalResults: publicKeys.length, publicKeys, keySetPath: keySetPathOf(entityId) };
  });
}

/** For operators: seals the keys of every entity under another key. Returns the entity of each key. */
export async function rekeySigningKeys(queries: Queries, from: SecretBox, to: SecretBox): Promise<string[]> {
  const keys = await SEALED_KEY.all(queries, `select ${SEALED_KEY.list} from signing_keys`);
  for (const key of keys) {
    const { entityId, publicKey } = key;
    await queries.run('update signing_keys set sealed = $3 where entity_id = $1 and public_key = $2', [
      entityId,
      publicKey,
      to.seal(open(from, key), contextOf(entityId)),
    ]);
  }
  return keys.map(({ entityId }) => entityId);
}

/** Whether any entity of the store has a sealed secret. */
export async function hasSecrets(db: Database): Promise<boolean> {
  return (await db.get('select entity_id from signing_keys limit 1')) !== undefined;
}

/** Checks the key for the whole store. Opening one sealed text is enough, because a rekey seals all of them or none. */
export async function checkSecretsOpen(queries: Pick<Queries, 'get'>, box: SecretBox): Promise<void> {
  const key = await SEALED_KEY.get(queries, `select ${SEALED_KEY.list} from signing_keys limit 1`);
  if (key !== undefined) open(box, key);
}

export function keySetPathOf(entityId: string): string {
  return `/keys/${entityId}/jwks.json`;
}

type SealedKey = { entityId: string; publicKey: string; sealed: string };

/** Opens the private half of a key. The sealed text is bound to its entity, and must belong to the public half. */
function open(box: SecretBox, { entityId, publicKey, sealed }: SealedKey): string {
  const secretKey = box.open(sealed, contextOf(entityId));
  if (publicKeyOf(secretKey) !== publicKey) {
    throw new SecretKeyError(`the signing key of ${entityId} does not belong to its public key`);
  }
  return secretKey;
}

function contextOf(entityId: string): string {
  return `signing-key ${entityId}`;
}
