import type { Config } from '../config.ts';
import { type AuditAction, auditFieldsSchema } from '../contract/audit.ts';
import { KEY_PREFIX, type Permission } from '../domain/keys/api-keys.ts';
import { constant, integer, json, list, nullable, Table, text, uuid } from './database/sql.ts';

/**
 * Every table with its columns, each under the name that the code uses; `chain/tables.ts` declares the tables of networks.
 * The migrations say what a column is for. Dates of the API are Unix seconds. Tables of events and deliveries have the
 * entity's key of 16 bytes (`entity`), the others its id as text (`entityId`).
 */

export const entityTable = new Table('entities', {
  entityId: text('id'),
  name: text('name'),
  revision: integer('revision'),
  webhooksDatedAt: integer('webhooks_dated_at'),
  dateCreated: integer('created_at'),
  noticeUrl: nullable(text('notice_url')),
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
  suspendedReason: nullable(text('suspended_reason')),
  filterHash: nullable(text('filter_hash')),
  finality: nullable(text('finality')),
  finalityLevels: nullable(text('finality_levels')),
  mostConfirmations: nullable(integer('most_confirmations')),
});

export const filterTable = new Table('payload_filters', {
  entityId: text('entity_id'),
  hash: text('hash'),
  bytes: integer('bytes'),
  filter: text('filter'),
});

export const optionChangeTable = new Table('option_changes', {
  entityId: text('entity_id'),
  webhookNo: integer('webhook_no'),
  revision: integer('revision'),
  changedAtMs: integer('changed_at_ms'),
  finality: nullable(text('finality')),
  finalityLevels: nullable(text('finality_levels')),
  filterHash: nullable(text('filter_hash')),
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
  seenAtMs: integer('seen_at_ms'),
  problem: nullable(text('problem')),
});

export const healthTable = new Table('webhook_health', {
  entityId: text('entity_id'),
  webhookId: text('webhook_id'),
  failuresInARow: integer('failures_in_a_row'),
  lastSuccessMs: nullable(integer('last_success_ms')),
  lastFailureMs: nullable(integer('last_failure_ms')),
});

export const endpointTable = new Table('endpoints', {
  entity: uuid('entity_id'),
  endpointNo: integer('no'),
  createdAtMs: integer('created_at_ms'),
  removedMs: integer('removed_ms'),
  pausedAtMs: nullable(integer('paused_at_ms')),
  rateLimit: nullable(integer('rate_limit')),
  entitySecretsUntil: nullable(integer('entity_secrets_until')),
  ordering: integer('ordering'),
  postUrl: text('post_url'),
  host: text('host'),
  name: nullable(text('name')),
});

export const sequenceTable = new Table('endpoint_sequences', {
  entity: uuid('entity_id'),
  endpointNo: integer('endpoint_no'),
  firstSequence: integer('first_sequence'),
  lastSequence: integer('last_sequence'),
  recent: text('recent'),
});

export const numberTable = new Table('endpoint_numbers', {
  entity: uuid('entity_id'),
  endpointNo: integer('endpoint_no'),
  firstSequence: integer('first_sequence'),
  ids: text('ids'),
});

export const endpointAlertTable = new Table('endpoint_alerts', {
  entity: uuid('entity_id'),
  endpointNo: integer('endpoint_no'),
  webhookNo: integer('webhook_no'),
  failingSinceMs: integer('failing_since_ms'),
  nextMs: integer('next_ms'),
  generation: integer('generation'),
});

export const headTable = new Table('queue_heads', {
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  endpointNo: integer('endpoint_no'),
  networkId: integer('network_id'),
  nextDueMs: integer('next_due_ms'),
  lookFromMs: integer('look_from_ms'),
  fullLookMs: integer('full_look_ms'),
  writeCount: integer('write_count'),
  failingSinceMs: nullable(integer('failing_since_ms')),
  generation: integer('generation'),
  blocked: integer('blocked'),
  idle: integer('idle'),
  ordering: integer('ordering'),
  webhookId: text('webhook_id'),
  event: text('event'),
  destination: text('destination'),
  postUrl: text('post_url'),
});

export const queueTable = new Table('queue', {
  entity: uuid('entity_id'),
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  endpointNo: integer('endpoint_no'),
  createdAtMs: integer('created_at_ms'),
  dueMs: integer('due_ms'),
  leaseMs: integer('lease_ms'),
  scheduledMs: nullable(integer('scheduled_ms')),
  endedAtMs: nullable(integer('ended_at_ms')),
  sequence: nullable(integer('sequence')),
  sentToNo: nullable(integer('sent_to_no')),
  redeliveryId: nullable(uuid('redelivery_id')),
  orderKey: nullable(uuid('order_key')),
  turn: nullable(integer('turn')),
  agreementHash: nullable(uuid('agreement_hash')),
  paymentHash: nullable(uuid('payment_hash')),
  supersededBy: nullable(uuid('superseded_by')),
  generation: nullable(integer('generation')),
  token: integer('token'),
  attempts: integer('attempts'),
  steps: integer('steps'),
  redeliver: integer('redeliver'),
  recorded: nullable(integer('recorded')),
  mayBeReceived: integer('may_be_received'),
  leaseS: integer('lease_s'),
  test: nullable(integer('test')),
  statusCode: nullable(integer('status_code')),
  error: nullable(text('error')),
  trace: nullable(text('trace')),
});

export const orderKeyTable = new Table('order_keys', {
  entity: uuid('entity_id'),
  key: uuid('order_key'),
  nextTurn: integer('next_turn'),
});

export const eventTable = new Table('events', {
  entity: uuid('entity_id'),
  no: uuid('no'),
  networkId: integer('network_id'),
  createdAtMs: integer('created_at_ms'),
  deliveries: integer('deliveries'),
  transferKey: nullable(integer('transfer_key')),
  agreementKey: nullable(integer('agreement_key')),
  retractedRound: nullable(integer('retracted_round')),
  supersededBy: nullable(uuid('superseded_by')),
  outdatedBy: nullable(uuid('outdated_by')),
  event: text('event'),
  eventId: nullable(text('event_id')),
  trace: nullable(text('trace')),
  body: text('body'),
});

export const eventIdTable = new Table('event_ids', { entity: uuid('entity_id'), hash: uuid('hash'), no: uuid('no') });

export type TaskKind =
  | 'fan_out'
  | 'release'
  | 'supersede'
  | 'retract'
  | 'cancel'
  | 'redeliver'
  | 'alert'
  | 'end_session'
  | 'drop_book';

export const taskTable = new Table('tasks', {
  entity: uuid('entity_id'),
  no: uuid('no'),
  subject: uuid('subject'),
  eventNo: nullable(uuid('event_no')),
  afterNo: nullable(uuid('after_no')),
  orderKey: nullable(uuid('order_key')),
  factKey: nullable(uuid('fact_key')),
  waitMs: integer('wait_ms'),
  dueMs: nullable(integer('due_ms')),
  revision: nullable(integer('revision')),
  seenRevision: nullable(integer('seen_revision')),
  made: integer('made'),
  failures: integer('failures'),
  round: integer('round'),
  entityId: text('entity'),
  kind: text<TaskKind>('kind'),
  phase: text('phase'),
  cursor: text('cursor'),
  finality: nullable(text('finality')),
  ruleAmount: nullable(text('rule_amount')),
});

export const subjectTable = new Table('subjects', {
  entity: uuid('entity_id'),
  subject: uuid('subject'),
  eventNo: nullable(uuid('event_no')),
  isWaited: integer('is_waited'),
});

export const supersedableTable = new Table('supersedable', {
  entity: uuid('entity_id'),
  subject: uuid('subject'),
  eventNo: uuid('event_no'),
});

export const deliveryTable = new Table('deliveries', {
  entity: uuid('entity_id'),
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  endpointNo: integer('endpoint_no'),
  createdAtMs: integer('created_at_ms'),
  endedAtMs: nullable(integer('ended_at_ms')),
  startedAtMs: nullable(integer('started_at_ms')),
  sequence: nullable(integer('sequence')),
  sentToNo: nullable(integer('sent_to_no')),
  redeliveryId: nullable(uuid('redelivery_id')),
  supersededBy: nullable(uuid('superseded_by')),
  durationMs: nullable(integer('duration_ms')),
  attempts: integer('attempts'),
  status: integer('status'),
  statusCode: nullable(integer('status_code')),
  test: nullable(integer('test')),
  mayBeReceived: nullable(integer('may_be_received')),
  error: nullable(text('error')),
  response: nullable(text('response')),
});

export const attemptTable = new Table('attempts', {
  entity: uuid('entity_id'),
  deliveryId: uuid('delivery_id'),
  startedAtMs: integer('started_at_ms'),
  durationMs: integer('duration_ms'),
  attempt: integer('attempt'),
  statusCode: nullable(integer('status_code')),
  kind: text('kind'),
  postUrl: text('post_url'),
  error: nullable(text('error')),
  response: nullable(text('response')),
  responseHeaders: nullable(text('response_headers')),
});

export const redeliveryTable = new Table('redeliveries', {
  entityId: text('entity_id'),
  redeliveryId: text('id'),
  filter: text('filter'),
  total: integer('total'),
  seen: integer('seen'),
  queued: integer('queued'),
  untilMs: integer('until_ms'),
  actor: text('actor'),
  dateCreated: integer('created_at'),
  dateFinished: nullable(integer('finished_at')),
});

export const queueCountTable = new Table('queue_counts', {
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  storedBytes: integer('stored_bytes'),
  shard: integer('shard'),
  waiting: integer('waiting'),
  retrying: integer('retrying'),
  undelivered: integer('undelivered'),
});

export const deliveryCountTable = new Table('delivery_counts', {
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  bucket: integer('bucket'),
  shard: integer('shard'),
  created: integer('created'),
  delivered: integer('delivered'),
  failed: integer('failed'),
  cancelled: integer('cancelled'),
  superseded: integer('superseded'),
});

export const eventCountTable = new Table('event_counts', {
  entity: uuid('entity_id'),
  networkId: integer('network_id'),
  bucket: integer('bucket'),
  shard: integer('shard'),
  events: integer('events'),
  event: text('event'),
});

export const statsTable = new Table('interval_stats', {
  entity: uuid('entity_id'),
  seconds: integer('seconds'),
  startS: integer('start_s'),
  /** Empty for the sum over all of them. */
  destination: text('destination'),
  /** A tally as JSON: `{"-1":5,"12":3}`. */
  counts: text('counts'),
});

export const listenSessionTable = new Table('listen_sessions', {
  entity: uuid('entity_id'),
  id: uuid('id'),
  entityId: text('entity'),
  createdAtMs: integer('created_at_ms'),
  seenMs: integer('seen_ms'),
  ended: integer('ended'),
  dropped: integer('dropped'),
  reader: nullable(uuid('reader')),
  sealed: text('sealed'),
  wanted: text('wanted'),
});

export const listenRequestTable = new Table('listen_requests', {
  entity: uuid('entity_id'),
  sessionId: uuid('session_id'),
  id: uuid('id'),
  eventNo: uuid('event_no'),
  reader: nullable(uuid('reader')),
  token: nullable(uuid('token')),
  leaseMs: integer('lease_ms'),
  attempt: integer('attempt'),
  doneAtMs: nullable(integer('done_at_ms')),
});
