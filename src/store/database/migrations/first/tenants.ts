/** Entities with their keys, secrets and audit log. Every key leads with the entity, so that tables distribute by it. */
export const TENANT_TABLES: readonly string[] = [
  // Every write to an entity's webhooks raises `revision` first: it is the entity's lock and the source of `created_seq`.
  // `webhooks_dated_at` is the newest creation date, so that dates never decrease along the sequence.
  `create table entities (
    id text collate "binary" primary key,
    name text collate "binary" not null,
    revision bigint not null default 0,
    webhooks_dated_at bigint not null default 0,
    created_at bigint not null,
    notice_url text
  )`,

  `create table api_keys (
    entity_id text collate "binary" not null references entities (id),
    id text collate "binary" not null,
    key_hash text collate "binary" not null,
    last_four text not null,
    name text collate "binary" not null,
    permissions text not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    primary key (entity_id, id)
  )`,
  'create index api_keys_by_hash on api_keys (key_hash)',

  // Sealed under SECRET_KEY and bound to their row: a copy in another row does not open.
  `create table signing_secrets (
    entity_id text collate "binary" not null references entities (id),
    id text collate "binary" not null,
    sealed text not null,
    created_at bigint not null,
    expires_at bigint,
    primary key (entity_id, id)
  )`,
  // Several key pairs for each entity, so that a rotation can overlap.
  `create table signing_keys (
    entity_id text collate "binary" not null references entities (id),
    public_key text collate "binary" not null,
    sealed text not null,
    created_at bigint not null,
    expires_at bigint,
    primary key (entity_id, public_key)
  )`,

  `create table audit (
    entity_id text collate "binary" not null references entities (id),
    id text collate "binary" not null,
    actor text collate "binary" not null,
    action text collate "binary" not null,
    target text collate "binary" not null,
    before text,
    after text,
    created_at bigint not null,
    primary key (entity_id, id)
  )`,
  'create index audit_by_date on audit (entity_id, created_at, id)',

  // One row for each running process, which renews it. `problem` names the workers of the process that keep failing.
  `create table instances (
    id text collate "binary" primary key,
    role text not null,
    host text not null,
    started_at_ms bigint not null,
    seen_at_ms bigint not null,
    problem text
  )`,
];
