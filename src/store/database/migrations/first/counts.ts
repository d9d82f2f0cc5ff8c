import type { Dialect } from '../../database.ts';

/** Counters behind every total. Each process adds to its own shard, so that no two wait for one row. */
export function countTables({ uuid, storage }: Dialect): string[] {
  const { updatedInPlace } = storage;
  return [
    // No webhook has the number 0: its row is for the whole entity. It has `stored_bytes`, and `undelivered` counts the entity's
    // events without deliveries.
    `create table queue_counts (
      entity_id ${uuid} not null,
      webhook_no bigint not null,
      stored_bytes bigint not null default 0,
      shard int not null,
      waiting int not null,
      retrying int not null,
      undelivered int not null default 0,
      primary key (entity_id, webhook_no, shard)
    ) ${updatedInPlace}`,
    // Deliveries by their time of creation, in buckets of ten minutes for the entity and of a day for each webhook. `created`
    // minus the other counts is the number of waiting deliveries.
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
    // Events by their time of acceptance, in buckets of an hour.
    `create table event_counts (
      entity_id ${uuid} not null,
      network_id bigint not null,
      bucket int not null,
      shard int not null,
      events int not null,
      event text collate "binary" not null,
      primary key (entity_id, network_id, event, bucket, shard)
    ) ${updatedInPlace}`,
    // All events of a day, for lists that name neither a network nor a kind.
    `create table event_day_counts (
      entity_id ${uuid} not null,
      bucket int not null,
      shard int not null,
      events int not null,
      primary key (entity_id, bucket, shard)
    ) ${updatedInPlace}`,

    // Sums of a minute, an hour or a day (`seconds` long, from `start_s` on), for one destination, or for all if `destination` is
    // empty. `counts` is JSON, with a number for each slot (domain/stats.ts). Processes only add to a row, so that every process
    // may write it. In the key, `start_s` comes before `destination`, so that all writes of one interval are close together.
    `create table interval_stats (
      entity_id ${uuid} not null,
      seconds int not null,
      start_s bigint not null,
      destination text collate "binary" not null,
      counts text not null,
      primary key (entity_id, seconds, start_s, destination)
    ) ${updatedInPlace}`,
  ];
}
