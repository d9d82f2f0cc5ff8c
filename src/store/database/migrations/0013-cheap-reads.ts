import type { Dialect, Queries } from '../database.ts';
import { entityKey } from '../sql.ts';
import type { Migration } from './migration.ts';

/**
 * Statistics that cost less: one row for all that was counted in an interval, and of a destination only hours and days. And
 * events that are found by what they are about, and counted where no webhook matched, without reading all others.
 */
export const cheapReads: Migration = {
  version: 13,
  name: 'statistics by the hour and events by subject',
  statements: ({ uuid, storage }) => [
    // Sums of a minute, an hour or a day (`seconds` long, from `start_s` on), of one destination, or of all where it is empty.
    // `counts` is JSON, with a number for each slot (domain/stats.ts). Processes only add to a row, so that any of them may
    // write it. The date is before the destination in the key, so that what is written lies at the end of each interval.
    `create table interval_stats (
      entity_id ${uuid} not null,
      seconds int not null,
      start_s bigint not null,
      destination text collate "binary" not null,
      counts text not null,
      primary key (entity_id, seconds, start_s, destination)
    ) ${storage.updatedInPlace}`,

    // Events without deliveries, of the whole entity, in the row of webhook 0, which no webhook has.
    'alter table queue_counts add column undelivered int not null default 0',
    `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, undelivered)
     select entity_id, 0, 0, 0, 0, count(*) from events
     where deliveries = 0 and superseded_by is null and event <> 'EventRetracted' group by entity_id
     on conflict (entity_id, webhook_no, shard) do update set undelivered = excluded.undelivered`,

    // With the number last, so that the newest events of an agreement are found first.
    'drop index events_by_subject',
    'create index events_by_transfer on events (entity_id, transfer_key, no) where transfer_key is not null',
    'create index events_by_agreement on events (entity_id, agreement_key, no) where agreement_key is not null',
  ],
  convert,
};

const MINUTE_S = 60;

/** The hours and days of the destinations are kept, in which their minutes are contained. */
async function convert(queries: Queries, dialect: Dialect): Promise<void> {
  let after = '';
  for (;;) {
    const row = await queries.get<{ entity_id: string }>(
      'select entity_id from stats where entity_id > $1 order by entity_id limit 1',
      [after],
    );
    if (row === undefined) break;
    after = row.entity_id;
    await queries.run(
      `insert into interval_stats (entity_id, seconds, start_s, destination, counts)
       select cast($2 as ${dialect.uuid}), seconds, start_s, destination, ${dialect.countsOf('slot', 'total')} from stats
       where entity_id = $1 and (destination = '' or seconds > ${MINUTE_S})
       group by seconds, start_s, destination order by seconds, start_s, destination`,
      [after, entityKey(dialect, after)],
    );
  }
  await queries.run('drop table stats');
}
