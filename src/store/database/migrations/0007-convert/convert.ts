import type { Dialect, Queries, SqlInteger, SqlValue } from '../../database.ts';
import { chunks, valuesList } from '../../sql.ts';
import { convertDeliveries } from './deliveries.ts';
import { convertEvents, EventNumbers, entityHex, ROWS_PER_PAGE } from './events.ts';
import { HEAD_TABLES } from './heads.ts';

/**
 * Copies the deliveries of a store from before the queue was parted from the record. Every id stays as callers know it;
 * a delivery whose id does not begin with its event's number names that number in `event_no`. Rows are copied a page at a
 * time in the order of their creation, so that memory does not grow with the store.
 */
export async function convertStore(queries: Queries, dialect: Dialect): Promise<void> {
  // The tables are new, and no statistics tell the planner how a page of them is found.
  await queries.get(dialect.planForClaims);
  for (const sql of [...helperTables(dialect), ...HEAD_TABLES]) await queries.run(sql);
  await nameEntities(queries, dialect);
  await moveCursors(queries);
  const numbers = new EventNumbers(queries, dialect);
  await convertEvents(queries, dialect, numbers);
  await convertDeliveries(queries, dialect, numbers);
  await queries.run(COUNT_STORED_BYTES);
  for (const sql of REMOVALS) await queries.run(sql);
}

/** The collation is that of the columns that these are joined with: without it PostgreSQL does not use their indexes. */
function helperTables({ uuid }: Dialect): string[] {
  return [
    `create table old_entities (id text collate "binary" primary key, key ${uuid} not null)`,
    `create table old_event_numbers (entity_id text collate "binary" not null, id text collate "binary" not null,
       no ${uuid} not null, primary key (entity_id, id))`,
  ];
}

const REMOVALS = [
  ...['attempts', 'deliveries', 'events', 'event_numbers', 'heads', 'entities'].map((name) => `drop table old_${name}`),
  'alter table webhooks drop column old_failing_since_ms',
];

async function nameEntities(queries: Queries, { bindUuid }: Dialect): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: { id: string }[] = await queries.all(
      `select id from entities where id > $1 order by id limit ${ROWS_PER_PAGE}`,
      [after],
    );
    for (const chunk of chunks(page)) {
      const values = chunk.flatMap(({ id }): SqlValue[] => [id, bindUuid(entityHex(id))]);
      await queries.run(`insert into old_entities (id, key) values ${valuesList(chunk.length, 2)}`, values);
    }
    after = page.at(-1)?.id;
  }
}

/** Each table is summed up in the order of its primary key, so that nothing has to be sorted. */
const storedIn = (table: string, bytes: string) =>
  `select entity_id, sum(${bytes}) as bytes from ${table} group by entity_id`;

const COUNT_STORED_BYTES = `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes)
  select entity_id, 0, 0, 0, 0, sum(bytes) from (
    ${storedIn('events', '150 + octet_length(body) + coalesce(octet_length(event_id), 0)')}
    union all ${storedIn('queue', '200')}
    union all ${storedIn('deliveries', '200 + coalesce(octet_length(response), 0)')}
    union all ${storedIn('attempts', '100 + octet_length(post_url) + coalesce(octet_length(response), 0)')}
  ) stored group by entity_id`;

type Running = { entity_id: string; id: string; cursor_created_at_ms: SqlInteger; cursor_id: string };

/**
 * A bulk redelivery went on by date and then id, and goes on by id alone now. Where the two orders differ, its cursor goes
 * back behind the first delivery that it has not seen: one may be sent once more, and none is left out.
 */
async function moveCursors(queries: Queries): Promise<void> {
  const running = await queries.all<Running>(
    `select entity_id, id, cursor_created_at_ms, cursor_id from redeliveries where status = 'running' and cursor_id <> ''`,
  );
  for (const { entity_id, id, cursor_created_at_ms, cursor_id } of running) {
    const row = await queries.get<{ id: string | null }>(
      `select min(d.id) as id from old_deliveries d where d.entity_id = $1 and d.id < $3
         and (d.created_at_ms, d.id) > ($2, $3)`,
      [entity_id, Number(cursor_created_at_ms), cursor_id],
    );
    if (row?.id == null) continue;
    const before = (BigInt(`0x${row.id.slice('dlv_'.length)}`) - 1n).toString(16).padStart(32, '0');
    await queries.run('update redeliveries set cursor_id = $3 where entity_id = $1 and id = $2', [
      entity_id,
      id,
      `dlv_${before}`,
    ]);
  }
}
