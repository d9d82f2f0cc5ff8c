import type { DestinationKey } from '../../domain/destination.ts';
import { RETRY_AFTER_MAX_MS } from '../../domain/retry.ts';
import type { Database } from '../database/database.ts';
import { walkDestinations } from './claim.ts';

/**
 * Due times are points on the database's clock. When that is set back, everything that waits would wait that much longer:
 * here each delivery is given at most the time that it could have been given by the clock as it is now.
 */

export type Patience = {
  /** Milliseconds before each attempt. */
  schedule: readonly number[];
  leaseMs: number;
};

const WINDOW = 256;
const BATCH = 1_000;
/** The most that jitter adds to a step. */
const JITTERED = 1.2;

/** Retries and leases may wait by the settings of another instance, or of yesterday: only a step seen says more. */
export type Which = 'first attempts' | 'all';

/** Nothing that is due in good time changes, so any number of instances may do this at once. Answers how many did. */
export async function bringForward(db: Database, patience: Patience, which: Which): Promise<number> {
  let brought = 0;
  let after = '';
  for (;;) {
    const found = await walkDestinations(db, after, WINDOW);
    for (const { destination } of found) brought += await bringDestinationForward(db, destination, patience, which);
    if (found.length < WINDOW) return brought;
    after = found.at(-1)?.destination ?? '';
  }
}

async function bringDestinationForward(
  db: Database,
  destination: DestinationKey,
  patience: Patience,
  which: Which,
): Promise<number> {
  const { nowMs } = db.dialect;
  const scheduled = scheduledMs(patience.schedule);
  const longest = `case when claimed = 1 then ${patience.leaseMs} when redeliver > 0 then 0 else ${scheduled} end`;
  const concerned = which === 'all' ? 'due_ms is not null' : `due_ms is not null and claimed = 0 and attempts = 0`;
  const tooLate = `${concerned} and due_ms > ${nowMs} + ${longest}`;
  const find = `select entity_id, id from deliveries where destination = $1 and ${tooLate} order by due_ms limit ${BATCH}`;
  let brought = 0;
  for (;;) {
    const late = await db.all<{ entity_id: string; id: string }>(find, [destination]);
    if (late.length === 0) return brought;
    const ids = late.map(({ id }) => id);
    brought += await db.transaction((queries) =>
      queries.run(
        `update deliveries set
           due_ms = ${nowMs} + ${longest},
           next_attempt_ms = case when next_attempt_ms > ${nowMs} + ${scheduled}
             then ${nowMs} + ${scheduled} else next_attempt_ms end
         where entity_id = $1 and id in (${ids.map((_, index) => `$${index + 2}`).join(', ')}) and ${tooLate}`,
        [late[0]?.entity_id ?? '', ...ids],
      ),
    );
    if (late.length < BATCH) return brought;
  }
}

/** The longest that the schedule lets a delivery wait. A receiver that may have asked for more patience keeps it. */
function scheduledMs(schedule: readonly number[]): string {
  const steps = schedule.map((stepMs, step) => `when ${step} then ${Math.ceil(stepMs * JITTERED)}`);
  const longest = Math.max(0, ...schedule.map((stepMs) => Math.ceil(stepMs * JITTERED)));
  const step = steps.length === 0 ? '0' : `case steps ${steps.join(' ')} else ${longest} end`;
  const patient = Math.max(RETRY_AFTER_MAX_MS, longest);
  return `(case when steps > 0 and last_status_code in (429, 503) then ${patient} else ${step} end)`;
}
