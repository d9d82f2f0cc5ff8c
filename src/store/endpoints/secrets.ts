import type { EndpointSecretList } from '../../contract/endpoints/endpoint.ts';
import { DomainError } from '../../domain/errors.ts';
import { MAX_SECRETS_IN_FORCE } from '../../domain/secret-overlap.ts';
import { makeSecret } from '../../domain/signing.ts';
import type { Dialect, Queries } from '../database/database.ts';
import { entityKey, readInteger } from '../database/sql.ts';
import { newId, randomBytes } from '../new-id.ts';
import { endpointSecretTable } from '../tables.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { secretContext, toSigningSecret } from '../tenants/secrets.ts';
import { checkSecretsOpen } from '../tenants/signing-keys.ts';

/**
 * The signing secrets of one endpoint. As long as one of them has no expiry, requests to the endpoint are signed with
 * them instead of the entity's secrets. During the overlap after a change in either direction, both sign.
 */

const SECRET = endpointSecretTable.pick(['secretId', 'sealed', 'dateCreated', 'dateExpires']);
const NEW_SECRET = endpointSecretTable.insertion(['entityId', 'endpointNo', 'secretId', 'sealed', 'dateCreated']);

export type EndpointSecret = { secretId: string; stored: string; dateCreated: number; dateExpires: number | null };

/** The endpoint's own secrets, and how they combine with the entity's secrets. */
export type EndpointSecrets = {
  /** Secrets in force, newest first. */
  readonly own: readonly EndpointSecret[];
  readonly source: 'own' | 'entity';
  /** Until when the entity's secrets sign too, if the source is `own`. Null if they do not sign. */
  readonly entitySecretsUntil: number | null;
};

export async function readEndpointSecrets(
  queries: Pick<Queries, 'get' | 'all'>,
  dialect: Dialect,
  box: SecretBox,
  entityId: string,
  endpointNo: number,
  nowS: number,
): Promise<EndpointSecrets> {
  const rows = await SECRET.all(
    queries,
    `select ${SECRET.list} from endpoint_secrets
     where entity_id = $1 and endpoint_no = $2 and (expires_at is null or expires_at > $3)
     order by case when expires_at is null then 0 else 1 end, created_at desc, id desc`,
    [entityId, endpointNo, nowS],
  );
  const from = 'from endpoints where entity_id = $1 and no = $2';
  const untilS = await readInteger(queries, 'entity_secrets_until', from, [entityKey(dialect, entityId), endpointNo]);
  const own = rows.map(({ secretId, sealed, dateCreated, dateExpires }) => {
    return { secretId, stored: box.open(sealed, secretContext(entityId, secretId)), dateCreated, dateExpires };
  });
  const source = own.some(({ dateExpires }) => dateExpires === null) ? 'own' : 'entity';
  return { own, source, entitySecretsUntil: source === 'own' && untilS > nowS ? untilS : null };
}

export function toSecretList({ own, source, entitySecretsUntil }: EndpointSecrets): EndpointSecretList {
  const secrets = own.map(toSigningSecret);
  return { totalResults: secrets.length, source, secrets, dateEntitySecretsExpire: entitySecretsUntil };
}

type Rotation = { entityId: string; endpointNo: number; overlapHours: number; nowS: number };

/** Adds a secret. Every older secret, and the entity's secrets if they signed until now, stay in force for the overlap. */
export async function addEndpointSecret(
  queries: Queries,
  dialect: Dialect,
  box: SecretBox,
  { entityId, endpointNo, overlapHours, nowS }: Rotation,
): Promise<string> {
  const { source, own } = await readEndpointSecrets(queries, dialect, box, entityId, endpointNo, nowS);
  const untilS = nowS + overlapHours * 3600;
  if (own.length > 0) await expireEndpointSecrets(queries, { entityId, endpointNo, overlapHours, nowS });
  const secretId = newId('sec');
  const sealed = box.seal(makeSecret(randomBytes(32)), secretContext(entityId, secretId));
  const row = { entityId, endpointNo, secretId, sealed, dateCreated: nowS };
  await queries.run(NEW_SECRET.text(1), NEW_SECRET.parameters([row]));
  // Checks after the insert, because the insert waits for a rekey to end. A process with the old key must not seal anything after
  // the rekey.
  await checkSecretsOpen(queries, box);
  await queries.run(
    // A shorter overlap also shortens a running overlap with the entity's secrets, as it does for the endpoint's own
    // secrets.
    source === 'entity'
      ? 'update endpoints set entity_secrets_until = $3 where entity_id = $1 and no = $2'
      : `update endpoints set entity_secrets_until = $3
         where entity_id = $1 and no = $2 and entity_secrets_until > $3`,
    [entityKey(dialect, entityId), endpointNo, untilS],
  );
  const inForce = await readEndpointSecrets(queries, dialect, box, entityId, endpointNo, nowS);
  if (inForce.own.length > MAX_SECRETS_IN_FORCE) throw new DomainError('secret_limit', { limit: MAX_SECRETS_IN_FORCE });
  return secretId;
}

/** Limits every secret of the endpoint to the overlap from now on. If no newer secret follows, the entity's secrets sign again. */
export async function expireEndpointSecrets(
  queries: Queries,
  { entityId, endpointNo, overlapHours, nowS }: Rotation,
): Promise<void> {
  await queries.run(
    `update endpoint_secrets set expires_at = $3
     where entity_id = $1 and endpoint_no = $2 and (expires_at is null or expires_at > $3)`,
    [entityId, endpointNo, nowS + overlapHours * 3600],
  );
  await queries.run('delete from endpoint_secrets where entity_id = $1 and endpoint_no = $2 and expires_at <= $3', [
    entityId,
    endpointNo,
    nowS,
  ]);
}
