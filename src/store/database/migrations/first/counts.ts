import type { Dialect } from '../../database.ts';

/** Counters behind every total. Each process adds to its own shard, so that no two wait for one row. */
export function countTables({ uuid, storage }: Dialect): string[] {
  const { updatedInPlace } = storage;
  return [
    // The row of webhook 0, which no webhook has, is for the whole entity: `stored_bytes`, and `undelivered`, its events
    // without deliveries.
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
    // By the time of acceptance, in an hour.
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

    // Sums of a minute, an hour or a day (`seconds` long, from `start_s` on), of one destination, or of all if it is empty.
    // `counts` is JSON, with a number for each slot (domain/stats.ts). Processes only add to a row, so that any of them may
    // write it. The date is before the destination in the key, so that writes are at the end of each interval.
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
