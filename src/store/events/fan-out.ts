import { deliveryHex } from '../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { CountChanges } from '../deliveries/counts/counts.ts';
import { insertDeliveries } from '../deliveries/queued.ts';
import { eventTable } from '../tables.ts';
import type { Progress, StepTools } from '../tasks/tasks.ts';
import { finalityAsOf, optionsAsOf } from '../webhooks/option-changes.ts';
import type { Receiver } from './acceptance.ts';
import { type EventTask, joinOrderKeys } from './fan-out-task.ts';
import { wantedBy } from './filtering.ts';
import { planFanOut } from './plan-acceptance.ts';
import { receiverColumns, toReceivers } from './receivers.ts';
import { setDeliveries } from './unmatched.ts';

const eventColumns = eventTable.pick(['networkId', 'event']);
type Event = { readonly networkId: number; readonly event: string };

/**
 * Makes the deliveries of an event for more webhooks than one transaction has room for, or of an event that was held. The task
 * walks the webhooks by number, which never changes, and ends at the last webhook that the registry had at the task's revision.
 */
export async function fanOutStep(tools: StepTools, task: EventTask): Promise<Progress | 'done'> {
  const { queries, dialect, nowMs } = tools;
  const { entity, entityId, eventNo, revision, seenRevision } = task;
  const sql = `select ${eventColumns.list} from events where entity_id = $1 and no = $2`;
  const event = await eventColumns.get(queries, sql, [entity, eventNo]);
  if (event === undefined || revision === null) return 'done';
  const rows = await receiverColumns.all(
    queries,
    `select ${receiverColumns.list} from webhooks w join entities n on n.id = w.entity_id
       left join queue_heads h on h.entity_id = $1 and h.webhook_no = w.created_seq
     where w.entity_id = $2 and w.network_id = $3 and w.event = $4 and w.created_seq > $5 and w.created_seq <= $6
     order by w.created_seq limit ${dialect.limits.deliveries}`,
    [entity, entityId, event.networkId, event.event, Number(task.cursor), revision],
  );
  const current = await toReceivers(queries, dialect, rows, nowMs);
  const accepted = await optionsAsOf(queries, entityId, revision, current);
  const found = seenRevision === null ? accepted : await finalityAsOf(queries, entityId, seenRevision, accepted);
  const receivers = await keepMissing(queries, dialect, task, await keepWanting(queries, task, event, found));
  const planned = { ...task, eventNo: dialect.hexOf(eventNo) };
  const places = await joinOrderKeys(queries, dialect, task, receivers);
  const last = found.length === dialect.limits.deliveries ? found.at(-1) : undefined;
  const changes = new CountChanges(dialect, 'acceptance');
  const made = task.made + receivers.length;
  // Webhooks may have been deleted since the event was acknowledged with its number of deliveries.
  if (last === undefined) await setDeliveries(queries, changes, task, made);
  await insertDeliveries(queries, dialect, planFanOut(planned, nowMs, receivers, places), { changes });
  tools.noteMade(receivers.map(({ destination }) => destination));
  return last === undefined ? 'done' : { phase: task.phase, cursor: String(last.webhookNo), made, waitMs: 0 };
}

/** Keeps the webhooks without a delivery of this event and round, in the queue or completed. A step can therefore be repeated. */
async function keepMissing(
  queries: Queries,
  { bindUuid, hexOf }: Dialect,
  { entity, eventNo, round }: EventTask,
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

/** Keeps the webhooks that want the event. The body is read only if one of them has a filter. */
async function keepWanting(
  queries: Queries,
  { entity, entityId, eventNo, finality, ruleAmount }: EventTask,
  { event: kind }: Event,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  const isFiltered = receivers.some(({ filterHash }) => filterHash !== null);
  const wanted = { entityId, event: kind, finality, ruleAmount };
  if (!isFiltered) return wantedBy(queries, { ...wanted, body: '' }, receivers);
  const event = await queries.get<{ body: string }>('select body from events where entity_id = $1 and no = $2', [
    entity,
    eventNo,
  ]);
  return event === undefined ? [] : wantedBy(queries, { ...wanted, body: event.body }, receivers);
}
