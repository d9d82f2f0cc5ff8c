import { type DestinationKey, entityKeyPrefix, entityOfDestination, receiverOf } from '../../domain/post-url.ts';
import { INTERVAL_S, latencySlot, SHORTEST_OF_DESTINATION_S, SLOTS, type Tally } from '../../domain/stats.ts';
import type { Logger } from '../../log.ts';
import type { Counter } from '../../metrics/registry.ts';
import { type Database, StoreUnavailableError } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { addStats, KEPT_SECONDS, type StatsRow } from './read.ts';

/** With more counts in memory than this, new counts are dropped, and a metric shows how many. */
const MAX_CELLS = 50_000;
/** Few enough that no other write is delayed noticeably. */
const ROWS_PER_TRANSACTION = 500;
/** Room for every slot, including slots below zero, in a key that is a single number. */
const SLOTS_PER_MINUTE = 256;
const LOWEST_SLOT = -8;

/**
 * Counts in memory and adds the counts to the store every few seconds, so that no delivery pays for a write. When a
 * process dies, the counts of its last seconds are lost, but no delivery.
 */
export class StatsRecorder {
  /** By destination (with its entity), then by minute and slot. */
  #cells = new Map<string, Tally>();
  #size = 0;
  /** Rows that were taken from the cells and are not written yet. */
  #rows: StatsRow[] = [];

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly nowMs: () => number,
    private readonly dropped: Counter,
  ) {}

  /** `destinations` has one entry for each delivery. */
  accepted(entityId: string, destinations: readonly DestinationKey[]): void {
    const minute = this.#minute();
    this.#add(entityKeyPrefix(entityId), minute, SLOTS.events);
    for (const destination of destinations) this.#add(destination, minute, SLOTS.accepted);
  }

  /** Counts more deliveries of an event that was accepted before. */
  fannedOut(destinations: readonly DestinationKey[]): void {
    const minute = this.#minute();
    for (const destination of destinations) this.#add(destination, minute, SLOTS.accepted);
  }

  delivered(destination: DestinationKey, timeToReceiptMs: number): void {
    this.#add(destination, this.#minute(), latencySlot(timeToReceiptMs));
  }

  failed(destination: DestinationKey): void {
    this.#add(destination, this.#minute(), SLOTS.failed);
  }

  failedAttempt(destination: DestinationKey): void {
    this.#add(destination, this.#minute(), SLOTS.failedAttempts);
  }

  /** Counts a successful attempt of a delivery that had succeeded before. The first success is counted by `delivered`. */
  deliveredAgain(destination: DestinationKey): void {
    this.#add(destination, this.#minute(), SLOTS.deliveredAgain);
  }

  #minute(): number {
    return Math.floor(this.nowMs() / 60_000);
  }

  #add(destination: string, minute: number, slot: number): void {
    const key = minute * SLOTS_PER_MINUTE + slot - LOWEST_SLOT;
    const tally = this.#cells.get(destination);
    const count = tally?.get(key);
    if (tally !== undefined && count !== undefined) tally.set(key, count + 1);
    else if (this.#size >= MAX_CELLS) this.dropped.inc();
    else {
      this.#size++;
      this.#cells.set(destination, (tally ?? new Map()).set(key, 1));
    }
  }

  /** Must not run twice at a time. Does not throw: rows that the store could not take are written next time. */
  async flush(): Promise<void> {
    // Rows left over from the last flush are written before new ones are taken out.
    if (this.#rows.length === 0) this.#rows = this.#takeRows();
    while (this.#rows.length > 0) {
      const part = this.#rows.slice(0, ROWS_PER_TRANSACTION);
      try {
        await this.db.transaction((queries) => addStats(queries, this.db.dialect, part));
      } catch (error) {
        const kept = error instanceof StoreUnavailableError;
        this.log.warn({ err: error, kept, rows: part.length }, 'could not write statistics');
        if (kept) return;
        // The database would reject these rows every time. They are dropped, so that other rows are written.
        this.dropped.inc(part.length);
      }
      this.#rows.splice(0, part.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Each count is added to every interval that is kept, for all destinations together and for its own. */
  #takeRows(): StatsRow[] {
    const sums = new Map<string, Sum>();
    for (const [key, tally] of this.#cells) {
      const entityId = entityOfDestination(key);
      const destination = receiverOf(key);
      for (const [cell, total] of tally) {
        const atS = Math.floor(cell / SLOTS_PER_MINUTE) * INTERVAL_S.minute;
        const slot = (cell % SLOTS_PER_MINUTE) + LOWEST_SLOT;
        for (const seconds of KEPT_SECONDS) {
          const startS = atS - (atS % seconds);
          add(sums, { entityId, seconds, startS, destination: '' }, slot, total);
          if (destination === '' || seconds < SHORTEST_OF_DESTINATION_S) continue;
          add(sums, { entityId, seconds, startS, destination }, slot, total);
        }
      }
    }
    this.#cells = new Map();
    this.#size = 0;
    const inOrder = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
    return inOrder.map(([, { entityId, tally, ...sum }]) => ({
      ...sum,
      entity: entityKey(this.db.dialect, entityId),
      counts: JSON.stringify(Object.fromEntries(tally)),
    }));
  }
}

type Sum = Pick<StatsRow, 'seconds' | 'startS' | 'destination'> & { entityId: string; tally: Tally };

function add(sums: Map<string, Sum>, of: Omit<Sum, 'tally'>, slot: number, total: number): void {
  const key = `${of.entityId} ${of.seconds} ${of.startS} ${of.destination}`;
  const sum = sums.get(key) ?? { ...of, tally: new Map() };
  sum.tally.set(slot, (sum.tally.get(slot) ?? 0) + total);
  sums.set(key, sum);
}
