import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { hashKey } from '../database/sql.ts';
import { joinKeys, orderKeyOf, type Place, type Subjects } from '../deliveries/order/order-keys.ts';
import type { TaskKind } from '../tables.ts';
import { startTask, type Task } from '../tasks/tasks.ts';
import type { AcceptanceRun, Incoming, NewEvent, Receiver, Rest } from './acceptance.ts';

/**
 * Tasks that create deliveries after the transaction that accepted their event. They create the remaining deliveries of an event
 * for many webhooks, all deliveries of a held event (`fan-out.ts`), and all deliveries of a retraction
 * (`retraction/retraction-task.ts`).
 */

export type EventTask = Task & { readonly eventNo: SqlUuid; readonly dueMs: number };

/**
 * `revision` names the registry that the task walks. Tasks with the same keys run one after another, which keeps their deliveries
 * in order.
 */
export type NewEventTask = {
  readonly kind: TaskKind;
  readonly event: Pick<NewEvent, 'entityId' | 'agreementId' | 'factKey' | 'finality' | 'seenRevision' | 'ruleAmount'>;
  readonly eventNo: string;
  /** The event itself or, for a retraction, the event that it retracts. */
  readonly subject?: SqlUuid;
  readonly round?: number;
  readonly dueMs: number;
  /** The number of deliveries that the event has already. */
  readonly made: number;
  readonly revision?: number;
  readonly cursor: string;
};

/** Returns false if such a task exists. */
export function startEventTask(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo: hex, ...task }: NewEventTask,
): Promise<boolean> {
  const { entityId, agreementId = null, factKey = null, finality, seenRevision, ruleAmount } = event;
  const orderedBy = agreementId ?? factKey;
  const eventNo = dialect.bindUuid(hex);
  const row = {
    ...{ entityId, eventNo, subject: eventNo, finality, seenRevision, ruleAmount, phase: 'making', ...task },
    orderKey: orderedBy === null ? null : hashKey(dialect, orderedBy),
    factKey: factKey === null ? null : hashKey(dialect, factKey),
  };
  return startTask(queries, dialect, row);
}

/** Starts the tasks for deliveries that did not fit into the transaction of their event. */
export async function startFanOuts({ queries, dialect, order, group }: AcceptanceRun): Promise<void> {
  const { nowMs } = group;
  for (const one of order.accepted) {
    const { event, rest, retracted } = one;
    if (rest === null || event.heldFor != null || retracted !== undefined) continue;
    await startFanOut(queries, dialect, one, rest, nowMs);
    group.hasRest = true;
  }
}

async function startFanOut(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, receivers }: Incoming,
  { afterNo, revision }: Rest,
  nowMs: number,
): Promise<void> {
  const progress = { made: receivers.length, revision, cursor: String(afterNo) };
  const task = { kind: 'fan_out' as const, event, eventNo, dueMs: nowMs + event.firstDelayMs, ...progress };
  await startEventTask(queries, dialect, task);
}

/** `order_key` of a task is the agreement of its event, or its payment if it has no agreement. */
export function subjectsOfTask(
  { hexOf }: Dialect,
  { orderKey, factKey }: Pick<Task, 'orderKey' | 'factKey'>,
): Subjects {
  const isPayment = orderKey !== null && factKey !== null && hexOf(orderKey) === hexOf(factKey);
  return { agreement: isPayment ? null : orderKey, payment: factKey };
}

/**
 * Gives deliveries their places in order: they wait for deliveries of earlier events with their key, and deliveries of later
 * events wait for them.
 */
export async function joinOrderKeys(
  queries: Queries,
  dialect: Dialect,
  task: EventTask,
  receivers: readonly Receiver[],
): Promise<Map<Receiver, Place>> {
  const subjects = subjectsOfTask(dialect, task);
  const joining = receivers.flatMap((receiver) => {
    const key = orderKeyOf(dialect, subjects, receiver);
    return key === null ? [] : { entityId: task.entityId, key, receiver };
  });
  if (joining.length === 0) return new Map();
  const places = await joinKeys(queries, dialect, joining);
  return new Map([...places].map(([{ receiver }, place]) => [receiver, { ...place, ...subjects }]));
}
