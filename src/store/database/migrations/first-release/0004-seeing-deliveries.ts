import type { Migration } from '../migration.ts';

export const seeingDeliveries: Migration = {
  version: 4,
  name: 'lists of events and deliveries, redeliveries, notices',
  statements: [
    'create index events_by_date on events (entity_id, created_at_ms, id)',

    // Copied into the delivery, so that a list filters and counts without reading events and webhooks. `post_url` is the
    // URL of the last attempt, or before the first, that of the webhook when the event was accepted.
    `alter table deliveries add column event text collate "binary" not null default ''`,
    'alter table deliveries add column network_id bigint not null default 0',
    `alter table deliveries add column post_url text not null default ''`,
    'create index deliveries_by_date on deliveries (entity_id, created_at_ms, id)',
    'create index deliveries_by_event on deliveries (entity_id, event_id)',
    // Nearly all deliveries are delivered, and lists find those without this index: only the others are in it.
    `create index deliveries_by_status on deliveries (entity_id, status, created_at_ms, id) where status <> 'delivered'`,

    // The latest bulk redelivery that includes the delivery, so that its progress can be counted.
    'alter table deliveries add column redelivery_id text collate "binary"',
    `create index deliveries_by_redelivery on deliveries (entity_id, redelivery_id) where redelivery_id is not null`,

    // A bulk redelivery: its filter and its progress.
    `create table redeliveries (
      entity_id text collate "binary" not null,
      id text collate "binary" not null,
      filter text not null,
      status text not null,
      total bigint not null,
      seen bigint not null default 0,
      queued bigint not null default 0,
      cursor_created_at_ms bigint not null default 0,
      cursor_id text collate "binary" not null default '',
      until_ms bigint not null,
      actor text not null,
      created_at bigint not null,
      finished_at bigint,
      primary key (entity_id, id)
    )`,

    // Written by the engine every few seconds, and not with each delivery.
    `create table webhook_health (
      entity_id text collate "binary" not null,
      webhook_id text collate "binary" not null,
      failures_in_a_row bigint not null,
      last_success_ms bigint,
      last_failure_ms bigint,
      primary key (entity_id, webhook_id)
    )`,

    'alter table entities add column notice_url text',
  ],
};
