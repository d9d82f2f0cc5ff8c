import type { Migration } from '../migration.ts';

export const deliveries: Migration = {
  version: 3,
  name: 'events, deliveries and attempts',
  statements: [
    // `body` is the text of the request. It is not JSON to the database, which might reorder keys or round numbers.
    `create table events (
      entity_id text collate "binary" not null,
      id text collate "binary" not null,
      event text collate "binary" not null,
      network_id bigint not null,
      body text not null,
      deliveries bigint not null,
      created_at_ms bigint not null,
      primary key (entity_id, id)
    )`,

    // `destination` begins with the entity, so that tenants never share a limit.
    // `due_ms` is when the delivery may be claimed: its next attempt, or the end of the lease while it is claimed, or
    // null when nothing is to be sent. With one column for both, an expired lease can be claimed without another step.
    // `next_attempt_ms` is the time by the schedule alone; `redeliver` counts the requested redeliveries.
    `create table deliveries (
      entity_id text collate "binary" not null,
      id text collate "binary" not null,
      event_id text collate "binary" not null,
      webhook_id text collate "binary" not null,
      destination text collate "binary" not null,
      status text collate "binary" not null,
      attempts bigint not null default 0,
      steps bigint not null default 0,
      due_ms bigint,
      next_attempt_ms bigint,
      claimed bigint not null default 0,
      claim_token bigint not null default 0,
      redeliver bigint not null default 0,
      created_at_ms bigint not null,
      delivered_at_ms bigint,
      last_status_code bigint,
      last_error text,
      primary key (entity_id, id)
    )`,
    'create index deliveries_due on deliveries (destination, due_ms) where due_ms is not null',
    `create index deliveries_waiting on deliveries (entity_id, webhook_id)
       where status in ('pending', 'retrying', 'held')`,

    `create table attempts (
      entity_id text collate "binary" not null,
      delivery_id text collate "binary" not null,
      attempt bigint not null,
      kind text not null,
      post_url text not null,
      started_at_ms bigint not null,
      duration_ms bigint not null,
      status_code bigint,
      error text,
      response text,
      primary key (entity_id, delivery_id, attempt)
    )`,

    // Since when every attempt for the webhook has failed; null after a success.
    'alter table webhooks add column failing_since_ms bigint',
  ],
};
