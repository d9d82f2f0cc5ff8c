import { firstHexAt } from '../../../../domain/ids.ts';
import { type Days, type Layout, type PartitionedTable, readLayout } from '../../../database/partitions/layout.ts';
import type { Run } from '../prune-run.ts';
import { detachEvents, dropEvents } from './events.ts';
import { detachRecords, dropRecords } from './records.ts';

/**
 * Retention of a database that is partitioned by day (see database/partitions/layout.ts). Days that are past the limit
 * as a whole are dropped, deliveries before events. Batches remove the other old rows: rows outside of any day, and
 * rows of a day that contains too many rows which are still needed.
 */

/** Batches stop at these ids, because the days after them will be dropped whole. Both sort before every id that stays. */
type Ends = { deliveriesBeforeHex: string; eventsBeforeHex: string };

/** Drops old days, and returns the ends for batches. Several instances may do this at once. */
export async function dropOldDays(run: Run): Promise<Ends> {
  const { db, beforeMs, beforeHex, dryRun, keepsDays } = run;
  const layout = await readLayout(db);
  const whole = { deliveriesBeforeHex: beforeHex, eventsBeforeHex: beforeHex };
  if (!layout.isPartitioned || dryRun) return whole;
  const needed = { deliveries: new Set<string>(), events: new Set<string>() };
  for (const days of attachedDays(layout, 'deliveries', beforeMs)) {
    const result = await detachRecords(run, days);
    if (result === 'too much is needed') needed.deliveries.add(days.suffix);
    if (result === 'locked') break;
    if (run.batches.isStopped) return whole;
  }
  for (const days of await detachedDays(run, 'deliveries')) await dropRecords(run, days);
  for (const days of attachedDays(layout, 'events', beforeMs)) {
    if (run.batches.isStopped) return whole;
    // If the day's deliveries stay, they need its events.
    const result = needed.deliveries.has(days.suffix) ? 'too much is needed' : await detachEvents(run, days);
    if (result === 'too much is needed') needed.events.add(days.suffix);
    if (result === 'locked') break;
  }
  for (const days of await detachedDays(run, 'events')) await dropEvents(run, days);
  if (!keepsDays) return whole;
  const left = await readLayout(db);
  const endOf = (table: 'deliveries' | 'events') =>
    firstHexAt(
      Math.min(
        beforeMs,
        ...attachedDays(left, table, Number.POSITIVE_INFINITY)
          .filter(({ suffix, fromMs }) => fromMs > 0 && !needed[table].has(suffix))
          .map(({ fromMs }) => fromMs),
      ),
    );
  return { deliveriesBeforeHex: endOf('deliveries'), eventsBeforeHex: endOf('events') };
}

/** Attached days that end before a time. */
function attachedDays({ partitions }: Layout, table: PartitionedTable, beforeMs: number): Days[] {
  return partitions.filter((days) => days.table === table && days.isAttached && days.toMs <= beforeMs);
}

async function detachedDays({ db }: Run, table: PartitionedTable): Promise<Days[]> {
  const { partitions } = await readLayout(db);
  return partitions.filter((days) => days.table === table && !days.isAttached);
}
