import type { Dialect } from '../../database.ts';

/**
 * Deliveries with an attempt to come. One row of `queue_heads` per webhook carries everything that suspend, resume, pause,
 * move and delete change, so that none of them rewrites a backlog.
 */
export function queueTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    // `webhook_no` is the creation sequence of the webhook; below zero it stands for the alerts of a network.
    // Resume raises `generation`: rows of an older generation are due at once and start the schedule again.
    // `blocked` adds up 1 (suspended), 2 (paused) and 4 (deleted); deliveries of a blocked head are not claimed.
    // `next_due_ms` is a hint: no row of the head can be claimed before it, and it is never more than an hour ahead.
    // `idle` counts consecutive claims that found nothing.
    // `look_from_ms` is also a hint: until `full_look_ms`, claims read the head's generation from this due time on, and then from
    // the start again.
    // `write_count` rises with every wake-up, so that a claim in progress does not postpone the next one.
    // `ordering` is a copy of the endpoint's column, so that acceptances and claims read it with the head.
    `create table queue_heads (
      entity_id ${uuid} not null,
      webhook_no bigint not null,
      endpoint_no bigint not null,
      network_id bigint not null,
      next_due_ms bigint not null,
      look_from_ms bigint not null default 0,
      full_look_ms bigint not null default 0,
      write_count bigint not null default 0,
      failing_since_ms bigint,
      generation int not null default 0,
      blocked int not null default 0,
      idle int not null default 0,
      ordering smallint not null default 0,
      webhook_id text collate "binary" not null,
      event text collate "binary" not null,
      destination text collate "binary" not null,
      post_url text collate "binary" not null,
      primary key (entity_id, webhook_no)
    ) ${updatedInPlace}`,
    'create index queue_heads_due on queue_heads (next_due_ms, entity_id, webhook_no) where blocked = 0',
    'create index queue_heads_by_destination on queue_heads (destination)',
    // The index leaves out the entity: a second index that begins with the entity would compete with the primary key if
    // statistics are old.
    'create index queue_heads_by_webhook on queue_heads (webhook_id)',
    // Written when a webhook begins or ceases to fail, and by no other attempt.
    'create index queue_heads_failing on queue_heads (failing_since_ms) where failing_since_ms is not null',
    // Written when a webhook is suspended, paused or resumed. A deleted webhook leaves the index.
    'create index queue_heads_blocked on queue_heads (blocked) where blocked between 1 and 3',

    // `due_ms` is when the next attempt may start, `lease_ms` the end of the lease of the instance that holds the row. The lease
    // has no index, so that a claim changes no index either.
    // `lease_s` is the length of the lease: if more time is left than that, the clock was set back after the claim.
    // `generation` is null while the row waits for its turn under its ordering key: no claim takes it then.
    // `order_key` is a hash of the scope and the subject of the ordering, and `turn` the row's place in that order. A row with a
    // key also has `agreement_hash` and `payment_hash`, so that a key can be made for another scope.
    // `may_be_received` is 1 from the first claim on, before the first byte is sent. An instance clears it only if it returns its
    // claim unsent.
    // `is_shown` is 1 once the endpoint's feed has shown the delivery before an attempt. Nothing clears `is_shown`, not even the
    // return of a claim.
    // `endpoint_no` is the endpoint that numbered the delivery, and never changes. `sent_to_no` is the endpoint of the last
    // attempt if the webhook has moved since then, or the endpoint that acknowledged the delivery.
    // `recorded` is the status of a completed delivery that is sent again, and `scheduled_ms` when the schedule continues after a
    // redelivery of a waiting delivery.
    // `superseded_by` is the number of an event.
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
      sent_to_no bigint,
      redelivery_id ${uuid},
      order_key ${uuid},
      turn bigint,
      agreement_hash ${uuid},
      payment_hash ${uuid},
      superseded_by ${uuid},
      generation int,
      token int not null default 0,
      attempts int not null default 0,
      steps int not null default 0,
      redeliver int not null default 0,
      recorded smallint,
      may_be_received smallint not null default 0,
      is_shown smallint not null default 0,
      lease_s smallint not null default 0,
      test smallint,
      status_code smallint,
      error text,
      trace text,
      primary key (entity_id, id)
    ) ${updatedInPlace}`,
    'create index queue_due on queue (entity_id, webhook_no, generation, due_ms, id)',
    'create index queue_recorded on queue (entity_id, recorded, id) where recorded is not null',
    'create index queue_by_redelivery on queue (entity_id, redelivery_id) where redelivery_id is not null',
    // Contains only the deliveries of payments, and deliveries to ordered endpoints.
    'create index queue_by_order on queue (entity_id, order_key, turn) where order_key is not null',
    // Contains only test requests. A bulk redelivery leaves them out, and no counter tells them apart.
    'create index queue_of_tests on queue (entity_id, id) where test is not null',

    // One row for each ordering key with waiting deliveries. The row is the lock of its key, and has the key's next turn.
    `create table order_keys (
      entity_id ${uuid} not null,
      order_key ${uuid} not null,
      next_turn bigint not null,
      primary key (entity_id, order_key)
    ) ${clustered}`,
  ];
}
