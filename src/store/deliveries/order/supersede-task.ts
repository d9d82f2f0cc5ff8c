import type { Progress, StepTools, Task } from '../../tasks/tasks.ts';
import { CountChanges } from '../counts/counts.ts';
import { wakeHeads } from '../heads.ts';
import { lockKeys, settleKeys } from './order-keys.ts';
import { keysOfWaiting, moveToRecord, readWaiting } from './supersede.ts';

/** How soon a delivery in flight is looked at again. */
const RECHECK_MS = 200;

/**
 * Ends the deliveries of an event that were in flight when the event was superseded. A request that failed, or whose process
 * stopped, would be repeated. So the task supersedes a delivery as soon as no instance has claimed it. Until then the delivery
 * keeps its turn, so that the superseding event does not arrive first. The task's subject is the superseded event, and its cursor
 * is the number of the superseding event.
 */
export async function supersedeStep(
  { queries, dialect, nowMs, noteDue }: StepTools,
  { entity, subject: eventNo, phase, cursor }: Task,
): Promise<Progress | 'done'> {
  const event = { entity, eventNo, byNo: dialect.bindUuid(cursor) };
  const waiting = await readWaiting(queries, dialect, event);
  const keys = keysOfWaiting(entity, waiting);
  await lockKeys(queries, dialect, keys);
  const changes = new CountChanges(dialect, 'acceptance');
  const moved = await moveToRecord(queries, dialect, changes, event, waiting, nowMs);
  const promoted = await settleKeys(queries, dialect, keys, nowMs);
  await wakeHeads(queries, dialect, promoted);
  await changes.write(queries);
  noteDue(promoted.map(({ destination }) => destination));
  return moved.length === waiting.length ? 'done' : { phase, cursor, waitMs: RECHECK_MS };
}
