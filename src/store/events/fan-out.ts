import { deliveryHex } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlUuid } from '../database/database.ts';
import { readReachable } from '../database/reachable-shards.ts';
import { CountChanges } from '../deliveries/counts/counts.ts';
import { finalityAsOf, optionsAsOf } from '../webhooks/option-changes.ts';
import { insertDeliveries } from './accept.ts';
import { advance, type Task, takeTurnsOfRest, taskColumns } from './fan-out-task.ts';
import { wantedBy } from './filtering.ts';
import { planFanOut, type Receiver } from './plan-acceptance.ts';
import { receiverColumns, toReceivers } from './receivers.ts';
import { continueRetraction } from './retraction/retraction-task.ts';

/**
 * Deliveries that are made after their event was acknowledged: of an event for more webhooks than one transaction has room
 * for, of one that was held, and of a retraction (`retraction-task.ts`). A row of `fan_outs` is the task, and any instance goes on
 * with it, after any crash, in steps of one transaction each. A fan-out walks the webhooks by number, which never changes,
 * and ends at the last webhook that was registered when the event was accepted.
 */

/** The first entity after the given one that has a task, or null. */
export async function findFanOut(db: Database, after: SqlUuid | null): Promise<SqlUuid | null> {
  const { bindUuid, hexOf } = db.dialect;
  const from = after ?? bindUuid('0'.repeat(32));
  const text = (table: string, entity: string) =>
    `select entity_id from ${table} where entity_id > ${entity} order by entity_id limit 1`;
  const rows = await readReachable(db, (reads) => reads.all<{ entity_id: SqlUuid }>(text('fan_outs', '$1'), [from]), {
    tables: ['fan_outs'],
    select: (shard = '') => text(shard, `cast('${hexOf(from)}' as uuid)`),
  });
  const [first] = rows.sort((a, b) => (hexOf(a.entity_id) < hexOf(b.entity_id) ? -1 : 1));
  return first?.entity_id ?? null;
}

/**
 * One step of the oldest task of the entity; one that has waited comes after those that have not, so that many retractions
 * of deliveries in flight do not keep back another one. Returns the destinations of the deliveries that it made, or null when the task
 * is gone or another instance works on it.
 */
export function continueFanOut(db: Database, entity: SqlUuid): Promise<readonly DestinationKey[] | null> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const task = await taskColumns.get(
      queries,
      // An event that keeps order behind another one waits for the end of that one's task.
      `select ${taskColumns.of('t.')} from fan_outs t where entity_id = $1 and wait_ms <= ${dialect.nowMs}
         and not exists (select 1 from fan_outs b where b.entity_id = t.entity_id and b.event_no < t.event_no
           and (b.order_key = t.order_key or b.fact_key = t.fact_key))
       order by wait_ms, event_no limit 1 ${dialect.skipLocked}`,
      [entity],
    );
    if (task === undefined) return null;
    const nowMs = await readNowMs(queries, dialect);
    if (task.retracts !== null)
      return continueRetraction(queries, dialect, { ...task, retracts: task.retracts }, nowMs);
    const rows = await receiverColumns.all(
      queries,
      `select ${receiverColumns.list} from webhooks w join entities n on n.id = w.entity_id
         left join queue_heads h on h.entity_id = $1 and h.webhook_no = w.created_seq
       where w.entity_id = $2 and w.network_id = $3 and w.event = $4 and w.created_seq > $5 and w.created_seq <= $6
       order by w.created_seq limit ${dialect.limits.deliveries}`,
      [entity, task.entityId, task.networkId, task.event, Number(task.cursor), task.revision],
    );
    const current = await toReceivers(queries, dialect, rows, nowMs);
    const accepted = await optionsAsOf(queries, task.entityId, task.revision, current);
    const found =
      task.seenRevision === null ? accepted : await finalityAsOf(queries, task.entityId, task.seenRevision, accepted);
    const receivers = await keepMissing(queries, dialect, task, await keepWanting(queries, task, found));
    const planned = { ...task, eventNo: dialect.hexOf(task.eventNo) };
    const turns = await takeTurnsOfRest(queries, dialect, task, receivers);
    const last = found.length === dialect.limits.deliveries ? found.at(-1) : undefined;
    const changes = new CountChanges(dialect, 'acceptance');
    const next = last === undefined ? null : { phase: task.phase, cursor: String(last.webhookNo) };
    await advance(queries, changes, task, receivers.length, next);
    await insertDeliveries(queries, dialect, planFanOut(planned, nowMs, receivers, turns), { changes });
    return receivers.map(({ destination }) => destination);
  });
}

/** Webhooks without a delivery of this event and round, in the queue or completed, so that a step can be repeated. */
async function keepMissing(
  queries: Queries,
  { bindUuid, hexOf }: Dialect,
  { entity, eventNo, round }: Task,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  const [first, last] = [receivers[0], receivers.at(-1)];
  if (first === undefined || last === undefined) return receivers;
  const idOf = ({ webhookNo }: Receiver) => deliveryHex(hexOf(eventNo), webhookNo, round);
  const where = 'where entity_id = $1 and id >= $2 and id <= $3';
  const rows = await queries.all<{ id: SqlUuid }>(
    `select id from queue ${where} union all select id from deliveries ${where}`,
    [entity, bindUuid(idOf(first)), bindUuid(idOf(last))],
  );
  const made = new Set(rows.map(({ id }) => hexOf(id)));
  return receivers.filter((receiver) => !made.has(idOf(receiver)));
}

/** The body is read only for webhooks with a filter. */
async function keepWanting(
  queries: Queries,
  { entity, entityId, event: kind, eventNo, finality }: Task,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  const isFiltered = receivers.some(({ filterHash }) => filterHash !== null);
  if (!isFiltered) return wantedBy(queries, { entityId, event: kind, body: '', finality }, receivers);
  const event = await queries.get<{ body: string }>('select body from events where entity_id = $1 and no = $2', [
    entity,
    eventNo,
  ]);
  return event === undefined ? [] : wantedBy(queries, { entityId, event: kind, body: event.body, finality }, receivers);
}
