import type { Migration } from '../migration.ts';

/** Entities, their keys and their webhooks: every key leads with the entity, so that tables distribute by it. */
export const webhooks: Migration = {
  version: 1,
  name: 'entities, api keys and webhooks',
  statements: [
    // `revision` is raised first in every write to an entity's webhooks: it is the lock and the source of `created_seq`.
    // `webhooks_dated_at` is the newest creation date, so that dates never decrease along the sequence.
    `create table entities (
      id text collate "binary" primary key,
      name text collate "binary" not null,
      revision bigint not null default 0,
      webhooks_dated_at bigint not null default 0,
      created_at bigint not null
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
      primary key (entity_id, id)
    )`,
    'create index api_keys_by_hash on api_keys (key_hash)',

    `create table webhooks (
      entity_id text collate "binary" not null references entities (id),
      id text collate "binary" not null,
      network_id bigint not null,
      event text collate "binary" not null,
      post_url text collate "binary" not null,
      created_seq bigint not null,
      created_at bigint not null,
      primary key (entity_id, id)
    )`,
    'create unique index webhooks_by_network_event on webhooks (entity_id, network_id, event, post_url)',
    // One for each sort order. They contain what the list filters by, so that a walk reads no row that does not match.
    'create index webhooks_by_creation on webhooks (entity_id, created_seq, network_id, event)',
    'create index webhooks_by_url on webhooks (entity_id, post_url, id, network_id, event)',

    // Updated in the transaction that changes the webhooks, so that a total is a short sum and not a count of rows.
    `create table webhook_counts (
      entity_id text collate "binary" not null,
      network_id bigint not null,
      event text collate "binary" not null,
      webhooks bigint not null,
      primary key (entity_id, network_id, event)
    )`,
  ],
};
