import { MAX_SECRETS_IN_FORCE, type SecretList, type SigningSecret } from '../../contract/secrets.ts';
import { DomainError } from '../../domain/errors.ts';
import { makeSecret, makeSigningKey } from '../../domain/signing.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { newId, randomBytes } from '../new-id.ts';
import { lockEntity } from '../webhooks/register.ts';
import { type Change, recordChange } from './audit.ts';
import type { SecretBox } from './secret-box.ts';

type SecretRow = {
  id: string;
  entity_id: string;
  sealed: string;
  created_at: SqlInteger;
  expires_at: SqlInteger | null;
};

/** The first secret and the Ed25519 pair of a new entity, in the transaction that makes it. */
export async function createSigningKeys(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  nowS: number,
): Promise<void> {
  await insertSecret(queries, box, entityId, nowS);
  const { secretKey, publicKey } = makeSigningKey(randomBytes(32));
  await queries.run('insert into signing_keys (entity_id, public_key, sealed, created_at) values ($1, $2, $3, $4)', [
    entityId,
    publicKey,
    box.seal(secretKey, signingKeyContext(entityId)),
    nowS,
  ]);
}

export async function listSecrets(db: Database, box: SecretBox, entityId: string, nowS: number): Promise<SecretList> {
  return db.snapshot((queries) => readSecrets(queries, box, entityId, nowS));
}

/** What posts are signed with: every secret that has not expired, newest first, and the Ed25519 key. */
export type SigningMaterial = { secrets: { secret: string; dateExpires: number | null }[]; signingKey: string };

export async function readSigningMaterial(
  db: Database,
  box: SecretBox,
  entityId: string,
  nowS: number,
): Promise<SigningMaterial> {
  return db.snapshot(async (queries) => {
    const { secrets } = await readSecrets(queries, box, entityId, nowS);
    const key = await queries.get<{ sealed: string }>('select sealed from signing_keys where entity_id = $1', [
      entityId,
    ]);
    return { secrets, signingKey: box.open(key?.sealed ?? '', signingKeyContext(entityId)) };
  });
}

/** A new secret; every older one goes on for the overlap at the longest. */
export function rotateSecret(
  db: Database,
  box: SecretBox,
  entityId: string,
  overlapHours: number,
  change: Change,
): Promise<SecretList> {
  const { nowS } = change;
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, nowS);
    await queries.run(
      `update signing_secrets set expires_at = $2
       where entity_id = $1 and (expires_at is null or expires_at > $2)`,
      [entityId, nowS + overlapHours * 3600],
    );
    await queries.run('delete from signing_secrets where entity_id = $1 and expires_at <= $2', [entityId, nowS]);
    const secretId = await insertSecret(queries, box, entityId, nowS);
    const after = await readSecrets(queries, box, entityId, nowS);
    if (after.totalResults > MAX_SECRETS_IN_FORCE) {
      throw new DomainError('secret_limit', { limit: MAX_SECRETS_IN_FORCE });
    }
    const inForce = after.secrets.map((secret) => ({ secretId: secret.secretId, dateExpires: secret.dateExpires }));
    await recordChange(queries, entityId, change, {
      action: 'secret.rotated',
      target: secretId,
      after: { overlapHours, inForce },
    });
    return after;
  });
}

/** Operator's command: seals every secret of every entity anew, all or none; answers how many. */
export function rekeySecrets(db: Database, from: SecretBox, to: SecretBox, change: Change): Promise<number> {
  return db.transaction(
    async (queries) => {
      for (const sql of [...db.dialect.lockStore, ...db.dialect.lockSecrets]) await queries.run(sql);
      const secrets = await queries.all<SecretRow>('select entity_id, id, sealed from signing_secrets');
      for (const { entity_id, id, sealed } of secrets) {
        const context = secretContext(entity_id, id);
        await queries.run('update signing_secrets set sealed = $3 where entity_id = $1 and id = $2', [
          entity_id,
          id,
          to.seal(from.open(sealed, context), context),
        ]);
      }
      const keys = await queries.all<{ entity_id: string; sealed: string }>(
        'select entity_id, sealed from signing_keys',
      );
      for (const { entity_id, sealed } of keys) {
        const context = signingKeyContext(entity_id);
        await queries.run('update signing_keys set sealed = $2 where entity_id = $1', [
          entity_id,
          to.seal(from.open(sealed, context), context),
        ]);
        await recordChange(queries, entity_id, change, { action: 'secret.rekeyed', target: entity_id });
      }
      return secrets.length + keys.length;
    },
    { deadlineMs: 10 * 60_000 },
  );
}

/** Store-wide: whether there is anything sealed at all. */
export async function hasSecrets(db: Database): Promise<boolean> {
  return (await db.get('select entity_id from signing_keys limit 1')) !== undefined;
}

/** Store-wide: one sealed text stands for all, since they are sealed anew only together. */
export async function checkSecretsOpen(queries: Pick<Queries, 'get'>, box: SecretBox): Promise<void> {
  const row = await queries.get<{ entity_id: string; sealed: string }>(
    'select entity_id, sealed from signing_keys limit 1',
  );
  if (row !== undefined) box.open(row.sealed, signingKeyContext(row.entity_id));
}

async function insertSecret(queries: Queries, box: SecretBox, entityId: string, nowS: number): Promise<string> {
  const secretId = newId('sec');
  await queries.run('insert into signing_secrets (entity_id, id, sealed, created_at) values ($1, $2, $3, $4)', [
    entityId,
    secretId,
    box.seal(makeSecret(randomBytes(32)), secretContext(entityId, secretId)),
    nowS,
  ]);
  // After the insert, because that waits for a rekey to end: whoever still holds the old key must seal nothing more.
  await checkSecretsOpen(queries, box);
  return secretId;
}

async function readSecrets(queries: Queries, box: SecretBox, entityId: string, nowS: number): Promise<SecretList> {
  const rows = await queries.all<SecretRow>(
    `select id, entity_id, sealed, created_at, expires_at from signing_secrets
     where entity_id = $1 and (expires_at is null or expires_at > $2)
     order by case when expires_at is null then 0 else 1 end, created_at desc, id desc`,
    [entityId, nowS],
  );
  const key = await queries.get<{ public_key: string }>('select public_key from signing_keys where entity_id = $1', [
    entityId,
  ]);
  const secrets = rows.map((row): SigningSecret => toSecret(row, box));
  return { totalResults: secrets.length, secrets, publicKey: key?.public_key ?? '' };
}

function toSecret(row: SecretRow, box: SecretBox): SigningSecret {
  return {
    secretId: row.id,
    secret: box.open(row.sealed, secretContext(row.entity_id, row.id)),
    dateCreated: Number(row.created_at),
    dateExpires: row.expires_at === null ? null : Number(row.expires_at),
  };
}

function secretContext(entityId: string, secretId: string): string {
  return `secret ${entityId} ${secretId}`;
}

function signingKeyContext(entityId: string): string {
  return `signing-key ${entityId}`;
}
