import type { DestinationOrder, Stats } from '../../contract/stats.ts';
import {
  figuresOf,
  INTERVAL_S,
  longestSums,
  MAX_DESTINATIONS_SHOWN,
  SLOTS,
  type StatsRange,
  type Tally,
  wholeHours,
} from '../../domain/stats.ts';
import { type Database, type Dialect, longReadsOf, type Queries, type Reads } from '../database/database.ts';
import { Columns, chunks, entityKey, integer, type RowOf, readInteger, text, textByRows } from '../database/sql.ts';
import { statsTable } from '../tables.ts';
import { type DestinationState, QUIET, rankOf, readDestinationStates } from './destination-states.ts';

export type StatsRow = RowOf<typeof statsTable>;

/** Every interval is stored, so that reading needs little summing: a month of days is 30 rows and not 43,200. */
export const KEPT_SECONDS = Object.values(INTERVAL_S);

const NEW_SUM = statsTable.insertion(['entity', 'seconds', 'startS', 'destination', 'counts']);

const addText = ({ addCounts }: Dialect) =>
  textByRows(
    (rows) => `${NEW_SUM.text(rows)}
      on conflict (entity_id, seconds, start_s, destination)
      do update set counts = ${addCounts('interval_stats.counts', 'excluded.counts')}`,
  );
const addTexts = new WeakMap<Dialect, ReturnType<typeof addText>>();

/** Adds rows to the stored sums. Every process must bring the rows in the same order, or two of them could deadlock. */
export async function addStats(queries: Queries, dialect: Dialect, rows: readonly StatsRow[]): Promise<void> {
  const text = addTexts.get(dialect) ?? addText(dialect);
  addTexts.set(dialect, text);
  for (const chunk of chunks(rows)) await queries.run(text(chunk.length), NEW_SUM.parameters(chunk));
}

type Read = Omit<Stats, 'interval' | 'backlog' | 'storage'>;

/** Reads statistics. With a destination, the range must consist of whole hours. */
export async function readStats(
  db: Database,
  entityId: string,
  range: StatsRange,
  destination: string | undefined,
  order: DestinationOrder = 'traffic',
): Promise<Read> {
  const { intervalS, startS, endS } = range;
  const entity = entityKey(db.dialect, entityId);
  const starts = Array.from({ length: (endS - startS) / intervalS }, (_, index) => startS + index * intervalS);
  const reads = longReadsOf(db, entityId);
  const intervals = await readIntervals(reads, { entity, seconds: intervalS, destination }, starts);
  const inAll: Tally = new Map();
  for (const tally of intervals.values()) addTo(inAll, tally);
  const single = destination === undefined || inAll.size === 0 ? [] : [[destination, inAll] as const];
  const hours = wholeHours(range);
  const destinations = destination === undefined ? await readDestinations(reads, entity, hours) : new Map(single);
  const states = await readDestinationStates(reads, db.dialect, entity);
  addTroubled(destinations, states, destination);
  const withEvents = (tally: Tally) => ({
    events: destination === undefined ? (tally.get(SLOTS.events) ?? 0) : null,
    ...figuresOf(tally),
  });
  return {
    dateStart: startS,
    dateEnd: endS,
    total: withEvents(inAll),
    intervals: starts.map((dateStart) => ({ dateStart, ...withEvents(intervals.get(dateStart) ?? new Map()) })),
    totalDestinations: destinations.size,
    destinationsDateStart: hours.startS,
    destinationsDateEnd: hours.endS,
    destinations: firstOf(destinations, states, order),
  };
}

const INTERVAL = statsTable.pick(['startS', 'counts']);

type Series = Pick<StatsRow, 'entity' | 'seconds'> & { readonly destination: string | undefined };

/** Looks up each interval by the primary key, because the rows of all other destinations lie between two intervals. */
async function readIntervals(
  reads: Reads,
  { entity, seconds, destination = '' }: Series,
  starts: readonly number[],
): Promise<Map<number, Tally>> {
  const intervals = new Map<number, Tally>();
  const from = 'from interval_stats where entity_id = $1 and seconds = $2 and destination = $3 and start_s in';
  const rows = await INTERVAL.allIn(reads, from, [entity, seconds, destination], starts);
  for (const { startS, counts } of rows) intervals.set(startS, addCounts(new Map(), counts));
  return intervals;
}

/** Rows that can be read and summed within some milliseconds. On SQLite, all other long reads wait for that. */
const ROWS_PER_READ = 10_000;

/** The counts of all rows of a destination, one after the other. `rows` is the number of these rows. */
const OF_DESTINATION = new Columns({
  destination: text('destination'),
  counts: text(`string_agg(counts, ' ')`),
  rows: integer('count(*)'),
});

/**
 * Reads few rows at a time, so that other requests run in between. Reads the longest intervals that fit into the range: with a
 * thousand destinations, 30 days by the hour would be 720,000 rows.
 */
async function readDestinations(
  reads: Reads,
  entity: StatsRow['entity'],
  range: StatsRange,
): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>();
  let perRead = 1;
  for (const { seconds, startS, endS } of longestSums(range)) {
    for (let fromS = startS; fromS < endS; ) {
      const toS = Math.min(endS, fromS + perRead * seconds);
      const sums = await OF_DESTINATION.all(
        reads,
        `select ${OF_DESTINATION.list} from interval_stats
         where entity_id = $1 and seconds = $2 and start_s >= $3 and start_s < $4 and destination <> ''
         group by destination`,
        [entity, seconds, fromS, toS],
      );
      let rowsRead = 0;
      for (const { destination, counts, rows } of sums) {
        tallies.set(destination, addCounts(tallies.get(destination) ?? new Map(), counts));
        rowsRead += rows;
      }
      fromS = toS;
      if (rowsRead < ROWS_PER_READ / 2) perRead *= 2;
      else if (rowsRead > ROWS_PER_READ) perRead = Math.max(1, Math.floor(perRead / 2));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return tallies;
}

const codeOf = (character: string) => character.charCodeAt(0);
const [ZERO, NINE, MINUS, COLON, COMMA, END] = [
  codeOf('0'),
  codeOf('9'),
  codeOf('-'),
  codeOf(':'),
  codeOf(','),
  codeOf('}'),
];

/**
 * Adds stored counts such as `{"-1":5,"12":3}`, of which several may follow each other. Reads digit by digit: parsing as JSON
 * took three times as long, which was most of the time for a day of a thousand destinations.
 */
function addCounts(tally: Tally, counts: string): Tally {
  let [slot, number, sign] = [0, 0, 1];
  for (let at = 0; at < counts.length; at++) {
    const code = counts.charCodeAt(at);
    if (code >= ZERO && code <= NINE) number = number * 10 + code - ZERO;
    else if (code === MINUS) sign = -1;
    else if (code === COLON) [slot, number, sign] = [sign * number, 0, 1];
    else if (code === COMMA || code === END) {
      tally.set(slot, (tally.get(slot) ?? 0) + number);
      number = 0;
    }
  }
  return tally;
}

function addTo(tally: Tally, counts: Tally): void {
  for (const [slot, total] of counts) tally.set(slot, (tally.get(slot) ?? 0) + total);
}

/** Adds receivers that are not active or have waiting deliveries, even if the range has no figures of them. */
function addTroubled(
  destinations: Map<string, Tally>,
  states: ReadonlyMap<string, DestinationState>,
  only: string | undefined,
): void {
  for (const [destination, { state, waiting }] of states) {
    const isQuiet = state === 'active' && waiting === 0;
    const isWanted = only === undefined || only === destination;
    if (isWanted && !isQuiet && !destinations.has(destination)) destinations.set(destination, new Map());
  }
}

function firstOf(
  destinations: ReadonlyMap<string, Tally>,
  states: ReadonlyMap<string, DestinationState>,
  order: DestinationOrder,
): Stats['destinations'] {
  const all = [...destinations].map(([destination, tally]) => {
    return { destination, ...(states.get(destination) ?? QUIET), ...figuresOf(tally) };
  });
  type Figures = (typeof all)[number];
  const traffic = ({ accepted, delivered, failed }: Figures) => accepted + delivered + failed;
  const byName = (a: string, b: string) => (a < b ? -1 : 1);
  const byTrouble = (a: Figures, b: Figures) => rankOf(a) - rankOf(b) || b.failedAttempts - a.failedAttempts;
  all.sort(
    (a, b) =>
      (order === 'failures' ? byTrouble(a, b) : 0) || traffic(b) - traffic(a) || byName(a.destination, b.destination),
  );
  return all.slice(0, MAX_DESTINATIONS_SHOWN);
}

/** Heads that are read for one response. */
const HEADS_PER_LOOK = 256;

/** How long the entity's first due delivery has been due. Needs one seek for each webhook with due deliveries. */
export async function oldestDueAgeMs(db: Database, entityId: string): Promise<number> {
  const { dialect } = db;
  const { nowMs } = dialect;
  const oldestMs = await readInteger(
    longReadsOf(db, entityId),
    `max(${nowMs} - (select min(q.due_ms) from queue q where q.entity_id = $1
       and q.webhook_no = h.webhook_no and q.generation <= h.generation and q.lease_ms <= ${nowMs}))`,
    `from (select entity_id, webhook_no, generation from queue_heads
           where entity_id = $1 and blocked = 0 and next_due_ms <= ${nowMs} limit ${HEADS_PER_LOOK}) h`,
    [entityKey(dialect, entityId)],
  );
  return Math.max(0, oldestMs);
}

/** Removes at most `limit` rows whose interval ended before the date. If it removes fewer, no such row is left. */
export function pruneStats(db: Database, entityId: string, beforeS: number, limit: number): Promise<number> {
  return db.transaction(async (queries) => {
    let removed = 0;
    for (const seconds of KEPT_SECONDS) {
      if (removed === limit) break;
      removed += await queries.run(
        `delete from interval_stats where (entity_id, seconds, start_s, destination) in (
           select entity_id, seconds, start_s, destination from interval_stats
           where entity_id = $1 and seconds = $2 and start_s <= $3 order by start_s, destination limit $4
           ${db.dialect.skipLocked})`,
        [entityKey(db.dialect, entityId), seconds, beforeS - seconds, limit - removed],
      );
    }
    return removed;
  });
}
