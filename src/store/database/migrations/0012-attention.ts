import type { Migration } from './migration.ts';

/** What needs someone's attention: events that reached no webhook, and endpoints that keep failing. */
export const attention: Migration = {
  version: 12,
  name: 'unmatched events and failing endpoints',
  statements: ({ uuid, storage }) => [
    // With all that the list filters by, so that counting reads the index alone. An event with deliveries is not in it.
    `create index events_unmatched on events (entity_id, no, event, network_id)
      where deliveries = 0 and superseded_by is null and event <> 'EventRetracted'`,
    // Only the facts of events that were sent to be held.
    'create index facts_held on facts (entity_id, event_no) where event_no is not null',

    // Written when a webhook begins or ceases to fail, and by no other attempt.
    'create index queue_heads_failing on queue_heads (failing_since_ms) where failing_since_ms is not null',
    // Endpoints that an alert said to be failing. `webhook_no` is the webhook that has failed longest, `generation` and
    // `failing_since_ms` are those of its head: while they are the same, nothing has changed. `next_ms` is when to alert again.
    `create table endpoint_alerts (
      entity_id ${uuid} not null,
      endpoint_no bigint not null,
      webhook_no bigint not null,
      failing_since_ms bigint not null,
      next_ms bigint not null,
      generation int not null,
      primary key (entity_id, endpoint_no)
    ) ${storage.updatedInPlace}`,
  ],
};
