import { lastDeliveryHex, roundRange } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, uuid, valuesList } from '../../database/sql.ts';
import { CountChanges } from '../../deliveries/counts/counts.ts';
import { wakeHeads } from '../../deliveries/heads.ts';
import {
  drawTurns,
  lockKeys,
  type OrderKey,
  orderKeyOf,
  type Promotion,
  settleKeys,
} from '../../deliveries/order/order-keys.ts';
import { moveToRecord, type WaitingRow, waitingColumns } from '../../deliveries/order/supersede.ts';
import { insertDeliveries } from '../../deliveries/queued.ts';
import { endRedeliveries } from '../../deliveries/redeliver/end.ts';
import { retractionHeadNo } from '../../deliveries/retraction-heads.ts';
import { MAY_BE_RECEIVED, STATUS_CODES } from '../../deliveries/states.ts';
import type { Progress, StepTools } from '../../tasks/tasks.ts';
import type { Receiver } from '../acceptance.ts';
import { type EventTask, joinOrderKeys, subjectsOfTask } from '../fan-out-task.ts';
import { planFanOut } from '../plan-acceptance.ts';
import { setDeliveries } from '../unmatched.ts';
import { findReceiversOf } from './receivers.ts';

/**
 * Makes the deliveries of a retraction, in steps of one transaction each.
 *
 * | the delivery of the original is …             | the original                             | the retraction       |
 * |-----------------------------------------------|------------------------------------------|----------------------|
 * | in the queue, not leased, not received        | superseded                               | none                 |
 * | in the queue, not leased, may be received     | superseded; a redelivery returns to the  | made                 |
 * |                                               | completed deliveries with its status     |                      |
 * | in the queue, leased                          | ends when its lease is over; is not sent | made, parked behind  |
 * |                                               | again, even if a user requested that     |                      |
 * | completed, may be received                    | stays                                    | made                 |
 * | completed, not received; webhook deleted      | stays                                    | none                 |
 *
 * A receiver may have a delivery once it was claimed, or shown in the feed.
 *
 * The phase `making` reads every delivery of the original event, in the order of their ids. The phase `ending` waits until no
 * such delivery is in the queue. An original and its retraction share an order key, so that the retraction never arrives first.
 */

/** How soon the task checks deliveries in flight again. */
const RECHECK_MS = 200;

/** The subject of the task is the original, and its event is the retraction. */
export function retractStep(tools: StepTools, task: EventTask): Promise<Progress | 'done'> {
  return task.phase === 'ending' ? awaitOriginals(tools, task) : retractNext(tools, task);
}

const originalColumns = new Columns({
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  mayBeReceived: integer('may_be_received'),
  orderKey: nullable(uuid('order_key')),
  /** Zero if no instance has claimed the delivery; null if the delivery is completed. */
  leaseMs: nullable(integer('lease_ms')),
  status: nullable(integer('status')),
});
type Original = RowOf<typeof originalColumns>;

const IN_QUEUE = `id, webhook_no, ${MAY_BE_RECEIVED} as may_be_received, order_key, lease_ms, recorded as status from queue`;
const IN_RECORD = `id, webhook_no, case when attempts > 0 or may_be_received = 1 then 1 else 0 end as may_be_received,
  null as order_key, null as lease_ms, status from deliveries`;
/** The range of ids of the deliveries that are retracted. */
function rangeOf({ hexOf, bindUuid }: Dialect, { subject, round }: EventTask): { after: SqlUuid; last: SqlUuid } {
  const { after, last } = roundRange(hexOf(subject), round);
  return { after: bindUuid(after), last: bindUuid(last) };
}

/** Reads the next deliveries of the original, in the order of their ids. */
async function readOriginals(queries: Queries, dialect: Dialect, task: EventTask): Promise<Original[]> {
  const { after, last } = rangeOf(dialect, task);
  const parameters = [task.entity, task.cursor === '' ? after : dialect.bindUuid(task.cursor), last];
  const found: Original[] = [];
  for (const columns of [IN_QUEUE, IN_RECORD]) {
    const sql = `select ${columns} where entity_id = $1 and id > $2 and id <= $3 order by id limit ${dialect.limits.rows}`;
    found.push(...(await originalColumns.all(queries, `select ${originalColumns.list} from (${sql}) o`, parameters)));
  }
  return found.sort((a, b) => (dialect.hexOf(a.id) < dialect.hexOf(b.id) ? -1 : 1)).slice(0, dialect.limits.rows);
}

function isInFlight({ leaseMs }: Original, { leaseClock }: Dialect, nowMs: number): boolean {
  return (leaseMs ?? 0) > leaseClock.endedBy(nowMs);
}

function mayHaveReceived({ status, mayBeReceived }: Original): boolean {
  return mayBeReceived === 1 && status !== STATUS_CODES.cancelled;
}

async function retractNext(tools: StepTools, task: EventTask): Promise<Progress> {
  const { queries, dialect, nowMs } = tools;
  const { entity } = task;
  const originals = await readOriginals(queries, dialect, task);
  const received = originals.filter(mayHaveReceived);
  const found = await findReceiversOf(queries, dialect, task, received, nowMs);
  const keys = originals.flatMap(({ orderKey }): OrderKey[] => (orderKey === null ? [] : [{ entity, key: orderKey }]));
  const ownKeys = found.flatMap((receiver): OrderKey[] => {
    const key = orderKeyOf(dialect, subjectsOfTask(dialect, task), receiver);
    return key === null ? [] : [{ entity, key }];
  });
  await lockKeys(queries, dialect, [...keys, ...ownKeys]);
  const changes = new CountChanges(dialect, 'acceptance');
  const moved = await supersede(queries, dialect, task, originals, { changes, nowMs });
  const settled = untilChanged(dialect, originals, moved);
  const receivers = receiversOf(found, settled);
  const inFlight = settled.filter((original) => isInFlight(original, dialect, nowMs));
  await keyInFlight(queries, dialect, task, receivers, inFlight);
  // Also settles keys of originals that are left for the next step, because some of them were superseded.
  const promoted = await settleKeys(queries, dialect, [...keys, ...ownKeys], nowMs);
  const places = await joinOrderKeys(queries, dialect, task, receivers);
  const isLast = originals.length < dialect.limits.rows && settled.length === originals.length;
  const readTo = settled.at(-1);
  const cursor = readTo === undefined ? task.cursor : dialect.hexOf(readTo.id);
  // The retraction is an event with its own number, so its deliveries have round 0.
  const planned = { ...task, eventNo: dialect.hexOf(task.eventNo), round: 0 };
  const rows = planFanOut(planned, nowMs, receivers, places);
  await insertDeliveries(queries, dialect, rows, { promoted, changes });
  tools.noteMade(receivers.map(({ destination }) => destination));
  tools.noteDue(promoted.map(({ destination }) => destination));
  return { phase: isLast ? 'ending' : 'making', cursor, made: task.made + receivers.length, waitMs: 0 };
}

/**
 * Returns the originals before the first one that another instance claimed between the read and the lock of its row. The receiver
 * of that delivery may have the event by now, so the next step reads it and the later originals again. This step can no longer
 * lock the key of its retraction, because keys are locked before rows of the queue.
 */
function untilChanged(
  dialect: Dialect,
  originals: readonly Original[],
  moved: readonly WaitingRow[],
): readonly Original[] {
  const unclaimed = new Set(moved.flatMap(({ id, mayBeReceived }) => (mayBeReceived === 0 ? dialect.hexOf(id) : [])));
  const isQueued = ({ leaseMs }: Original) => leaseMs !== null;
  const end = originals.findIndex(
    (original) => isQueued(original) && !mayHaveReceived(original) && !unclaimed.has(dialect.hexOf(original.id)),
  );
  return end === -1 ? originals : originals.slice(0, end);
}

function receiversOf(found: readonly Receiver[], originals: readonly Original[]): Receiver[] {
  const received = originals.filter(mayHaveReceived);
  const headNos = new Set(received.map(({ webhookNo }) => retractionHeadNo(webhookNo)));
  return found.filter(({ webhookNo }) => headNos.has(webhookNo));
}

/**
 * Ends the deliveries that no instance has claimed. Waiting deliveries become superseded, and redeliveries return to the
 * completed deliveries with their status. Returns these deliveries.
 */
async function supersede(
  queries: Queries,
  dialect: Dialect,
  { entity, entityId, eventNo: byNo }: EventTask,
  rows: readonly { readonly id: SqlUuid }[],
  { changes, nowMs }: { changes: CountChanges; nowMs: number },
): Promise<WaitingRow[]> {
  const moved: WaitingRow[] = [];
  for (const chunk of chunks(rows)) {
    // Runs first, so that these rows are locked. When an attempt in flight is recorded later, it finds no redelivery request.
    await queries.run(
      `update queue set redeliver = 0 where entity_id = $1 and redeliver > 0 and id in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    moved.push(...(await moveToRecord(queries, dialect, changes, { entity, byNo }, chunk, nowMs)));
  }
  moved.push(...(await endRedeliveries(queries, dialect, entityId, rows, nowMs)));
  return moved;
}

/**
 * Gives deliveries in flight the key of their retraction, so that the retraction waits for them. A delivery that already has the
 * key keeps its turn. The parts of the key are stored with it, because original and retraction must get the same new key if the
 * webhook moves.
 */
async function keyInFlight(
  queries: Queries,
  dialect: Dialect,
  task: EventTask,
  receivers: readonly Receiver[],
  inFlight: readonly Original[],
): Promise<void> {
  const { entity } = task;
  const subjects = subjectsOfTask(dialect, task);
  const receiverOf = new Map(receivers.map((receiver) => [receiver.webhookNo, receiver]));
  const keyed = inFlight.flatMap(({ id, webhookNo, orderKey: own }) => {
    const receiver = receiverOf.get(retractionHeadNo(webhookNo));
    const key = receiver === undefined ? null : orderKeyOf(dialect, subjects, receiver);
    if (key === null) return [];
    return { entity, id, key, hasKey: own !== null && dialect.hexOf(own) === dialect.hexOf(key) };
  });
  const joining = keyed.filter(({ hasKey }) => !hasKey);
  const turns = await drawTurns(queries, dialect, joining);
  for (const one of keyed) {
    const turn = one.hasKey ? null : (turns[joining.indexOf(one)] ?? 0);
    await queries.run(
      `update queue set order_key = $3, turn = coalesce($4, turn), agreement_hash = $5, payment_hash = $6
       where entity_id = $1 and id = $2`,
      [entity, one.id, one.key, turn, subjects.agreement, subjects.payment],
    );
  }
}

/** Deliveries of the original that are in the queue, including redeliveries. */
const LEFT = `select ${waitingColumns.list} from queue where entity_id = $1 and id > $2 and id <= $3`;

const parkedColumns = new Columns({ key: uuid('order_key') });

/** Ends when no delivery of the original is in the queue. Until then, the task runs this step again. */
async function awaitOriginals(tools: StepTools, task: EventTask): Promise<Progress | 'done'> {
  const { queries, dialect, nowMs } = tools;
  const { entity, eventNo } = task;
  const { after, last } = rangeOf(dialect, task);
  const waiting = await waitingColumns.all(queries, LEFT, [entity, after, last]);
  // An attempt whose delivery got its key during the attempt does not pass on the turn when it ends, so this step does.
  const parked = await parkedColumns.all(
    queries,
    `select distinct ${parkedColumns.list} from queue
     where entity_id = $1 and id > $2 and id <= $3 and generation is null and order_key is not null`,
    [entity, eventNo, dialect.bindUuid(lastDeliveryHex(dialect.hexOf(eventNo)))],
  );
  const keys: OrderKey[] = parked.map((one) => ({ entity, ...one }));
  for (const { orderKey } of waiting) if (orderKey !== null) keys.push({ entity, key: orderKey });
  await lockKeys(queries, dialect, keys);
  const changes = new CountChanges(dialect, 'acceptance');
  await supersede(queries, dialect, task, waiting, { changes, nowMs });
  const promoted: Promotion[] = await settleKeys(queries, dialect, keys, nowMs);
  const left = await waitingColumns.all(queries, LEFT, [entity, after, last]);
  if (left.length === 0) await setDeliveries(queries, changes, task, task.made);
  await wakeHeads(queries, dialect, promoted);
  await changes.write(queries);
  tools.noteDue(promoted.map(({ destination }) => destination));
  return left.length === 0 ? 'done' : { phase: task.phase, cursor: task.cursor, waitMs: RECHECK_MS };
}
