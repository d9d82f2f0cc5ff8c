import type { Migration } from '../migration.ts';

export const secretsAndAudit: Migration = {
  version: 2,
  name: 'signing secrets, audit, suspension',
  statements: [
    // Sealed under SECRET_KEY and bound to their row: a copy in another row does not open.
    `create table signing_secrets (
      entity_id text collate "binary" not null references entities (id),
      id text collate "binary" not null,
      sealed text not null,
      created_at bigint not null,
      expires_at bigint,
      primary key (entity_id, id)
    )`,
    `create table signing_keys (
      entity_id text collate "binary" primary key references entities (id),
      public_key text not null,
      sealed text not null,
      created_at bigint not null
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

    'alter table api_keys add column last_used_at bigint',

    'alter table webhooks add column suspended_at bigint',
    'alter table webhooks add column suspended_reason text',
    `create index webhooks_suspended on webhooks (entity_id, network_id, event) where suspended_at is not null`,
  ],
};
