import type { Migration } from './migration.ts';

/** What a support desk looks for: deliveries by what they are about, what became of a redelivery, and how receivers responded. */
export const findingDeliveries: Migration = {
  version: 11,
  name: 'finding deliveries',
  statements: () => [
    // Facts are found by their entity and their id.
    'drop index facts_by_id',

    // Only test requests pay for these two. A bulk redelivery leaves test requests out, and no counter tells them apart.
    'create index deliveries_of_tests on deliveries (entity_id, id) where test is not null',
    'create index queue_of_tests on queue (entity_id, id) where test is not null',

    // With the result of the last attempt, so that counting what became of a redelivery reads no row.
    'drop index deliveries_by_redelivery',
    `create index deliveries_by_redelivery on deliveries (entity_id, redelivery_id, status_code)
      where redelivery_id is not null`,

    // 32 bits of a hash of the ids in the payload; null for an event without them, and for those from before this version.
    // The number of the event is before them in the index, so that an acceptance always writes to its end.
    'alter table events add column transfer_key int',
    'alter table events add column agreement_key int',
    `create index events_by_subject on events (entity_id, no, transfer_key, agreement_key)
      where transfer_key is not null or agreement_key is not null`,

    // Names and values by line, of attempts that failed.
    'alter table attempts add column response_headers text',
  ],
};
