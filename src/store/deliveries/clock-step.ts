import { RETRY_AFTER_MAX_MS } from '../../domain/retry.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, SqlInteger, SqlUuid } from '../database/database.ts';
import { MAX_BACKOFF_MS, WATCHING } from '../tasks/tasks.ts';

/**
 * Due times and leases are points on the database's clock. If that clock is set back, every delivery would wait longer by the
 * same time. So no delivery waits for longer than its schedule allows, counted from the present time of the clock, and no lease
 * lasts longer than its own length. A lease is shortened and not ended, because its instance may still be sending.
 */

/** Milliseconds before each attempt. */
export type Schedule = readonly number[];

const HEADS_PER_LOOK = 256;
/**
 * Limit on the entities whose tasks are brought forward. A clock step is rare, and the remaining tasks wait until the clock has
 * caught up.
 */
const ENTITIES_WITH_TASKS = 10_000;
/** Jitter multiplies the wait of a step by this at most. */
const JITTERED = 1.2;

/** At a start, it is unknown whether the clock was set back. After a step, the hints of every head and every task are wrong. */
export type Occasion = 'start' | 'step';

type Head = { readonly entity_id: SqlUuid; readonly webhook_no: SqlInteger };

/** Changes only deliveries that wait for too long, so any number of instances may call it at once. Returns how many it changed. */
export async function bringForward(db: Database, schedule: Schedule, occasion: Occasion): Promise<number> {
  let brought = 0;
  await bringTasksForward(db, schedule, occasion);
  let after: Head = { entity_id: db.dialect.bindUuid('0'.repeat(32)), webhook_no: Number.MIN_SAFE_INTEGER };
  for (;;) {
    const heads = await db.all<Head>(
      `select entity_id, webhook_no from queue_heads where (entity_id, webhook_no) > ($1, $2)
       order by entity_id, webhook_no limit ${HEADS_PER_LOOK}`,
      [after.entity_id, Number(after.webhook_no)],
    );
    for (const head of heads) brought += await bringHeadForward(db, head, schedule, occasion);
    const last = heads.at(-1);
    if (last === undefined || heads.length < HEADS_PER_LOOK) return brought;
    after = last;
  }
}

/**
 * Tasks wait by the same clock, and the deliveries that a task makes are due at its `due_ms`. If one of these times is later than
 * it can be, the clock was set back and no instance noticed.
 */
export async function bringTasksForward(db: Database, schedule: Schedule, occasion: Occasion): Promise<void> {
  const nowMs = await readNowMs(db, db.dialect);
  const limitMs = occasion === 'step' ? 0 : MAX_BACKOFF_MS;
  const isWaiting = `(wait_ms > ${nowMs + limitMs} and phase <> '${WATCHING}')`;
  const firstMs = nowMs + Math.ceil((schedule[0] ?? 0) * JITTERED);
  const isDueLate = `(due_ms is not null and due_ms > ${firstMs})`;
  const entities = await db.all<{ entity_id: SqlUuid }>(
    `select distinct entity_id from tasks where ${isWaiting} or ${isDueLate} limit ${ENTITIES_WITH_TASKS}`,
  );
  for (const { entity_id: entity } of entities) {
    await db.transaction((queries) =>
      queries.run(
        `update tasks set wait_ms = case when ${isWaiting} then 0 else wait_ms end,
           due_ms = case when ${isDueLate} then ${firstMs} else due_ms end
         where entity_id = $1 and (${isWaiting} or ${isDueLate})`,
        [entity],
      ),
    );
  }
}

/** The latest times that a row of `queue` can have, as SQL, if the clock was never set back. */
function latestTimes(schedule: Schedule, now: string): { due: string; lease: string; scheduled: string } {
  const step = longestMs(schedule);
  return {
    due: `(${now} + case when redeliver > 0 then 0 else ${step} end)`,
    lease: `(${now} + lease_s * 1000)`,
    // The schedule continues at this time after a redelivery.
    scheduled: `(${now} + ${step})`,
  };
}

/** Whether a row of `queue` waits for longer than it can if the clock was never set back. */
export function waitsTooLongSql(schedule: Schedule, now: string): string {
  const latest = latestTimes(schedule, now);
  const isScheduledLate = `(scheduled_ms is not null and scheduled_ms > ${latest.scheduled})`;
  return `(due_ms > ${latest.due} or lease_ms > ${latest.lease} or ${isScheduledLate})`;
}

export async function bringHeadForward(
  db: Database,
  head: Head,
  schedule: Schedule,
  occasion: Occasion,
): Promise<number> {
  const key = [head.entity_id, Number(head.webhook_no)];
  let brought = 0;
  for (;;) {
    const now = String(await readNowMs(db, db.dialect));
    const { due, lease, scheduled } = latestTimes(schedule, now);
    const changed = await db.transaction(async (queries) => {
      const rows = await queries.run(
        `update queue set due_ms = case when due_ms > ${due} then ${due} else due_ms end,
           lease_ms = case when lease_ms > ${lease} then ${lease} else lease_ms end,
           scheduled_ms = case when scheduled_ms > ${scheduled} then ${scheduled} else scheduled_ms end
         where entity_id = $1 and id in (select id from queue where entity_id = $1 and webhook_no = $2
           and ${waitsTooLongSql(schedule, now)} limit ${db.dialect.limits.rows} ${db.dialect.skipLocked})`,
        key,
      );
      if (rows > 0 || occasion === 'step') {
        await queries.run(
          `update queue_heads set next_due_ms = 0, full_look_ms = 0, write_count = write_count + 1, idle = 0
           where entity_id = $1 and webhook_no = $2`,
          key,
        );
      }
      return rows;
    });
    brought += changed;
    if (changed < db.dialect.limits.rows) return brought;
  }
}

/** The longest wait that the schedule allows, as SQL. After a 429 or a 503, the receiver may have asked for more time, and gets it. */
function longestMs(schedule: readonly number[]): string {
  const steps = schedule.map((stepMs, step) => `when ${step} then ${Math.ceil(stepMs * JITTERED)}`);
  const longest = Math.max(0, ...schedule.map((stepMs) => Math.ceil(stepMs * JITTERED)));
  const step = steps.length === 0 ? '0' : `case steps ${steps.join(' ')} else ${longest} end`;
  const retryAfter = Math.max(RETRY_AFTER_MAX_MS, longest);
  return `(case when steps > 0 and status_code in (429, 503) then ${retryAfter} else ${step} end)`;
}
