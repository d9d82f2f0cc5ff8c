import { z } from 'zod';
import type { AuditAction } from '../../contract/audit.ts';
import { KEY_PREFIX, type Permission } from '../../domain/keys/api-keys.ts';
import { constant, integer, json, list, nullable, text } from '../database/sql.ts';
import { Table } from '../database/table.ts';

/** The tables of entities, their keys, their secrets and their audit log; the migrations say what a column is for. */

export const entityTable = new Table('entities', {
  entityId: text('id'),
  name: text('name'),
  revision: integer('revision'),
  webhooksDatedAt: integer('webhooks_dated_at'),
  dateCreated: integer('created_at'),
  noticeUrl: nullable(text('notice_url')),
});

/** Up to this many revisions of one second have different numbers. The numbers stay exact beyond the year 2200. */
const REVISIONS_PER_SECOND = 2 ** 20;

/**
 * The revision that caches compare. It differs after every write to the entity's webhooks or secrets. It contains the second of
 * the write, because after a failover to a replica without the last writes, the count goes back and reaches the same numbers
 * again. Always compare for equality.
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

const changedFields = z.record(z.string(), z.unknown());

export const auditTable = new Table('audit', {
  entityId: text('entity_id'),
  auditId: text('id'),
  actor: text('actor'),
  action: text<AuditAction>('action'),
  target: text('target'),
  before: nullable(json('before', changedFields)),
  after: nullable(json('after', changedFields)),
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
