import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { entityKey, hashKey, type RowOf } from '../database/sql.ts';
import type { CountChanges } from '../deliveries/counts/counts.ts';
import { joinKeys } from '../deliveries/order/order-keys.ts';
import { fanOutTable } from '../tables.ts';
import type { Incoming, NewEvent, Receiver, Rest } from './plan-acceptance.ts';
import { setDeliveries } from './unmatched.ts';

/**
 * The tasks that make deliveries after the transaction that accepted their event (`fan-out.ts`): the rest of an event for
 * many webhooks, an event that was held, and a retraction.
 */

/** `revision` names the registry that the task walks. Its keys keep its deliveries behind those of earlier tasks. */
type NewTask = {
  readonly event: Pick<
    NewEvent,
    'entityId' | 'networkId' | 'event' | 'agreementId' | 'factKey' | 'finality' | 'seenRevision'
  >;
  readonly eventNo: string;
  readonly round?: number;
  readonly dueMs: number;
  /** Deliveries that the event has already. */
  readonly made: number;
  readonly revision: number;
  readonly cursor: string;
  readonly retracts?: SqlUuid | null;
};

/** Returns false if the event has a task already. */
export async function startTask(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, round = 0, dueMs, made, revision, cursor, retracts = null }: NewTask,
): Promise<boolean> {
  const { entityId, networkId, event: kind, agreementId = null, factKey = null, finality = null } = event;
  const { seenRevision = null } = event;
  const orderedBy = agreementId ?? factKey;
  const row = {
    ...{ entity: entityKey(dialect, entityId), entityId, eventNo: dialect.bindUuid(eventNo), networkId, event: kind },
    ...{ dueMs, made, round, revision, seenRevision, finality, retracts, phase: 'making' as const, cursor },
    orderKey: orderedBy === null ? null : hashKey(dialect, orderedBy),
    factKey: factKey === null ? null : hashKey(dialect, factKey),
  };
  const sql = `${NEW_TASK.text(1)} on conflict (entity_id, event_no) do nothing`;
  return (await queries.run(sql, NEW_TASK.parameters([row]))) > 0;
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
  await startTask(queries, dialect, { event, eventNo, dueMs: nowMs + event.firstDelayMs, ...progress });
}

export const taskColumns = fanOutTable.pick([
  'entity',
  'eventNo',
  'networkId',
  'dueMs',
  'revision',
  'seenRevision',
  'made',
  'round',
  'entityId',
  'event',
  'phase',
  'cursor',
  'orderKey',
  'factKey',
  'finality',
  'retracts',
]);
export type Task = RowOf<typeof taskColumns>;

const NEW_TASK = fanOutTable.insertion([
  'entity',
  'eventNo',
  'networkId',
  'dueMs',
  'revision',
  'seenRevision',
  'made',
  'round',
  'entityId',
  'event',
  'phase',
  'cursor',
  'orderKey',
  'factKey',
  'finality',
  'retracts',
]);

type TurnsOfTask = { keyOf: (receiver: Receiver) => string | null; parked: ReadonlySet<Receiver> };

/** Those of endpoints that keep order wait for what came before the event, and what came after it waits for them. */
export async function takeTurnsOfRest(
  queries: Queries,
  dialect: Dialect,
  { entityId, orderKey, factKey }: Task,
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

/** Where a task continues after a step. */
export type Progress = Pick<Task, 'phase' | 'cursor'>;

/** The last step corrects the number of deliveries: webhooks may have been deleted since the event was acknowledged. */
export async function advance(
  queries: Queries,
  changes: CountChanges,
  task: Pick<Task, 'entity' | 'eventNo' | 'made'>,
  count: number,
  next: Progress | null,
): Promise<void> {
  const key = [task.entity, task.eventNo];
  const made = task.made + count;
  if (next !== null) {
    const sql = 'update fan_outs set made = $3, phase = $4, cursor = $5 where entity_id = $1 and event_no = $2';
    await queries.run(sql, [...key, made, next.phase, next.cursor]);
    return;
  }
  await queries.run('delete from fan_outs where entity_id = $1 and event_no = $2', key);
  await setDeliveries(queries, changes, task, made);
}
