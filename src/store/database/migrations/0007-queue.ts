import type { Dialect } from '../database.ts';
import { convertStore } from './0007-convert/convert.ts';
import type { Migration } from './migration.ts';

/**
 * The queue apart from the record. A delivery is in `queue` while an attempt is to come, and in `deliveries` once it is
 * complete; the record is inserted once. One row of `queue_heads` per webhook carries all that suspend, resume, pause,
 * move and delete change, so that none of them rewrites a backlog. docs/decisions.md has the figures.
 */
export const queue: Migration = {
  version: 7,
  name: 'the queue apart from the record',
  statements: (dialect) => [...SET_ASIDE, ...createTables(dialect)],
  convert: convertStore,
};

/**
 * Takes every lock that the migration needs before the long work, in the order in which an acceptance takes them: an
 * instance of the version before that still runs waits here, and cannot end the migration in a deadlock later.
 */
const SET_ASIDE = [
  'alter table webhooks rename column failing_since_ms to old_failing_since_ms',
  'alter table events rename to old_events',
  'alter table deliveries rename to old_deliveries',
  'alter table attempts rename to old_attempts',
  'drop index deliveries_by_redelivery',
];

function createTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    // One URL of one entity. Records name the URL that an attempt went to by its number.
    `create table endpoints (
      entity_id ${uuid} not null,
      no bigint not null,
      post_url text collate "binary" not null,
      created_at_ms bigint not null,
      primary key (entity_id, no)
    ) ${clustered}`,
    'create unique index endpoints_by_url on endpoints (entity_id, post_url)',

    // `webhook_no` is the creation sequence of the webhook; below zero it stands for the alerts of a network.
    // `generation` is raised by resume: rows of an older one are due at once and start the schedule again.
    // `blocked` adds up 1 (suspended), 2 (paused) and 4 (deleted); deliveries of a blocked head are not claimed.
    // `next_due_ms` is a hint: no row of the head can be claimed before it, and it is never more than an hour ahead.
    // `idle` counts the looks in a row that found nothing. Above zero, `from_due_ms` is a mark: no row that waits is due
    // before it, and none is of an older generation. Below zero it is the time of the last resume, negated.
    `create table queue_heads (
      entity_id ${uuid} not null,
      webhook_no bigint not null,
      endpoint_no bigint not null,
      network_id bigint not null,
      next_due_ms bigint not null,
      from_due_ms bigint not null default 0,
      failing_since_ms bigint,
      deleted_at_ms bigint,
      generation int not null default 0,
      blocked int not null default 0,
      idle int not null default 0,
      webhook_id text collate "binary" not null,
      event text collate "binary" not null,
      destination text collate "binary" not null,
      post_url text collate "binary" not null,
      primary key (entity_id, webhook_no)
    ) ${updatedInPlace}`,
    'create index queue_heads_due on queue_heads (next_due_ms, entity_id, webhook_no) where blocked = 0',
    'create index queue_heads_by_destination on queue_heads (destination)',
    // Without the entity: a second index that begins with it would compete with the primary key where statistics are old.
    'create index queue_heads_by_webhook on queue_heads (webhook_id)',
    'create index queue_heads_deleted on queue_heads (deleted_at_ms) where deleted_at_ms is not null',

    // `due_ms` is when the next attempt may start, `lease_ms` the end of the lease of the instance that holds the row.
    // The lease is in no index, so that a claim changes no index either.
    // `recorded` is the status of a completed delivery that is sent again, and `scheduled_ms` when the schedule goes on
    // after a redelivery of one that still waits. `event_no` is set only where the id does not begin with the event's.
    `create table queue (
      entity_id ${uuid} not null,
      id ${uuid} not null,
      webhook_no bigint not null,
      endpoint_no bigint not null,
      created_at_ms bigint not null,
      due_ms bigint not null,
      lease_ms bigint not null default 0,
      scheduled_ms bigint,
      ended_at_ms bigint,
      sequence bigint,
      event_no ${uuid},
      redelivery_id ${uuid},
      order_key ${uuid},
      generation int not null,
      token int not null default 0,
      attempts int not null default 0,
      steps int not null default 0,
      redeliver int not null default 0,
      recorded smallint,
      test smallint,
      status_code smallint,
      error text,
      trace text,
      primary key (entity_id, id)
    ) ${updatedInPlace}`,
    'create index queue_due on queue (entity_id, webhook_no, generation, due_ms, id)',
    'create index queue_recorded on queue (entity_id, recorded, id) where recorded is not null',
    'create index queue_by_redelivery on queue (entity_id, redelivery_id) where redelivery_id is not null',
    'create index queue_by_old_event on queue (entity_id, event_no) where event_no is not null',

    // The event's number is a UUIDv7 whose last 16 bits are zero; its deliveries count on from there.
    `create table events (
      entity_id ${uuid} not null,
      no ${uuid} not null,
      network_id bigint not null,
      created_at_ms bigint not null,
      deliveries int not null,
      event text collate "binary" not null,
      event_id text collate "binary",
      trace text,
      body text not null,
      primary key (entity_id, no)
    )`,
    // 128 bits of SHA-256(eventId): apart from the events, so that these can be partitioned by day.
    `create table event_ids (
      entity_id ${uuid} not null,
      hash ${uuid} not null,
      no ${uuid} not null,
      primary key (entity_id, hash)
    ) ${clustered}`,

    // The deliveries that one transaction had no room for: those to the webhooks of this network and event after `after_url`
    // that were registered before the event came. Any instance goes on with them, a bounded step at a time.
    `create table fan_outs (
      entity_id ${uuid} not null,
      event_no ${uuid} not null,
      network_id bigint not null,
      due_ms bigint not null,
      last_webhook_no bigint not null,
      made int not null,
      entity text collate "binary" not null,
      event text collate "binary" not null,
      after_url text collate "binary" not null,
      primary key (entity_id, event_no)
    ) ${updatedInPlace}`,

    // Complete deliveries. `started_at_ms`, `duration_ms` and `response` are those of the only attempt, where there was one
    // alone; the attempts of all others are in `attempts`.
    `create table deliveries (
      entity_id ${uuid} not null,
      id ${uuid} not null,
      webhook_no bigint not null,
      endpoint_no bigint not null,
      created_at_ms bigint not null,
      ended_at_ms bigint,
      started_at_ms bigint,
      sequence bigint,
      event_no ${uuid},
      redelivery_id ${uuid},
      duration_ms int,
      attempts int not null,
      status smallint not null,
      status_code smallint,
      test smallint,
      error text,
      response text,
      primary key (entity_id, id)
    ) ${clustered}`,
    'create index deliveries_by_webhook on deliveries (entity_id, webhook_no, id)',
    // Only deliveries that did not arrive pay for these two.
    'create index deliveries_not_delivered on deliveries (entity_id, status, id) where status <> 1',
    'create index deliveries_not_delivered_by_webhook on deliveries (entity_id, webhook_no, status, id) where status <> 1',
    'create index deliveries_by_redelivery on deliveries (entity_id, redelivery_id) where redelivery_id is not null',
    'create index deliveries_by_old_event on deliveries (entity_id, event_no) where event_no is not null',

    `create table attempts (
      entity_id ${uuid} not null,
      delivery_id ${uuid} not null,
      started_at_ms bigint not null,
      duration_ms int not null,
      attempt int not null,
      status_code smallint,
      kind text not null,
      post_url text not null,
      error text,
      response text,
      primary key (entity_id, delivery_id, attempt)
    ) ${clustered}`,

    // Counters behind every total. Each process adds to a shard of its own, so that no two wait for one row.
    // `stored_bytes` is what the whole entity stores, in the row of webhook 0, which no webhook has.
    `create table queue_counts (
      entity_id ${uuid} not null,
      webhook_no bigint not null,
      shard int not null,
      waiting int not null,
      retrying int not null,
      stored_bytes bigint not null default 0,
      primary key (entity_id, webhook_no, shard)
    ) ${updatedInPlace}`,
    // By the time of creation: the entity's in ten minutes, each webhook's in a day. `created` less the rest still waits.
    `create table delivery_counts (
      entity_id ${uuid} not null,
      webhook_no bigint not null,
      bucket int not null,
      shard int not null,
      created int not null,
      delivered int not null,
      failed int not null,
      cancelled int not null,
      superseded int not null,
      primary key (entity_id, webhook_no, bucket, shard)
    ) ${updatedInPlace}`,
    `create table event_counts (
      entity_id ${uuid} not null,
      network_id bigint not null,
      bucket int not null,
      shard int not null,
      events int not null,
      event text collate "binary" not null,
      primary key (entity_id, network_id, event, bucket, shard)
    ) ${updatedInPlace}`,

    // The processes that run, each of which renews its row. `problem` says which of its workers keep failing.
    `create table instances (
      id text collate "binary" primary key,
      role text not null,
      host text not null,
      started_at_ms bigint not null,
      seen_at_ms bigint not null,
      problem text
    )`,
  ];
}
