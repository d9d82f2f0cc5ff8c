import type { Dialect } from '../database.ts';
import { convertEndpoints } from './0009-convert/convert.ts';
import type { Migration } from './migration.ts';

/**
 * The endpoint as an object: one URL of one entity, with a sequence of its deliveries, an ordering mode and settings of
 * its own. Deliveries that existed before have no number.
 */
export const endpoints: Migration = {
  version: 9,
  name: 'endpoints with order and sequence',
  statements: (dialect) => [
    ...extendEndpoints(),
    ...extendDeliveries(dialect),
    ...createTables(dialect),
    ...addFilters(),
    ...createListenTables(dialect),
  ],
  convert: convertEndpoints,
};

/**
 * `removed_ms` is 0 while the endpoint is there. A URL that is registered again after its last webhook was removed gets a new
 * row; the old one stays, because records name their URL by it. `ordering` is 0 for none and 1 for agreement.
 * `rate_limit` is in requests per second. Until `entity_secrets_until`, in seconds, an endpoint with a secret of its own is
 * also signed for with those of the entity.
 */
function extendEndpoints(): string[] {
  return [
    'alter table endpoints add column removed_ms bigint not null default 0',
    'alter table endpoints add column name text',
    'alter table endpoints add column ordering smallint not null default 0',
    'alter table endpoints add column paused_at_ms bigint',
    'alter table endpoints add column rate_limit bigint',
    'alter table endpoints add column entity_secrets_until bigint',
    `alter table endpoints add column host text collate "binary" not null default ''`,
    'drop index endpoints_by_url',
    'create unique index endpoints_by_url on endpoints (entity_id, post_url, removed_ms)',
    'create index endpoints_removed on endpoints (entity_id, removed_ms) where removed_ms > 0',
    // A copy of the endpoint's, so that an acceptance and a claim read it with the head that they read anyway.
    'alter table queue_heads add column ordering smallint not null default 0',
  ];
}

/**
 * `endpoint_no` is the endpoint that a delivery has its number of, and stays; `sent_to_no` is the endpoint that the last
 * attempt went to, where the webhook was moved meanwhile. `superseded_by` is the number of an event.
 */
function extendDeliveries({ uuid }: Dialect): string[] {
  return [
    'alter table queue add column sent_to_no bigint',
    // Empty for entities without an endpoint that keeps order.
    'create index queue_by_order on queue (entity_id, endpoint_no, order_key, sequence) where order_key is not null',
    'alter table deliveries add column sent_to_no bigint',
    `alter table deliveries add column superseded_by ${uuid}`,
    `alter table queue add column superseded_by ${uuid}`,
    `alter table events add column superseded_by ${uuid}`,
    `alter table fan_outs add column order_key ${uuid}`,
  ];
}

function createTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    // Apart from `endpoints`, because every acceptance writes here. Retention has removed what is below `first_sequence`.
    // `recent` holds the ids of the last deliveries, the one with `last_sequence` at its end, each as 32 hex digits.
    `create table endpoint_sequences (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      first_sequence bigint not null default 1,
      last_sequence bigint not null,
      recent text not null,
      primary key (entity_id, endpoint_no)
    ) ${updatedInPlace}`,
    // Which delivery has which number: the ids of those that have this number and the next ones. A row takes over `recent`
    // when that is full, so that a delivery costs no insertion into an index of its own.
    `create table endpoint_numbers (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      first_sequence bigint not null,
      ids text not null,
      primary key (entity_id, endpoint_no, first_sequence)
    ) ${clustered}`,

    // Sealed, and keyed like the entity's own secrets. The row of the headers is a JSON object of all of them.
    `create table endpoint_secrets (
      entity_id text collate "binary" not null references entities (id),
      endpoint_no bigint not null,
      id text collate "binary" not null,
      sealed text not null,
      created_at bigint not null,
      expires_at bigint,
      primary key (entity_id, endpoint_no, id)
    )`,
    `create table endpoint_headers (
      entity_id text collate "binary" not null references entities (id),
      endpoint_no bigint not null,
      sealed text not null,
      primary key (entity_id, endpoint_no)
    )`,

    // A key of an endpoint that keeps order, while a delivery of it waits. The row is the lock of the key.
    `create table order_keys (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      order_key ${uuid} not null,
      primary key (entity_id, endpoint_no, order_key)
    ) ${clustered}`,

    // What events are about, such as a transfer: `subject` is 128 bits of a hash. `event_no` is the last event that makes
    // others of the subject pointless, or null. `is_waited` is 1 where `supersedable` has events of it. The row is the lock of
    // the subject.
    `create table subjects (
      entity_id ${uuid} not null,
      subject ${uuid} not null,
      event_no ${uuid},
      is_waited smallint not null,
      primary key (entity_id, subject)
    ) ${clustered}`,
    // Events that a later one of their subject may supersede.
    `create table supersedable (
      entity_id ${uuid} not null,
      subject ${uuid} not null,
      event_no ${uuid} not null,
      primary key (entity_id, subject, event_no)
    ) ${clustered}`,
  ];
}

/**
 * Filters are stored under 128 bits of the hash of their text: webhooks with equal filters share one, and a process that has
 * read one can keep it, because its text never changes.
 */
function addFilters(): string[] {
  return [
    'alter table webhooks add column filter_hash text collate "binary"',
    // Both are empty for entities without filters.
    'create index webhooks_by_filter on webhooks (entity_id, filter_hash) where filter_hash is not null',
    `create index webhooks_filtered on webhooks (entity_id, network_id, event, filter_hash) where filter_hash is not null`,
    `create table payload_filters (
      entity_id text collate "binary" not null references entities (id),
      hash text collate "binary" not null,
      bytes bigint not null,
      filter text not null,
      primary key (entity_id, hash)
    )`,
  ];
}

/**
 * A listen session hands events to a program without a public URL. `seen_ms` is when its reader was last there, and `reader`
 * is the newest of its connections. `dropped` counts the requests that had no room. A session that has `ended` is gone for
 * everyone; its rows are removed in steps. `wanted` says which events it takes, as JSON.
 *
 * A request is handed to a reader under a token, until `lease_ms`. It has `done_at_ms` once it was reported or dropped, and
 * stays for a while, so that its token is known to be used.
 */
function createListenTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    `create table listen_sessions (
      entity_id ${uuid} not null,
      id ${uuid} not null,
      entity text collate "binary" not null references entities (id),
      created_at_ms bigint not null,
      seen_ms bigint not null,
      ended smallint not null default 0,
      dropped bigint not null default 0,
      reader ${uuid},
      sealed text not null,
      wanted text not null,
      primary key (entity_id, id)
    ) ${updatedInPlace}`,
    `create table listen_requests (
      entity_id ${uuid} not null,
      session_id ${uuid} not null,
      id ${uuid} not null,
      event_no ${uuid} not null,
      reader ${uuid},
      token ${uuid},
      lease_ms bigint not null default 0,
      attempt int not null default 0,
      done_at_ms bigint,
      primary key (entity_id, session_id, id)
    ) ${clustered}`,
    'create index listen_requests_by_id on listen_requests (entity_id, id)',
    'create index listen_requests_waiting on listen_requests (entity_id, session_id, id) where done_at_ms is null',
    'create index listen_requests_done on listen_requests (done_at_ms) where done_at_ms is not null',
  ];
}
