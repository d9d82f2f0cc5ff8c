import type { Config } from '../config.ts';
import { type AuditAction, auditFieldsSchema } from '../contract/audit.ts';
import { KEY_PREFIX, type Permission } from '../domain/keys/api-keys.ts';
import { constant, integer, json, list, nullable, Table, text } from './database/sql.ts';

/**
 * The tables that are keyed by text, with the columns that are read through them, each under the name that the code uses. The
 * migrations say what a column is for. Dates of the API are Unix seconds.
 */

export const entityTable = new Table('entities', {
  entityId: text('id'),
  name: text('name'),
  revision: integer('revision'),
  webhooksDatedAt: integer('webhooks_dated_at'),
  dateCreated: integer('created_at'),
});

/** Revisions of one second stay apart up to this many, which keeps the number exact beyond the year 2200. */
const REVISIONS_PER_SECOND = 2 ** 20;

/**
 * The revision that caches compare: it differs after every write to the entity's webhooks or secrets. With the second of
 * the write, because after a failover to a replica that had not received the last writes, the count goes back and reaches
 * the same numbers again. Always compare for equality.
 */
export const REVISION = `(webhooks_dated_at * ${REVISIONS_PER_SECOND} + revision % ${REVISIONS_PER_SECOND})`;

export const apiKeyTable = new Table('api_keys', {
  keyId: text('id'),
  entityId: text('entity_id'),
  keyHash: text('key_hash'),
  name: text('name'),
  prefix: constant(KEY_PREFIX),
  lastFour: text('last_four'),
  permissions: list<Permission>('permissions'),
  dateCreated: integer('created_at'),
  dateExpires: nullable(integer('expires_at')),
  dateRevoked: nullable(integer('revoked_at')),
  dateLastUsed: nullable(integer('last_used_at')),
});

export const auditTable = new Table('audit', {
  entityId: text('entity_id'),
  auditId: text('id'),
  actor: text('actor'),
  action: text<AuditAction>('action'),
  target: text('target'),
  before: nullable(json('before', auditFieldsSchema)),
  after: nullable(json('after', auditFieldsSchema)),
  dateCreated: integer('created_at'),
});

export const secretTable = new Table('signing_secrets', {
  entityId: text('entity_id'),
  secretId: text('id'),
  sealed: text('sealed'),
  dateCreated: integer('created_at'),
  dateExpires: nullable(integer('expires_at')),
});

export const signingKeyTable = new Table('signing_keys', {
  entityId: text('entity_id'),
  publicKey: text('public_key'),
  sealed: text('sealed'),
  dateCreated: integer('created_at'),
  dateExpires: nullable(integer('expires_at')),
});

export const endpointSecretTable = new Table('endpoint_secrets', {
  entityId: text('entity_id'),
  endpointNo: integer('endpoint_no'),
  secretId: text('id'),
  sealed: text('sealed'),
  dateCreated: integer('created_at'),
  dateExpires: nullable(integer('expires_at')),
});

export const endpointHeadersTable = new Table('endpoint_headers', {
  entityId: text('entity_id'),
  endpointNo: integer('endpoint_no'),
  sealed: text('sealed'),
});

export const endpointCertificateTable = new Table('endpoint_certificates', {
  entityId: text('entity_id'),
  endpointNo: integer('endpoint_no'),
  subject: text('subject'),
  fingerprint: text('fingerprint'),
  dateExpires: integer('expires_at'),
  sealed: text('sealed'),
});

export const webhookTable = new Table('webhooks', {
  entityId: text('entity_id'),
  webhookId: text('id'),
  networkId: integer('network_id'),
  event: text('event'),
  postUrl: text('post_url'),
  createdSeq: integer('created_seq'),
  dateCreated: integer('created_at'),
  suspendedAt: nullable(integer('suspended_at')),
  filterHash: nullable(text('filter_hash')),
  finality: nullable(text('finality')),
});

export const filterTable = new Table('payload_filters', {
  entityId: text('entity_id'),
  hash: text('hash'),
  bytes: integer('bytes'),
  filter: text('filter'),
});

export const webhookCountTable = new Table('webhook_counts', {
  entityId: text('entity_id'),
  networkId: integer('network_id'),
  event: text('event'),
  webhooks: integer('webhooks'),
});

export const instanceTable = new Table('instances', {
  instanceId: text('id'),
  role: text<Config['ROLE']>('role'),
  host: text('host'),
  startedAtMs: integer('started_at_ms'),
  problem: nullable(text('problem')),
});
