import { integer, nullable, text, uuid } from '../database/sql.ts';
import { Table } from '../database/table.ts';

/** The tables of the queue and of completed deliveries, with their counts; the migrations say what a column is for. */

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
  isShown: integer('is_shown'),
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
