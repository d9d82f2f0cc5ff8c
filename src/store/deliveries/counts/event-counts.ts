import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { chunks, textByRows, valuesList } from '../../database/sql.ts';
import { type CountsWriter, inOrder, shardOf } from './counts.ts';

/** The counters behind the totals of events, kept in the transaction that accepts or removes events. */

/** The time span of one row of `event_counts`, and of one row of `event_day_counts`. */
export const EVENT_BUCKET_MS = 3_600_000;
export const EVENT_DAY_MS = 86_400_000;

type EventCount = { entity: SqlUuid; networkId: number; event: string; createdAtMs: number; events: number };

const eventCountsText = textByRows(
  (
    rows,
  ) => `insert into event_counts (entity_id, network_id, event, bucket, shard, events) values ${valuesList(rows, 6)}
    on conflict (entity_id, network_id, event, bucket, shard) do update set events = event_counts.events + excluded.events`,
);

const eventDayCountsText = textByRows(
  (rows) => `insert into event_day_counts (entity_id, bucket, shard, events) values ${valuesList(rows, 4)}
    on conflict (entity_id, bucket, shard) do update set events = event_day_counts.events + excluded.events`,
);

type HourCount = { entity: SqlUuid; networkId: number; event: string; hour: number; events: number };

/** Adds accepted events to the counts, or subtracts removed events. */
export async function countEvents(
  queries: Queries,
  dialect: Dialect,
  changes: readonly EventCount[],
  writer: CountsWriter = 'acceptance',
): Promise<void> {
  const shard = shardOf(dialect, writer);
  const hours = countByHour(dialect, changes);
  for (const chunk of chunks(inOrder(hours))) {
    const values: SqlValue[] = [];
    for (const { entity, networkId, event, hour, events } of chunk) {
      values.push(entity, networkId, event, hour, shard, events);
    }
    await queries.send(eventCountsText(chunk.length), values);
  }
  const days = countByDay(dialect, [...hours.values()]);
  for (const chunk of chunks(inOrder(days))) {
    const values = chunk.flatMap(({ entity, day, events }) => [entity, day, shard, events]);
    await queries.send(eventDayCountsText(chunk.length), values);
  }
}

function countByHour({ hexOf }: Dialect, changes: readonly EventCount[]): Map<string, HourCount> {
  const rows = new Map<string, HourCount>();
  // Most events of a transaction have one kind and one hour, so the last row is remembered.
  let last: HourCount | undefined;
  for (const { entity, networkId, event, createdAtMs, events } of changes) {
    const hour = Math.floor(createdAtMs / EVENT_BUCKET_MS);
    const isAsLast =
      last !== undefined &&
      last.entity === entity &&
      last.networkId === networkId &&
      last.event === event &&
      last.hour === hour;
    if (last === undefined || !isAsLast) {
      const key: string = `${hexOf(entity)} ${networkId} ${event} ${hour}`;
      last = rows.get(key) ?? { entity, networkId, event, hour, events: 0 };
      rows.set(key, last);
    }
    last.events += events;
  }
  return rows;
}

function countByDay({ hexOf }: Dialect, hours: readonly HourCount[]) {
  const rows = new Map<string, { entity: SqlUuid; day: number; events: number }>();
  for (const { entity, hour, events } of hours) {
    const day = Math.floor((hour * EVENT_BUCKET_MS) / EVENT_DAY_MS);
    const key = `${hexOf(entity)} ${day}`;
    const row = rows.get(key) ?? { entity, day, events: 0 };
    rows.set(key, row);
    row.events += events;
  }
  return rows;
}
