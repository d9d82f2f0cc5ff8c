import type { Migration } from './migration.ts';

/**
 * An index for each filter of the list in each sort order. A walk along the index of the order alone passed over every webhook
 * that did not match: 136 ms for the first page of a network whose webhooks are the oldest of a million.
 */
export const listIndexes: Migration = {
  version: 15,
  name: 'indexes for the filters of the list',
  statements: [
    'drop index webhooks_by_creation',
    'drop index webhooks_by_url',
    'create index webhooks_by_creation on webhooks (entity_id, created_seq)',
    'create index webhooks_by_url on webhooks (entity_id, post_url, id)',
    // With the event, because a network has few webhooks beside those of one event: at most 10,000 for each kind.
    'create index webhooks_by_network_creation on webhooks (entity_id, network_id, created_seq, event)',
    'create index webhooks_by_network_url on webhooks (entity_id, network_id, post_url, id, event)',
    'create index webhooks_by_event_creation on webhooks (entity_id, event, created_seq)',
    'create index webhooks_by_event_url on webhooks (entity_id, event, post_url, id)',
  ],
};
