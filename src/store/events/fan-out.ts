import type { DestinationKey } from '../../domain/post-url.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Queries, SqlUuid } from '../database/database.ts';
import { Columns, integer, type RowOf, text, uuid } from '../database/sql.ts';
import { eventNumbers } from '../new-id.ts';
import { insertDeliveries, receiverColumns, toReceivers } from './accept.ts';
import { MAX_DELIVERIES, planFanOut, type Receiver } from './plan-acceptance.ts';

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
      `select ${taskColumns.list} from fan_outs where entity_id = $1 order by event_no limit 1 ${dialect.skipLocked}`,
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
    const receivers = await toReceivers(queries, dialect, rows, nowMs);
    const planned = { ...task, eventNo: dialect.hexOf(task.eventNo) };
    await insertDeliveries(
      queries,
      dialect,
      planFanOut(planned, receivers, () => eventNumbers.next(nowMs)),
    );
    await advance(queries, task, receivers);
    return receivers.map(({ destination }) => destination);
  });
}

/** The last step corrects the number of deliveries: webhooks may have been deleted since the event was acknowledged. */
async function advance(queries: Queries, task: Task, receivers: readonly Receiver[]): Promise<void> {
  const key = [task.entity, task.eventNo];
  const made = task.made + receivers.length;
  if (receivers.length === MAX_DELIVERIES) {
    const afterUrl = receivers.at(-1)?.postUrl ?? '';
    const sql = 'update fan_outs set made = $3, after_url = $4 where entity_id = $1 and event_no = $2';
    await queries.run(sql, [...key, made, afterUrl]);
    return;
  }
  await queries.run('delete from fan_outs where entity_id = $1 and event_no = $2', key);
  await queries.run('update events set deliveries = $3 where entity_id = $1 and no = $2', [...key, made]);
}
