import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, entityKey, hashKey, integer, nullable, type RowOf, text, uuid } from '../database/sql.ts';
import type { CountChanges } from '../deliveries/counts/counts.ts';
import { joinKeys } from '../deliveries/order/order-keys.ts';
import type { Incoming, NewEvent, Receiver } from './plan-acceptance.ts';
import { setDeliveries } from './unmatched.ts';

/**
 * The tasks that make deliveries after the transaction that accepted their event (`fan-out.ts`): the rest of an event for
 * many webhooks, an event that was held, and a retraction.
 */

/** A task ends at the last webhook that is registered now. Its keys keep its deliveries behind those of earlier tasks. */
type NewTask = {
  readonly event: Pick<NewEvent, 'entityId' | 'networkId' | 'event' | 'agreementId' | 'factKey' | 'finality'>;
  readonly eventNo: string;
  readonly dueMs: number;
  /** Deliveries that the event has already. */
  readonly made: number;
  /** The URL up to which webhooks were looked at. */
  readonly afterUrl: string;
  readonly retracts?: SqlUuid | null;
};

/** Returns false where the event has a task already. */
export async function startTask(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, dueMs, made, afterUrl, retracts = null }: NewTask,
): Promise<boolean> {
  const { entityId, networkId, event: kind, agreementId = null, factKey = null, finality = null } = event;
  const orderedBy = agreementId ?? factKey;
  const inserted = await queries.run(
    `insert into fan_outs (entity_id, event_no, network_id, due_ms, made, entity, event, after_url, order_key, fact_key,
       finality, retracts, last_webhook_no)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce(max(w.created_seq), 0) from webhooks w
     where w.entity_id = $13
     on conflict (entity_id, event_no) do nothing`,
    [
      entityKey(dialect, entityId),
      dialect.bindUuid(eventNo),
      networkId,
      dueMs,
      made,
      entityId,
      kind,
      afterUrl,
      orderedBy === null ? null : hashKey(dialect, orderedBy),
      factKey === null ? null : hashKey(dialect, factKey),
      finality,
      retracts,
      entityId,
    ],
  );
  return inserted > 0;
}

/** The rest of an event for more webhooks than its transaction had room for. */
export async function startFanOut(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, receivers, lastUrl }: Incoming,
  nowMs: number,
): Promise<void> {
  const task = { event, eventNo, dueMs: nowMs + event.firstDelayMs, made: receivers.length, afterUrl: lastUrl };
  await startTask(queries, dialect, task);
}

export const taskColumns = new Columns({
  entity: uuid('entity_id'),
  eventNo: uuid('event_no'),
  networkId: integer('network_id'),
  dueMs: integer('due_ms'),
  lastWebhookNo: integer('last_webhook_no'),
  made: integer('made'),
  entityId: text('entity'),
  event: text('event'),
  afterUrl: text('after_url'),
  orderKey: nullable(uuid('order_key')),
  factKey: nullable(uuid('fact_key')),
  finality: nullable(text('finality')),
  retracts: nullable(uuid('retracts')),
});
export type Task = RowOf<typeof taskColumns>;

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

/** The last step corrects the number of deliveries: webhooks may have been deleted since the event was acknowledged. */
export async function advance(
  queries: Queries,
  changes: CountChanges,
  task: Pick<Task, 'entity' | 'eventNo' | 'made'>,
  count: number,
  afterUrl: string | null,
): Promise<void> {
  const key = [task.entity, task.eventNo];
  const made = task.made + count;
  if (afterUrl !== null) {
    const sql = 'update fan_outs set made = $3, after_url = $4 where entity_id = $1 and event_no = $2';
    await queries.run(sql, [...key, made, afterUrl]);
    return;
  }
  await queries.run('delete from fan_outs where entity_id = $1 and event_no = $2', key);
  await setDeliveries(queries, changes, task, made);
}
