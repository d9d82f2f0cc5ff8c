import { MAX_DESTINATIONS_SHOWN, type Stats } from '../../contract/stats.ts';
import { figuresOf, INTERVAL_S, longestSums, SLOTS, type StatsRange, type Tally } from '../../domain/stats.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks, entityKey, type RowOf, readInteger } from '../database/sql.ts';
import { statsTable } from '../tables.ts';

/** `destination` is empty for the sum over all of them. */
export type StatsRow = RowOf<typeof statsTable>;

/** Every interval is stored, so that reading needs no summing: a month of days is 30 rows and not 43,200. */
export const KEPT_SECONDS = Object.values(INTERVAL_S);

const NEW_SUM = statsTable.insertion(['entityId', 'seconds', 'destination', 'startS', 'slot', 'total']);

/** Adds to what is stored. Every process has to bring the rows in the same order, or two of them could deadlock. */
export async function addStats(queries: Queries, rows: readonly StatsRow[]): Promise<void> {
  for (const chunk of chunks(rows)) {
    await queries.run(
      `${NEW_SUM.text(chunk.length)}
       on conflict (entity_id, seconds, destination, start_s, slot) do update set total = stats.total + excluded.total`,
      NEW_SUM.parameters(chunk),
    );
  }
}

type Read = Omit<Stats, 'interval' | 'backlog' | 'storage'>;

const SUM = statsTable.pick(['startS', 'destination', 'slot', 'total']);

export async function readStats(
  db: Database,
  entityId: string,
  range: StatsRange,
  destination: string | undefined,
): Promise<Read> {
  const { intervalS, startS, endS } = range;
  const rows = await SUM.all(
    db.longReads,
    `select ${SUM.list} from stats
     where entity_id = $1 and seconds = $2 and destination = $3 and start_s >= $4 and start_s < $5`,
    [entityId, intervalS, destination ?? '', startS, endS],
  );
  const intervals = new Map<number, Tally>();
  for (const row of rows) addTo(intervals, row.startS, row);
  const inAll = sumOf(intervals.values());
  const single = destination === undefined || inAll.size === 0 ? [] : [[destination, inAll] as const];
  const destinations = destination === undefined ? await readDestinations(db, entityId, range) : new Map(single);
  const withEvents = (tally: Tally) => ({
    events: destination === undefined ? (tally.get(SLOTS.events) ?? 0) : null,
    ...figuresOf(tally),
  });
  return {
    dateStart: startS,
    dateEnd: endS,
    total: withEvents(inAll),
    intervals: Array.from({ length: (endS - startS) / intervalS }, (_, index) => {
      const dateStart = startS + index * intervalS;
      return { dateStart, ...withEvents(intervals.get(dateStart) ?? new Map()) };
    }),
    totalDestinations: destinations.size,
    destinations: busiest(destinations),
  };
}

/** As many rows as are summed within a few milliseconds here, on the thread of the event loop. */
const ROWS_PER_READ = 1_000;

/**
 * Few rows at a time, so that other requests run in between, and from the longest intervals that fit: with a hundred
 * destinations, a day by the minute would be a million rows and 2.4 s, and 30 days by the hour half of both.
 */
async function readDestinations(db: Database, entityId: string, range: StatsRange): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>();
  let perRead = 1;
  for (const { seconds, startS, endS } of longestSums(range)) {
    for (let fromS = startS; fromS < endS; ) {
      const toS = Math.min(endS, fromS + perRead * seconds);
      const rows = await SUM.all(
        db.longReads,
        `select ${SUM.list} from stats
         where entity_id = $1 and seconds = $2 and start_s >= $3 and start_s < $4 and destination <> ''`,
        [entityId, seconds, fromS, toS],
      );
      for (const row of rows) addTo(tallies, row.destination, row);
      fromS = toS;
      perRead = rows.length < ROWS_PER_READ / 2 ? perRead * 2 : Math.max(1, Math.floor(perRead / 2));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return tallies;
}

function addTo<Key>(tallies: Map<Key, Tally>, key: Key, { slot, total }: Pick<StatsRow, 'slot' | 'total'>): void {
  const tally = tallies.get(key) ?? new Map();
  tallies.set(key, tally.set(slot, (tally.get(slot) ?? 0) + total));
}

function busiest(destinations: ReadonlyMap<string, Tally>): Stats['destinations'] {
  const all = [...destinations].map(([destination, tally]) => ({ destination, ...figuresOf(tally) }));
  const traffic = ({ accepted, delivered, failed }: (typeof all)[number]) => accepted + delivered + failed;
  const byName = (a: string, b: string) => (a < b ? -1 : 1);
  all.sort((a, b) => traffic(b) - traffic(a) || byName(a.destination, b.destination));
  return all.slice(0, MAX_DESTINATIONS_SHOWN);
}

function sumOf(all: Iterable<Tally>): Tally {
  const sum: Tally = new Map();
  for (const tally of all) for (const [slot, total] of tally) sum.set(slot, (sum.get(slot) ?? 0) + total);
  return sum;
}

/** Webhooks looked at for one response. */
const HEADS_PER_LOOK = 256;

/** How long the first of the entity's deliveries has been due: one seek for each webhook that has something due. */
export async function oldestDueAgeMs(db: Database, entityId: string): Promise<number> {
  const { dialect } = db;
  const { nowMs } = dialect;
  const oldestMs = await readInteger(
    db.longReads,
    `max(${nowMs} - (select min(q.due_ms) from queue q where q.entity_id = h.entity_id
       and q.webhook_no = h.webhook_no and q.generation <= h.generation and q.lease_ms <= ${nowMs}))`,
    `from (select entity_id, webhook_no, generation from queue_heads
           where entity_id = $1 and blocked = 0 and next_due_ms <= ${nowMs} limit ${HEADS_PER_LOOK}) h`,
    [entityKey(dialect, entityId)],
  );
  return Math.max(0, oldestMs);
}

/** Removes at most `limit` rows whose interval ended before the date; fewer means that none is left. */
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
