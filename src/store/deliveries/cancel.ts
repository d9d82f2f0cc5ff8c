import type { SqlUuid } from '../database/database.ts';
import { type RowOf, valuesList } from '../database/sql.ts';
import { numberOfSubject, type Progress, type StepTools, type Task, WATCHING } from '../tasks/tasks.ts';
import { CountChanges } from './counts/counts.ts';
import { BLOCKED, wakeHeads } from './heads.ts';
import { lockKeys, nameOf, type OrderKey, settleKeys } from './order/order-keys.ts';
import { STATUS_CODES, WITHOUT_ATTEMPT } from './states.ts';
import { queueTable } from './tables.ts';

/**
 * The deliveries of a deleted webhook count as cancelled from the commit of the deletion on. A task moves them to the completed
 * deliveries, and then watches the queue for a day, because an acceptance that read the webhook before its deletion may still add
 * to the queue. No acceptance takes a day.
 */

const DAY_MS = 86_400_000;
const FIRST_LOOK_MS = 60_000;
/** How soon the task looks again at deliveries that other transactions have locked. */
const LOCKED_MS = 1_000;

const waitingColumns = queueTable.pick(['id', 'attempts', 'recorded', 'orderKey']);
type WaitingRow = RowOf<typeof waitingColumns>;

/** Ends early if the head was restored. This happens to the head of alerts if the alert URL is set again. */
export async function cancelStep(tools: StepTools, task: Task): Promise<Progress | 'done'> {
  const { queries, dialect } = tools;
  const { entity } = task;
  const queueNo = numberOfSubject(dialect, task.subject);
  const key = [entity, queueNo] as const;
  const isDeleted = `select 1 as found from queue_heads
    where entity_id = $1 and webhook_no = $2 and blocked >= ${BLOCKED.deleted}`;
  if ((await queries.get(isDeleted, key)) === undefined) return 'done';
  const next = `select ${waitingColumns.list} from queue
    where entity_id = $1 and webhook_no = $2 order by generation, due_ms, id limit ${dialect.limits.rows}`;
  // This read locks no row, because the step must lock order keys before rows.
  const waiting = await waitingColumns.all(queries, next, key);
  if (waiting.length === 0) return watch(tools, task);
  const orderKeys = orderKeysOf(entity, waiting);
  await lockKeys(queries, dialect, orderKeys);
  const isLocked = new Set(orderKeys.map((one) => nameOf(dialect, one)));
  const found = await waitingColumns.all(queries, `${next} ${dialect.skipLocked}`, key);
  const rows = found.filter((row) => orderKeysOf(entity, [row]).every((one) => isLocked.has(nameOf(dialect, one))));
  const counts = new CountChanges(dialect, 'completion');
  if (rows.length > 0) await cancel(tools, key, rows, counts);
  const promoted = await settleKeys(queries, dialect, orderKeys, tools.nowMs);
  await wakeHeads(queries, dialect, promoted);
  tools.noteDue(promoted.map(({ destination }) => destination));
  await counts.write(queries);
  return { phase: 'emptying', cursor: '', waitMs: found.length === 0 ? LOCKED_MS : 0 };
}

async function cancel(
  { queries, dialect }: StepTools,
  [entity, queueNo]: readonly [SqlUuid, number],
  rows: readonly WaitingRow[],
  counts: CountChanges,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  const which = `entity_id = $1 and id in ${valuesList(1, ids.length, 1)}`;
  await queries.run(
    `insert into deliveries (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence,
       redelivery_id, attempts, status, status_code, test, error, superseded_by, may_be_received)
     select entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence, redelivery_id,
       attempts, coalesce(recorded, ${STATUS_CODES.cancelled}), status_code, test, error, superseded_by, ${WITHOUT_ATTEMPT}
     from queue where ${which} on conflict (entity_id, id) do nothing`,
    [entity, ...ids],
  );
  await queries.run(`delete from queue where ${which}`, [entity, ...ids]);
  for (const row of rows.filter(({ recorded }) => recorded === null)) {
    counts.queue(entity, queueNo, { waiting: -1, retrying: row.attempts > 0 ? -1 : 0 });
    counts.deliveries(entity, queueNo, dialect.hexOf(row.id), { cancelled: 1 });
  }
}

/** Checks the queue less and less often: a minute after it was found empty, and then each time after twice as long. */
function watch({ nowMs }: StepTools, { phase, cursor }: Task): Progress | 'done' {
  const sinceMs = phase === WATCHING ? Number(cursor) : nowMs;
  if (nowMs - sinceMs >= DAY_MS) return 'done';
  return { phase: WATCHING, cursor: String(sinceMs), waitMs: Math.max(nowMs - sinceMs, FIRST_LOOK_MS) };
}

function orderKeysOf(entity: SqlUuid, rows: readonly WaitingRow[]): OrderKey[] {
  return rows.flatMap(({ orderKey }) => (orderKey === null ? [] : { entity, key: orderKey }));
}
