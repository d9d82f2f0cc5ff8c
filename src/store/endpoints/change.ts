import type { Endpoint, EndpointSecretList, EndpointUpdate } from '../../contract/endpoints/endpoint.ts';
import type { CertificateFacts, GivenCertificate } from '../../domain/endpoints/client-certificate.ts';
import { bytesOf, MAX_HEADERS, MAX_HEADERS_BYTES, mergeHeaders } from '../../domain/endpoints/request-headers.ts';
import { DomainError } from '../../domain/errors.ts';
import { endpointNo } from '../../domain/ids.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { repeatIfHeadChanged } from '../deliveries/head-locks.ts';
import { changeHeads } from '../deliveries/heads.ts';
import { rekey, requireRekeyed } from '../deliveries/order/rekey.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { lockEntity } from '../webhooks/register.ts';
import { writeCertificate } from './certificates/certificates.ts';
import { readTargets } from './lifecycle.ts';
import { readEndpoint } from './read.ts';
import { readHeaders, writeHeaders } from './request-headers.ts';
import { addEndpointSecret, expireEndpointSecrets, readEndpointSecrets, toSecretList } from './secrets.ts';

/**
 * Changes to an endpoint. Each change is one transaction under the lock of the entity, and raises the entity's revision, which
 * outdates caches.
 */

type Target = { db: Database; box: SecretBox; entityId: string; endpointId: string };

/** An update from a client. The facts of its certificate were read from the certificate. */
export type CheckedUpdate = Omit<EndpointUpdate, 'clientCertificate'> & {
  clientCertificate?: (GivenCertificate & CertificateFacts) | null | undefined;
};

/** Returns null when there is no such endpoint. */
export function updateEndpoint(target: Target, update: CheckedUpdate, change: Change): Promise<Endpoint | null> {
  const { db, box, entityId, endpointId } = target;
  const work = async (queries: Queries) => {
    const read = () => readEndpoint(queries, db.dialect, box, entityId, endpointId);
    await lockEntity(queries, entityId, 0, change.nowS);
    const before = await read();
    const no = endpointNo(endpointId);
    if (before === null || no === null) return null;
    await writeSettings(queries, db.dialect, entityId, { ...before, no }, update);
    if (update.headers !== undefined) await changeHeaders(queries, target, no, update.headers);
    if (update.clientCertificate !== undefined) {
      // Over plain HTTP, no receiver asks for a certificate, and the entity would believe that its receiver checks one.
      if (update.clientCertificate !== null && !before.postUrl.startsWith('https:')) {
        throw new DomainError('certificate_without_tls', { postUrl: before.postUrl });
      }
      await writeCertificate(queries, box, entityId, no, update.clientCertificate);
    }
    if (update.secret !== undefined && update.secret !== before.secret) {
      await changeSource(queries, target, no, update.secret, change.nowS);
    }
    const after = await read();
    if (after === null) return null;
    const changed = changedFields(before, after, update);
    if (changed !== null) {
      await recordChange(queries, entityId, change, { action: 'endpoint.updated', target: endpointId, ...changed });
    }
    return after;
  };
  return repeatIfHeadChanged(() => db.transaction(work));
}

export type WrittenSettings = Pick<Endpoint, 'name' | 'ordering' | 'paused' | 'rateLimit'>;
type ChangedSettings = { [Name in keyof WrittenSettings]?: WrittenSettings[Name] | undefined };

/** Writes the settings of an endpoint, and in the same transaction the copies of them in heads: one row for each webhook. */
export async function writeSettings(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { no, ...before }: WrittenSettings & { no: number; postUrl: string },
  update: ChangedSettings,
): Promise<void> {
  const { ordering = before.ordering, paused = before.paused } = update;
  const { name = before.name, rateLimit = before.rateLimit } = update;
  const nowMs = await readNowMs(queries, dialect);
  await queries.run(
    `update endpoints set name = $3, ordering = $4, rate_limit = $5,
       paused_at_ms = case when $6 = 0 then null else coalesce(paused_at_ms, $7) end
     where entity_id = $1 and no = $2`,
    [entityKey(dialect, entityId), no, name, ordering === 'agreement' ? 1 : 0, rateLimit, paused ? 1 : 0, nowMs],
  );
  const isCopied = ordering !== before.ordering || paused !== before.paused || rateLimit !== before.rateLimit;
  if (!isCopied) return;
  const targets = await readTargets(queries, entityId, before.postUrl);
  const scopes = targets.map(({ webhookNo }) => ({ webhookNo, endpointNo: no, isOrdered: ordering === 'agreement' }));
  if (ordering !== before.ordering) await rekey(queries, dialect, { entityId, scopes, nowMs });
  await changeHeads(queries, dialect, 'configure', targets, nowMs);
  if (ordering !== before.ordering) await requireRekeyed(queries, dialect, { entityId, scopes, nowMs });
}

async function changeHeaders(
  queries: Queries,
  { box, entityId }: Target,
  no: number,
  changes: Readonly<Record<string, string | null>>,
): Promise<void> {
  const headers = mergeHeaders(await readHeaders(queries, box, entityId, no), changes);
  const names = Object.keys(headers).length;
  if (names > MAX_HEADERS) throw new DomainError('too_many_headers', { headers: names, limit: MAX_HEADERS });
  const bytes = bytesOf(headers);
  if (bytes > MAX_HEADERS_BYTES) throw new DomainError('headers_too_large', { bytes, limitBytes: MAX_HEADERS_BYTES });
  await writeHeaders(queries, box, entityId, no, headers);
}

async function changeSource(
  queries: Queries,
  { db, box, entityId }: Target,
  no: number,
  source: Endpoint['secret'],
  nowS: number,
): Promise<void> {
  const rotation = { entityId, endpointNo: no, overlapHours: DEFAULT_OVERLAP_HOURS, nowS };
  if (source === 'own') await addEndpointSecret(queries, db.dialect, box, rotation);
  else await expireEndpointSecrets(queries, rotation);
}

type Fields = { before: Record<string, unknown>; after: Record<string, unknown> };

/**
 * For the audit: names of headers, never their values, and the public facts of a certificate. Null if nothing changed.
 */
function changedFields(before: Endpoint, after: Endpoint, { headers }: CheckedUpdate): Fields | null {
  const names = ['name', 'ordering', 'paused', 'rateLimit', 'secret', 'headerNames', 'clientCertificate'] as const;
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const given = Object.keys(headers ?? {}).map((name) => name.toLowerCase());
  if (changed.length === 0 && given.length === 0) return null;
  const pick = (endpoint: Endpoint) => Object.fromEntries(changed.map((name) => [name, endpoint[name]]));
  return { before: pick(before), after: { ...pick(after), ...(given.length > 0 && { headersGiven: given }) } };
}

/**
 * Adds a new secret for the endpoint. Its older secrets, and the entity's secrets if they signed until now, stay in force for the
 * overlap.
 */
export function rotateEndpointSecret(
  { db, box, entityId, endpointId }: Target,
  overlapHours: number,
  change: Change,
): Promise<EndpointSecretList | null> {
  const { dialect } = db;
  const { nowS } = change;
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, nowS);
    const no = endpointNo(endpointId);
    if (no === null || (await readEndpoint(queries, dialect, box, entityId, endpointId)) === null) return null;
    const rotation = { entityId, endpointNo: no, overlapHours, nowS };
    const secretId = await addEndpointSecret(queries, dialect, box, rotation);
    const list = toSecretList(await readEndpointSecrets(queries, dialect, box, entityId, no, nowS));
    const inForce = list.secrets.map((secret) => ({ secretId: secret.secretId, dateExpires: secret.dateExpires }));
    const after = { secretId, overlapHours, inForce };
    await recordChange(queries, entityId, change, { action: 'endpoint.secret_rotated', target: endpointId, after });
    return list;
  });
}

export function listEndpointSecrets(
  { db, box, entityId, endpointId }: Target,
  nowS: number,
): Promise<EndpointSecretList | null> {
  return db.snapshot(async (queries) => {
    const no = endpointNo(endpointId);
    if (no === null || (await readEndpoint(queries, db.dialect, box, entityId, endpointId)) === null) return null;
    return toSecretList(await readEndpointSecrets(queries, db.dialect, box, entityId, no, nowS));
  });
}
