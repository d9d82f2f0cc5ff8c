import type { DestinationKey } from '../../domain/post-url.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, integer, nullable, type RowOf, text, uuid } from '../database/sql.ts';
import { joinKeys } from '../deliveries/order/order-keys.ts';
import { eventNumbers } from '../new-id.ts';
import { insertDeliveries } from './accept.ts';
import { wantedBy } from './filtering.ts';
import { MAX_DELIVERIES, planFanOut, type Receiver } from './plan-acceptance.ts';
import { receiverColumns, toReceivers } from './receivers.ts';

/**
 * An event for more webhooks than one transaction has room for. It is acknowledged when the event, its first deliveries and
 * a row of `fan_outs` are committed; that row is the task, and any instance goes on with it, after any crash, in steps of
 * one transaction each. The task goes by URL, the order of the index, and ends at the last webhook that was registered
 * before the event.
 */

const taskColumns = new Columns({
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
});
type Task = RowOf<typeof taskColumns>;

/** The first entity after the given one that has a task, or null. */
export async function findFanOut(db: Database, after: SqlUuid | null): Promise<SqlUuid | null> {
  const row = await db.get<{ entity_id: SqlUuid }>(
    'select entity_id from fan_outs where entity_id > $1 order by entity_id limit 1',
    [after ?? db.dialect.bindUuid('0'.repeat(32))],
  );
  return row?.entity_id ?? null;
}

/**
 * One step of the oldest task of the entity. Returns the destinations of the deliveries that it made, or null when the task
 * is gone or another instance works on it.
 */
export function continueFanOut(db: Database, entity: SqlUuid): Promise<readonly DestinationKey[] | null> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const task = await taskColumns.get(
      queries,
      // An event that keeps order behind another one waits for the end of that one's task.
      `select ${taskColumns.of('t.')} from fan_outs t where entity_id = $1 and not exists (select 1 from fan_outs b
         where b.entity_id = t.entity_id and b.order_key = t.order_key and b.event_no < t.event_no)
       order by event_no limit 1 ${dialect.skipLocked}`,
      [entity],
    );
    if (task === undefined) return null;
    const nowMs = await readNowMs(queries, dialect);
    const rows = await receiverColumns.all(
      queries,
      `select ${receiverColumns.list} from webhooks w
         left join queue_heads h on h.entity_id = $1 and h.webhook_no = w.created_seq
       where w.entity_id = $2 and w.network_id = $3 and w.event = $4 and w.post_url > $5 and w.created_seq <= $6
       order by w.post_url limit ${MAX_DELIVERIES}`,
      [entity, task.entityId, task.networkId, task.event, task.afterUrl, task.lastWebhookNo],
    );
    const found = await toReceivers(queries, dialect, rows, nowMs);
    const receivers = await keepWanting(queries, task, found);
    const planned = { ...task, eventNo: dialect.hexOf(task.eventNo) };
    const turns = await takeTurnsOfRest(queries, dialect, task, receivers);
    const last = found.length === MAX_DELIVERIES ? found.at(-1) : undefined;
    await advance(queries, task, receivers.length, last?.postUrl ?? null);
    await insertDeliveries(
      queries,
      dialect,
      planFanOut(planned, receivers, () => eventNumbers.next(nowMs), turns),
    );
    return receivers.map(({ destination }) => destination);
  });
}

/** Those of endpoints that keep order wait for what came before the event, and what came after it waits for them. */
async function takeTurnsOfRest(
  queries: Queries,
  dialect: Dialect,
  { entityId, orderKey: key }: Task,
  receivers: readonly Receiver[],
): Promise<{ orderKey: string; parked: ReadonlySet<Receiver> } | null> {
  const joining = receivers.flatMap((receiver) =>
    receiver.isOrdered && key !== null ? { entityId, endpointNo: receiver.endpointNo, key, receiver } : [],
  );
  if (key === null || joining.length === 0) return null;
  const parked = await joinKeys(queries, dialect, joining);
  return { orderKey: dialect.hexOf(key), parked: new Set([...parked].map(({ receiver }) => receiver)) };
}

/** The last step corrects the number of deliveries: webhooks may have been deleted since the event was acknowledged. */
async function advance(queries: Queries, task: Task, count: number, afterUrl: string | null): Promise<void> {
  const key = [task.entity, task.eventNo];
  const made = task.made + count;
  if (afterUrl !== null) {
    const sql = 'update fan_outs set made = $3, after_url = $4 where entity_id = $1 and event_no = $2';
    await queries.run(sql, [...key, made, afterUrl]);
    return;
  }
  await queries.run('delete from fan_outs where entity_id = $1 and event_no = $2', key);
  await queries.run('update events set deliveries = $3 where entity_id = $1 and no = $2', [...key, made]);
}

/** The body is read only for webhooks with a filter. */
async function keepWanting(
  queries: Queries,
  { entity, entityId, eventNo }: Task,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  if (receivers.every(({ filterHash }) => filterHash === null)) return receivers;
  const event = await queries.get<{ body: string }>('select body from events where entity_id = $1 and no = $2', [
    entity,
    eventNo,
  ]);
  return event === undefined ? [] : wantedBy(queries, { entityId, body: event.body }, receivers);
}
