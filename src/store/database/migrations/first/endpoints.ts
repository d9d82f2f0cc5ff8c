import type { Dialect } from '../../database.ts';

/** An endpoint is one URL of one entity, with a sequence of its deliveries, an ordering mode and its own settings. */
export function endpointTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    // `removed_ms` is 0 until the last webhook of the endpoint is removed. If the URL is registered again, it gets a new row; the
    // old row stays, because completed deliveries find their URL in it. `ordering` is 0 for none and 1 for agreement.
    // `rate_limit` is in requests per second. Until `entity_secrets_until`, in seconds, requests to an endpoint with its own
    // secret are also signed with the entity's secrets.
    `create table endpoints (
      entity_id ${uuid} not null,
      no bigint not null,
      created_at_ms bigint not null,
      removed_ms bigint not null default 0,
      paused_at_ms bigint,
      rate_limit bigint,
      entity_secrets_until bigint,
      ordering smallint not null default 0,
      post_url text collate "binary" not null,
      host text collate "binary" not null default '',
      name text,
      primary key (entity_id, no)
    ) ${clustered}`,
    'create unique index endpoints_by_url on endpoints (entity_id, post_url, removed_ms)',
    'create index endpoints_removed on endpoints (entity_id, removed_ms) where removed_ms > 0',

    // A separate table, because every acceptance writes to it. Retention has removed the numbers below `first_sequence`. `recent`
    // holds the ids of the last deliveries as 32 hex digits each; the id of `last_sequence` comes last.
    `create table endpoint_sequences (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      first_sequence bigint not null default 1,
      last_sequence bigint not null,
      recent text not null,
      primary key (entity_id, endpoint_no)
    ) ${updatedInPlace}`,
    // The ids of the delivery with the number `first_sequence` and of the next ones. When `recent` is full, its ids move to a row
    // of this table, so that no delivery needs an index entry for its number.
    `create table endpoint_numbers (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      first_sequence bigint not null,
      ids text not null,
      primary key (entity_id, endpoint_no, first_sequence)
    ) ${clustered}`,

    // Tables of secrets name the entity as `signing_secrets` does. `sealed` in `endpoint_headers` is a JSON object with all headers.
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
    // `sealed` is the certificate chain with its private key. The other columns are public: `expires_at` is when the
    // first certificate of the chain expires.
    `create table endpoint_certificates (
      entity_id text collate "binary" not null references entities (id),
      endpoint_no bigint not null,
      subject text not null,
      fingerprint text not null,
      expires_at bigint not null,
      sealed text not null,
      primary key (entity_id, endpoint_no)
    )`,

    // Endpoints that an alert reported as failing. `webhook_no` is the webhook that has failed longest; `generation` and
    // `failing_since_ms` are copies from its head: while both equal the head's, nothing has changed. `next_ms` is the time of the
    // next alert.
    `create table endpoint_alerts (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      webhook_no bigint not null,
      failing_since_ms bigint not null,
      next_ms bigint not null,
      generation int not null,
      primary key (entity_id, endpoint_no)
    ) ${updatedInPlace}`,
  ];
}
