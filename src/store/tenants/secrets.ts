import type { SecretList, SigningSecret } from '../../contract/secrets.ts';
import { DomainError } from '../../domain/errors.ts';
import { MAX_SECRETS_IN_FORCE } from '../../domain/secret-overlap.ts';
import { makeSecret, textOf, toWhsec } from '../../domain/signing.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { type Column, Columns, integer, text } from '../database/sql.ts';
import { certificateContext } from '../endpoints/certificates/certificates.ts';
import { headersContext } from '../endpoints/request-headers.ts';
import { rekeySessions } from '../listen/sessions.ts';
import { newId, randomBytes } from '../new-id.ts';
import { lockEntity } from '../webhooks/register.ts';
import { type Change, recordChange } from './audit.ts';
import type { SecretBox } from './secret-box.ts';
import {
  checkSecretsOpen,
  insertSigningKey,
  keySetPathOf,
  type OpenSigningKey,
  openSigningKeys,
  readPublicKeys,
  rekeySigningKeys,
} from './signing-keys.ts';
import { secretTable } from './tables.ts';

const NEW_SECRET = secretTable.insertion(['entityId', 'secretId', 'sealed', 'dateCreated']);

/** The first secret and the Ed25519 pair of a new entity, in the transaction that makes it. */
export async function createSigningKeys(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  nowS: number,
): Promise<void> {
  await insertSecret(queries, box, entityId, makeSecret(randomBytes(32)), nowS);
  await insertSigningKey(queries, box, entityId, nowS);
}

export async function listSecrets(db: Database, box: SecretBox, entityId: string, nowS: number): Promise<SecretList> {
  return db.snapshot((queries) => readSecretList(queries, box, entityId, nowS));
}

/** The secrets and the Ed25519 keys that sign requests: all that have not expired, newest first. */
export type SigningMaterial = {
  secrets: { stored: string; dateExpires: number | null }[];
  signingKeys: OpenSigningKey[];
  /**
   * The numbers of the endpoints with their own secrets, headers or certificate. Null if there are too many to list.
   */
  ownEndpoints: ReadonlySet<number> | null;
};

const MAX_OWN_ENDPOINTS = 1_000;

export async function readSigningMaterial(
  db: Database,
  box: SecretBox,
  entityId: string,
  nowS: number,
  withSigningKeys = true,
): Promise<SigningMaterial> {
  return db.snapshot((queries) => signingMaterialIn(queries, box, entityId, nowS, withSigningKeys));
}

/** Does the same in the snapshot of the caller. */
export async function signingMaterialIn(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  nowS: number,
  withSigningKeys: boolean,
): Promise<SigningMaterial> {
  return {
    secrets: await readSecrets(queries, box, entityId, nowS),
    signingKeys: withSigningKeys ? await openSigningKeys(queries, box, entityId, nowS) : [],
    ownEndpoints: await readOwnEndpoints(queries, entityId),
  };
}

async function readOwnEndpoints(queries: Queries, entityId: string): Promise<ReadonlySet<number> | null> {
  const rows = await queries.all<{ endpoint_no: SqlInteger }>(
    `select endpoint_no from endpoint_secrets where entity_id = $1
     union select endpoint_no from endpoint_headers where entity_id = $1
     union select endpoint_no from endpoint_certificates where entity_id = $1 limit ${MAX_OWN_ENDPOINTS + 1}`,
    [entityId],
  );
  return rows.length > MAX_OWN_ENDPOINTS ? null : new Set(rows.map((row) => Number(row.endpoint_no)));
}

/** Adds a new secret. Every older secret stays in force for at most the overlap. */
export function rotateSecret(
  db: Database,
  box: SecretBox,
  entityId: string,
  overlapHours: number,
  change: Change,
): Promise<SecretList> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const stored = makeSecret(randomBytes(32));
    return replaceSecret(queries, box, entityId, { stored, overlapHours, action: 'secret.rotated' }, change);
  });
}

/** Adds a secret of another service. Every older secret stays in force for at most the overlap. A repetition changes nothing. */
export function importSecret(
  db: Database,
  box: SecretBox,
  entityId: string,
  { stored, overlapHours }: { stored: string; overlapHours: number },
  change: Change,
): Promise<SecretList> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const [newest, ...older] = await readSecrets(queries, box, entityId, change.nowS);
    if (newest?.stored === stored) return readSecretList(queries, box, entityId, change.nowS);
    // Each request carries one signature for each secret in force, so no secret is in force twice.
    for (const { secretId } of older.filter((secret) => secret.stored === stored)) {
      await queries.run('delete from signing_secrets where entity_id = $1 and id = $2', [entityId, secretId]);
    }
    return replaceSecret(queries, box, entityId, { stored, overlapHours, action: 'secret.imported' }, change);
  });
}

type Replacement = { stored: string; overlapHours: number; action: 'secret.rotated' | 'secret.imported' };

async function replaceSecret(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  { stored, overlapHours, action }: Replacement,
  change: Change,
): Promise<SecretList> {
  const { nowS } = change;
  await queries.run(
    `update signing_secrets set expires_at = $2
     where entity_id = $1 and (expires_at is null or expires_at > $2)`,
    [entityId, nowS + overlapHours * 3600],
  );
  await queries.run('delete from signing_secrets where entity_id = $1 and expires_at <= $2', [entityId, nowS]);
  const secretId = await insertSecret(queries, box, entityId, stored, nowS);
  const after = await readSecretList(queries, box, entityId, nowS);
  if (after.totalResults > MAX_SECRETS_IN_FORCE) throw new DomainError('secret_limit', { limit: MAX_SECRETS_IN_FORCE });
  const inForce = after.secrets.map((secret) => ({ secretId: secret.secretId, dateExpires: secret.dateExpires }));
  await recordChange(queries, entityId, change, { action, target: secretId, after: { overlapHours, inForce } });
  return after;
}

/** For operators: seals all secrets of all entities under another key, or none. Returns the number of secrets. */
export function rekeySecrets(db: Database, from: SecretBox, to: SecretBox, change: Change): Promise<number> {
  return db.transaction(
    async (queries) => {
      for (const sql of [...db.dialect.lockStore, ...db.dialect.lockSecrets]) await queries.run(sql);
      const owners = [
        ...(await rekeyTable(queries, 'signing_secrets', text('id'), secretContext, from, to)),
        ...(await rekeyTable(queries, 'endpoint_secrets', text('id'), secretContext, from, to)),
        ...(await rekeyTable(queries, 'endpoint_headers', integer('endpoint_no'), headersContext, from, to)),
        ...(await rekeyTable(queries, 'endpoint_certificates', integer('endpoint_no'), certificateContext, from, to)),
        ...(await rekeySessions(queries, db.dialect, from, to)),
        ...(await rekeySigningKeys(queries, from, to)),
      ];
      for (const entityId of new Set(owners)) {
        await recordChange(queries, entityId, change, { action: 'secret.rekeyed', target: entityId });
      }
      return owners.length;
    },
    { deadlineMs: 10 * 60_000 },
  );
}

/** Seals each row under the other key. A row is found by its entity and `key`. Returns the entity of each row. */
async function rekeyTable<Key extends string | number>(
  queries: Queries,
  table: 'signing_secrets' | 'endpoint_secrets' | 'endpoint_headers' | 'endpoint_certificates',
  key: Column<Key>,
  contextOf: (entityId: string, key: Key) => string,
  from: SecretBox,
  to: SecretBox,
): Promise<string[]> {
  const columns = new Columns({ entityId: text('entity_id'), key, sealed: text('sealed') });
  const rows = await columns.all(queries, `select ${columns.list} from ${table}`);
  for (const { entityId, key: value, sealed } of rows) {
    const context = contextOf(entityId, value);
    await queries.run(`update ${table} set sealed = $3 where entity_id = $1 and ${key.sql} = $2`, [
      entityId,
      value,
      to.seal(from.open(sealed, context), context),
    ]);
  }
  return rows.map(({ entityId }) => entityId);
}

const SECRET = secretTable.pick(['entityId', 'secretId', 'sealed', 'dateCreated', 'dateExpires']);

async function insertSecret(
  queries: Queries,
  box: SecretBox,
  entityId: string,
  stored: string,
  nowS: number,
): Promise<string> {
  const secretId = newId('sec');
  const sealed = box.seal(stored, secretContext(entityId, secretId));
  const row = { entityId, secretId, sealed, dateCreated: nowS };
  await queries.run(NEW_SECRET.text(1), NEW_SECRET.parameters([row]));
  // Checks after the insert, because the insert waits for a rekey to end. A process with the old key must not seal anything after
  // the rekey.
  await checkSecretsOpen(queries, box);
  return secretId;
}

type OpenSecret = { secretId: string; stored: string; dateCreated: number; dateExpires: number | null };

/** Secrets in force, newest first. */
async function readSecrets(queries: Queries, box: SecretBox, entityId: string, nowS: number): Promise<OpenSecret[]> {
  const rows = await SECRET.all(
    queries,
    `select ${SECRET.list} from signing_secrets
     where entity_id = $1 and (expires_at is null or expires_at > $2)
     order by case when expires_at is null then 0 else 1 end, created_at desc, id desc`,
    [entityId, nowS],
  );
  return rows.map(({ secretId, sealed, dateCreated, dateExpires }) => {
    return { secretId, stored: box.open(sealed, secretContext(entityId, secretId)), dateCreated, dateExpires };
  });
}

async function readSecretList(queries: Queries, box: SecretBox, entityId: string, nowS: number): Promise<SecretList> {
  const secrets = (await readSecrets(queries, box, entityId, nowS)).map(toSigningSecret);
  const publicKeys = await readPublicKeys(queries, entityId, nowS);
  const publicKey = publicKeys[0]?.publicKey ?? '';
  return { totalResults: secrets.length, secrets, publicKey, publicKeys, keySetPath: keySetPathOf(entityId) };
}

export function toSigningSecret({ secretId, stored, dateCreated, dateExpires }: OpenSecret): SigningSecret {
  const secret = toWhsec(stored);
  return { secretId, secret, importedText: secret === stored ? null : textOf(stored), dateCreated, dateExpires };
}

export function secretContext(entityId: string, secretId: string): string {
  return `secret ${entityId} ${secretId}`;
}
