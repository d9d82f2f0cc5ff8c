import {
  figuresOf,
  INTERVAL_S,
  MAX_DESTINATIONS_SHOWN,
  SLOTS,
  type Stats,
  type StatsRange,
  type Tally,
} from '../domain/stats.ts';
import type { Database, Queries, SqlInteger } from './database.ts';
import { walkDestinations } from './delivery-claims.ts';
import { chunks, valuesList } from './values.ts';

/** Sums over minutes and hours. Days are summed up from hours when they are asked for. */

/** `destination` is empty for the sum over all of them. */
export type StatsRow = {
  entityId: string;
  seconds: number;
  destination: string;
  startS: number;
  slot: number;
  total: number;
};

/** Every sum that is kept: a minute for a close look, an hour so that a month is a thousand rows and not a million. */
export const KEPT_SECONDS = [INTERVAL_S.minute, INTERVAL_S.hour] as const;

/** Adds to what is there. The rows have to come in one order from every process, or two of them could deadlock. */
export async function addStats(queries: Queries, rows: readonly StatsRow[]): Promise<void> {
  for (const chunk of chunks(rows)) {
    await queries.run(
      `insert into stats (entity_id, seconds, destination, start_s, slot, total)
       values ${valuesList(chunk.length, 6)}
       on conflict (entity_id, seconds, destination, start_s, slot) do update set total = stats.total + excluded.total`,
      chunk.flatMap((row) => [row.entityId, row.seconds, row.destination, row.startS, row.slot, row.total]),
    );
  }
}

type Read = Omit<Stats, 'interval' | 'backlog'>;

/** Totals, intervals and destinations of one moment. */
export async function readStats(
  db: Database,
  entityId: string,
  { intervalS, startS, endS }: StatsRange,
  destination: string | undefined,
): Promise<Read> {
  const seconds = intervalS < INTERVAL_S.hour ? INTERVAL_S.minute : INTERVAL_S.hour;
  const range = [entityId, seconds, startS, endS];
  const [byInterval, byDestination] = await db.snapshot(async (queries) => [
    await queries.all<{ start_s: SqlInteger; slot: SqlInteger; total: SqlInteger }>(
      `select start_s - start_s % $6 as start_s, slot, sum(total) as total from stats
       where entity_id = $1 and seconds = $2 and destination = $5 and start_s >= $3 and start_s < $4
       group by start_s - start_s % $6, slot`,
      [...range, destination ?? '', intervalS],
    ),
    await queries.all<{ destination: string; slot: SqlInteger; total: SqlInteger }>(
      `select destination, slot, sum(total) as total from stats
       where entity_id = $1 and seconds = $2 and start_s >= $3 and start_s < $4
         and destination ${destination === undefined ? `<> ''` : '= $5'}
       group by destination, slot`,
      destination === undefined ? range : [...range, destination],
    ),
  ]);
  const intervals = tallies(byInterval.map((row) => ({ ...row, key: Number(row.start_s) })));
  const destinations = tallies(byDestination.map((row) => ({ ...row, key: row.destination })));
  const withEvents = (tally: Tally) => ({
    events: destination === undefined ? (tally.get(SLOTS.events) ?? 0) : null,
    ...figuresOf(tally),
  });
  return {
    dateStart: startS,
    dateEnd: endS,
    total: withEvents(sumOf(intervals.values())),
    intervals: Array.from({ length: (endS - startS) / intervalS }, (_, index) => {
      const dateStart = startS + index * intervalS;
      return { dateStart, ...withEvents(intervals.get(dateStart) ?? new Map()) };
    }),
    totalDestinations: destinations.size,
    destinations: busiest(destinations),
  };
}

function busiest(destinations: ReadonlyMap<string, Tally>): Stats['destinations'] {
  const all = [...destinations].map(([destination, tally]) => ({ destination, ...figuresOf(tally) }));
  const traffic = ({ accepted, delivered, failed }: (typeof all)[number]) => accepted + delivered + failed;
  const byName = (a: string, b: string) => (a < b ? -1 : 1);
  all.sort((a, b) => traffic(b) - traffic(a) || byName(a.destination, b.destination));
  return all.slice(0, MAX_DESTINATIONS_SHOWN);
}

function tallies<Key>(rows: readonly { key: Key; slot: SqlInteger; total: SqlInteger }[]): Map<Key, Tally> {
  const byKey = new Map<Key, Tally>();
  for (const { key, slot, total } of rows) {
    const tally = byKey.get(key) ?? new Map();
    byKey.set(key, tally.set(Number(slot), Number(total)));
  }
  return byKey;
}

function sumOf(all: Iterable<Tally>): Tally {
  const sum: Tally = new Map();
  for (const tally of all) for (const [slot, total] of tally) sum.set(slot, (sum.get(slot) ?? 0) + total);
  return sum;
}

/** Seeks for one read, and how many such reads one answer is worth. */
const WINDOW = 256;
const MAX_WINDOWS = 8;

/** How long the first of the entity's deliveries has been due: one seek for each destination, whatever waits there. */
export async function oldestDueAgeMs(db: Database, entityId: string): Promise<number> {
  const prefix = `${entityId} `;
  let after = prefix;
  let oldestMs = 0;
  for (let windows = 0; windows < MAX_WINDOWS; windows++) {
    const found = await walkDestinations(db, after, WINDOW);
    for (const { destination, firstDueMs, nowMs } of found) {
      if (!destination.startsWith(prefix)) return oldestMs;
      oldestMs = Math.max(oldestMs, nowMs - firstDueMs);
      after = destination;
    }
    if (found.length < WINDOW) break;
  }
  return oldestMs;
}

/** Removes at most `limit` rows that ended before the moment; fewer than that, and none is left. */
export function pruneStats(db: Database, entityId: string, beforeS: number, limit: number): Promise<number> {
  return db.transaction(async (queries) => {
    let removed = 0;
    for (const seconds of KEPT_SECONDS) {
      if (removed === limit) break;
      removed += await queries.run(
        `delete from stats where (entity_id, seconds, destination, start_s, slot) in (
           select entity_id, seconds, destination, start_s, slot from stats
           where entity_id = $1 and seconds = $2 and start_s <= $3 order by start_s limit $4 ${db.dialect.skipLocked})`,
        [entityId, seconds, beforeS - seconds, limit - removed],
      );
    }
    return removed;
  });
}
