import type { Dialect } from '../../database.ts';

/** Completed deliveries. A row is inserted once, when its delivery leaves the queue. */
export function deliveryTables({ uuid, storage }: Dialect): string[] {
  const { clustered } = storage;
  return [
    // `started_at_ms`, `duration_ms` and `response` belong to the only attempt of a delivery with one attempt. All attempts
    // of other deliveries are in `attempts`. `may_be_received` is 1 if the delivery was claimed, or shown in the feed, but
    // ended without a recorded attempt, and null otherwise.
    `create table deliveries (
      entity_id ${uuid} not null,
      id ${uuid} not null,
      webhook_no bigint not null,
      endpoint_no bigint not null,
      created_at_ms bigint not null,
      ended_at_ms bigint,
      started_at_ms bigint,
      sequence bigint,
      sent_to_no bigint,
      redelivery_id ${uuid},
      superseded_by ${uuid},
      duration_ms int,
      attempts int not null,
      status smallint not null,
      status_code smallint,
      test smallint,
      may_be_received smallint,
      error text,
      response text,
      primary key (entity_id, id)
    ) ${clustered}`,
    'create index deliveries_by_webhook on deliveries (entity_id, webhook_no, id)',
    // Two indexes that cost nothing for deliveries that arrived.
    'create index deliveries_not_delivered on deliveries (entity_id, status, id) where status <> 1',
    'create index deliveries_not_delivered_by_webhook on deliveries (entity_id, webhook_no, status, id) where status <> 1',
    // Contains the result of the last attempt, so that counting the results of a redelivery reads no row.
    `create index deliveries_by_redelivery on deliveries (entity_id, redelivery_id, status_code)
      where redelivery_id is not null`,
    'create index deliveries_of_tests on deliveries (entity_id, id) where test is not null',

    // `response_headers` has names and values on separate lines, for failed attempts.
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
      response_headers text,
      primary key (entity_id, delivery_id, attempt)
    ) ${clustered}`,

    // A bulk redelivery: its filter and its results. A task queues the deliveries, and sets `finished_at` at its end.
    `create table redeliveries (
      entity_id text collate "binary" not null,
      id text collate "binary" not null,
      filter text not null,
      total bigint not null,
      seen bigint not null default 0,
      queued bigint not null default 0,
      until_ms bigint not null,
      actor text not null,
      created_at bigint not null,
      finished_at bigint,
      primary key (entity_id, id)
    )`,
  ];
}
