export const WEBHOOK_TABLES: readonly string[] = [
  // `finality` is null for the default of the event kind; rules by amount are JSON. `finality_levels` lists the finalities that
  // these rules can require, and `most_confirmations` is the largest number among them. `filter_hash` names a row of
  // `payload_filters`.
  `create table webhooks (
    entity_id text collate "binary" not null references entities (id),
    id text collate "binary" not null,
    network_id bigint not null,
    event text collate "binary" not null,
    post_url text collate "binary" not null,
    created_seq bigint not null,
    created_at bigint not null,
    suspended_at bigint,
    suspended_reason text,
    filter_hash text collate "binary",
    finality text,
    finality_levels text,
    most_confirmations smallint,
    primary key (entity_id, id)
  )`,
  'create unique index webhooks_by_network_event on webhooks (entity_id, network_id, event, post_url)',
  // An index for each filter of the list in each sort order. Along the index of the order alone, a page reads every webhook
  // that does not match. The first page took 136 ms for a network whose webhooks are the oldest of a million.
  'create index webhooks_by_creation on webhooks (entity_id, created_seq)',
  'create index webhooks_by_url on webhooks (entity_id, post_url, id)',
  // The index of the network serves an event too, because a network has few webhooks of other events: at most 10,000 for each
  // kind.
  'create index webhooks_by_network_creation on webhooks (entity_id, network_id, created_seq, event)',
  'create index webhooks_by_network_url on webhooks (entity_id, network_id, post_url, id, event)',
  'create index webhooks_by_event_creation on webhooks (entity_id, event, created_seq)',
  'create index webhooks_by_event_url on webhooks (entity_id, event, post_url, id)',
  // A fan-out walks the webhooks of an event by number, which never changes.
  'create index webhooks_by_cell_creation on webhooks (entity_id, network_id, event, created_seq)',
  // Empty for entities without suspended webhooks, filters or finalities.
  'create index webhooks_suspended on webhooks (entity_id, network_id, event) where suspended_at is not null',
  'create index webhooks_by_filter on webhooks (entity_id, filter_hash) where filter_hash is not null',
  'create index webhooks_filtered on webhooks (entity_id, network_id, event, filter_hash) where filter_hash is not null',
  'create index webhooks_by_finality on webhooks (entity_id, network_id, event, finality, finality_levels) where finality is not null',

  // Updated in the transaction that changes the webhooks, so that a total is a short sum and not a count of rows.
  `create table webhook_counts (
    entity_id text collate "binary" not null,
    network_id bigint not null,
    event text collate "binary" not null,
    webhooks bigint not null,
    primary key (entity_id, network_id, event)
  )`,

  // Filters are stored under 128 bits of the hash of their text. Webhooks with equal filters share one, and a process can
  // keep a filter that it has read, because its text never changes.
  `create table payload_filters (
    entity_id text collate "binary" not null references entities (id),
    hash text collate "binary" not null,
    bytes bigint not null,
    filter text not null,
    primary key (entity_id, hash)
  )`,

  // The options of a webhook that ended with this revision of the entity (`webhooks/option-changes.ts`).
  `create table option_changes (
    entity_id text collate "binary" not null references entities (id),
    webhook_no bigint not null,
    revision bigint not null,
    changed_at_ms bigint not null,
    finality text,
    finality_levels text,
    filter_hash text collate "binary",
    primary key (entity_id, webhook_no, revision)
  )`,
  'create index option_changes_by_filter on option_changes (entity_id, filter_hash) where filter_hash is not null',

  // Written every few seconds, and not with each delivery.
  `create table webhook_health (
    entity_id text collate "binary" not null,
    webhook_id text collate "binary" not null,
    failures_in_a_row bigint not null,
    last_success_ms bigint,
    last_failure_ms bigint,
    primary key (entity_id, webhook_id)
  )`,
];
