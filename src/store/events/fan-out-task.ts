import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { hashKey } from '../database/sql.ts';
import { joinKeys } from '../deliveries/order/order-keys.ts';
import type { TaskKind } from '../tables.ts';
import { startTask, type Task } from '../tasks/tasks.ts';
import type { Incoming, NewEvent, Receiver, Rest } from './plan-acceptance.ts';

/**
 * The tasks that make deliveries after the transaction that accepted their event: the rest of an event for many webhooks
 * and an event that was held (`fan-out.ts`), and a retraction (`retraction/retraction-task.ts`).
 */

export type EventTask = Task & { readonly eventNo: SqlUuid; readonly dueMs: number };

/** `revision` names the registry that the task walks. Its keys keep its deliveries behind those of earlier tasks. */
export type NewEventTask = {
  readonly kind: TaskKind;
  readonly event: Pick<NewEvent, 'entityId' | 'agreementId' | 'factKey' | 'finality' | 'seenRevision'>;
  readonly eventNo: string;
  /** The event itself, or the event that it retracts. */
  readonly subject?: SqlUuid;
  readonly round?: number;
  readonly dueMs: number;
  /** Deliveries that the event has already. */
  readonly made: number;
  readonly revision?: number;
  readonly cursor: string;
};

/** Returns false if there is such a task. */
export function startEventTask(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo: hex, ...task }: NewEventTask,
): Promise<boolean> {
  const { entityId, agreementId = null, factKey = null, finality, seenRevision } = event;
  const orderedBy = agreementId ?? factKey;
  const eventNo = dialect.bindUuid(hex);
  const row = {
    ...{ entityId, eventNo, subject: eventNo, finality, seenRevision, phase: 'making', ...task },
    orderKey: orderedBy === null ? null : hashKey(dialect, orderedBy),
    factKey: factKey === null ? null : hashKey(dialect, factKey),
  };
  return startTask(queries, dialect, row);
}

/** The deliveries of an event that its transaction left over. */
export async function startFanOut(
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

type TurnsOfTask = { keyOf: (receiver: Receiver) => string | null; parked: ReadonlySet<Receiver> };

/** Those of endpoints that keep order wait for what came before the event, and what came after it waits for them. */
export async function takeTurnsOfRest(
  queries: Queries,
  dialect: Dialect,
  { entityId, orderKey, factKey }: EventTask,
  receivers: readonly Receiver[],
): Promise<TurnsOfTask> {
  const keyOf = ({ isOrdered }: Receiver) => (isOrdered ? orderKey : factKey);
  const joining = receivers.flatMap((receiver) => {
    const key = keyOf(receiver);
    return key === null ? [] : { entityId, endpointNo: receiver.endpointNo, key, receiver };
  });
  const parked = joining.length === 0 ? [] : await joinKeys(queries, dialect, joining);
  return {
    keyOf: (receiver) => {
      const key = keyOf(receiver);
      return key === null ? null : dialect.hexOf(key);
    },
    parked: new Set([...parked].map(({ receiver }) => receiver)),
  };
}
