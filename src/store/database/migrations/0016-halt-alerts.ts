import type { Migration } from './migration.ts';

/**
 * A halt can concern thousands of entities, each with an alert in a transaction of its own. `halt_told_to` is the last entity
 * that was told, empty before the first, so that any instance can go on; null where all were told, or nothing is halted.
 */
export const haltAlerts: Migration = {
  version: 16,
  name: 'who was told of a halt',
  statements: ['alter table chains add column halt_told_to text collate "binary"'],
};
