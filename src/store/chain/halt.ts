import { readNowMs } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { queueAlert } from '../deliveries/alerts.ts';
import {
  numberOfSubject,
  type Progress,
  restartTasks,
  type StepTools,
  subjectOfNumber,
  type Task,
} from '../tasks/tasks.ts';
import type { Lease, SourceKey } from './network-store.ts';
import { pauseByFlood } from './sources/pauses.ts';
import { networkTable } from './tables.ts';

/**
 * Stops a network or a source, with an alert to each entity that uses it. Each alert has its own transaction, because a single
 * transaction with thousands of alerts would exceed its deadline. Two transactions that each write the heads and counters of
 * several entities could also wait for each other.
 */

export const HALTED_ALERT = 'chain.halted';
export const PAUSED_ALERT = 'source.paused';

/** Halts a network: Paybell publishes nothing more from it until an operator resumes it. A task queues the alerts. */
export async function haltNetwork(db: Database, lease: Lease, reason: string): Promise<void> {
  const { dialect } = db;
  const { networkId, token } = lease;
  await db.transaction(async (queries) => {
    const changed = await queries.run(
      `update chains set halted_at_ms = ${dialect.nowMs}, halted_reason = $3
       where network_id = $1 and token = $2 and halted_at_ms is null`,
      [networkId, token, reason],
    );
    if (changed === 0) return;
    const subject = subjectOfNumber(dialect, networkId);
    const task = { kind: 'alert' as const, entityId: `network ${networkId}`, subject, phase: 'alerting' };
    await restartTasks(queries, dialect, [task]);
  });
}

const haltColumns = networkTable.pick(['haltedAtMs', 'haltedReason']);

/** Queues the next alert of a halt, in the order of the entities. Ends early if the network was resumed. */
export async function alertStep(tools: StepTools, task: Task): Promise<Progress | 'done'> {
  const { queries, dialect } = tools;
  const networkId = numberOfSubject(dialect, task.subject);
  const select = `select ${haltColumns.list} from chains where network_id = $1`;
  const halt = await haltColumns.get(queries, select, [networkId]);
  if (halt === undefined || halt.haltedAtMs === null) return 'done';
  const next = await queries.get<{ entity_id: string }>(
    `select s.entity_id from sources s join entities e on e.id = s.entity_id
     where s.network_id = $1 and s.entity_id > $2 and e.notice_url is not null order by s.entity_id limit 1`,
    [networkId, task.cursor],
  );
  if (next === undefined) return 'done';
  const about = { networkId, reason: halt.haltedReason, dateHalted: Math.floor(halt.haltedAtMs / 1000) };
  await queueAlert(queries, dialect, { entityId: next.entity_id, networkId, event: HALTED_ALERT }, about);
  tools.noteDue('anywhere');
  return { phase: task.phase, cursor: next.entity_id, waitMs: 0 };
}

/**
 * Pauses sources that produce more logs than the network's follower can process; the other sources continue. Returns false if
 * another instance now holds the network. After a crash, the next poll finds the remaining sources again.
 */
export async function pauseSources(
  db: Database,
  lease: Lease,
  sources: readonly SourceKey[],
  reason: string,
): Promise<boolean> {
  for (const source of sources) {
    if (!(await pauseSource(db, lease, source, reason))) return false;
  }
  return true;
}

function pauseSource(
  db: Database,
  { networkId, token }: Lease,
  { entityId, sourceId }: SourceKey,
  reason: string,
): Promise<boolean> {
  return db.transaction(async (queries) => {
    const isHeld = `select network_id from chains where network_id = $1 and token = $2 ${db.dialect.lockRow}`;
    if ((await queries.get(isHeld, [networkId, token])) === undefined) return false;
    const nowMs = await readNowMs(queries, db.dialect);
    const paused = await pauseByFlood(queries, { entityId, sourceId }, reason, nowMs);
    // Only the first of several pauses gets an alert.
    if (paused === null || !paused.isFirst) return true;
    const about = { networkId, sourceId, reason, datePaused: Math.floor(nowMs / 1000) };
    await queueAlert(queries, db.dialect, { entityId, networkId, event: PAUSED_ALERT }, about);
    return true;
  });
}
