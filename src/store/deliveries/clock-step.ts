import { type DestinationKey, entityOfDestination } from '../../domain/destination.ts';
import { RETRY_AFTER_MAX_MS } from '../../domain/retry.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/sql.ts';
import { deliveryTable } from '../tables.ts';
import { walkDestinations } from './claim.ts';

/**
 * Due times are points on the database's clock. When that clock is set back, every waiting delivery would wait that much
 * longer. Here each gets at most the wait that it could have been given by the clock as it is now.
 */

/** How long a delivery may wait at most. */
export type WaitLimits = {
  /** Milliseconds before each attempt. */
  schedule: readonly number[];
  leaseMs: number;
};

const WINDOW = 256;
const BATCH = 1_000;
/** The most that jitter adds to a step. */
const JITTERED = 1.2;

/**
 * Retries and leases may follow the settings of another instance or of an earlier run, so they are changed only when a
 * step of the clock was seen.
 */
export type Which = 'first attempts' | 'all';

/** Deliveries within their limits stay as they are, so several instances may do this at once. Returns how many changed. */
export async function bringForward(db: Database, limits: WaitLimits, which: Which): Promise<number> {
  let brought = 0;
  let after = '';
  for (;;) {
    const found = await walkDestinations(db, after, WINDOW);
    for (const { destination } of found) brought += await bringDestinationForward(db, destination, limits, which);
    if (found.length < WINDOW) return brought;
    after = found.at(-1)?.destination ?? '';
  }
}

async function bringDestinationForward(
  db: Database,
  destination: DestinationKey,
  limits: WaitLimits,
  which: Which,
): Promise<number> {
  const entityId = entityOfDestination(destination);
  const { nowMs } = db.dialect;
  const scheduled = scheduledMs(limits.schedule);
  const longest = `case when claimed = 1 then ${limits.leaseMs} when redeliver > 0 then 0 else ${scheduled} end`;
  const concerned = which === 'all' ? 'due_ms is not null' : `due_ms is not null and claimed = 0 and attempts = 0`;
  const tooLate = `${concerned} and due_ms > ${nowMs} + ${longest}`;
  const find = `select id from deliveries where destination = $1 and ${tooLate} order by due_ms limit ${BATCH}`;
  let brought = 0;
  for (;;) {
    const late = await db.all<{ id: string }>(find, [destination]);
    if (late.length === 0) return brought;
    const parameters = new Parameters();
    const where = deliveryTable.where(parameters, { entityId, deliveryId: late.map(({ id }) => id) });
    brought += await db.transaction((queries) =>
      queries.run(
        `update deliveries set
           due_ms = ${nowMs} + ${longest},
           next_attempt_ms = case when next_attempt_ms > ${nowMs} + ${scheduled}
             then ${nowMs} + ${scheduled} else next_attempt_ms end
         where ${where} and ${tooLate}`,
        parameters.values,
      ),
    );
    if (late.length < BATCH) return brought;
  }
}

/** The longest wait by the schedule. After a 429 or 503, the receiver may have requested a longer one, which stays. */
function scheduledMs(schedule: readonly number[]): string {
  const steps = schedule.map((stepMs, step) => `when ${step} then ${Math.ceil(stepMs * JITTERED)}`);
  const longest = Math.max(0, ...schedule.map((stepMs) => Math.ceil(stepMs * JITTERED)));
  const step = steps.length === 0 ? '0' : `case steps ${steps.join(' ')} else ${longest} end`;
  const requested = Math.max(RETRY_AFTER_MAX_MS, longest);
  return `(case when steps > 0 and last_status_code in (429, 503) then ${requested} else ${step} end)`;
}
