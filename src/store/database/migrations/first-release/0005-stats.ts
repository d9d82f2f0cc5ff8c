import type { Migration } from '../migration.ts';

export const stats: Migration = {
  version: 5,
  name: 'statistics',
  statements: [
    // Sums of a minute, an hour or a day (`seconds` long, from `start_s` on), of one destination, or of all where it is empty.
    // `slot` says what was counted (domain/stats.ts). Processes only add to a row, so that any of them may write it.
    `create table stats (
      entity_id text collate "binary" not null,
      seconds bigint not null,
      destination text collate "binary" not null,
      start_s bigint not null,
      slot bigint not null,
      total bigint not null,
      primary key (entity_id, seconds, destination, start_s, slot)
    )`,
    'create index stats_by_date on stats (entity_id, seconds, start_s)',
  ],
};
