import type { Config } from '../config.ts';
import { integer, nullable, text, uuid } from './database/sql.ts';
import { Table } from './database/table.ts';

/**
 * Tables with their columns, each under the name that the code uses; the folders `tenants`, `deliveries` and `chain` declare
 * their own. The migrations say what a column is for. Dates of the API are Unix seconds. Tables of events and deliveries have the
 * entity's key of 16 bytes (`entity`), and all other tables the entity's id as text (`entityId`).
 */

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

export const eventCountTable = new Table('event_counts', {
  entity: uuid('entity_id'),
  networkId: integer('network_id'),
  bucket: integer('bucket'),
  shard: integer('shard'),
  events: integer('events'),
  event: text('event'),
});

export const eventDayCountTable = new Table('event_day_counts', {
  entity: uuid('entity_id'),
  bucket: integer('bucket'),
  shard: integer('shard'),
  events: integer('events'),
});

export const statsTable = new Table('interval_stats', {
  entity: uuid('entity_id'),
  seconds: integer('seconds'),
  startS: integer('start_s'),
  /** Empty for the sum over all destinations. */
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
