import { fitsRecord, isSuccess } from '../../../domain/attempt.ts';
import { deliveryKey, entityKey, type RowOf } from '../../database/sql.ts';
import { STATUS_CODES, statusOfCode } from '../states.ts';
import { deliveryTable, queueTable } from '../tables.ts';
import { type AttemptRecord, insertAttempts, RECORD_COLUMNS, type Run } from './attempt-log.ts';

const queueColumns = queueTable.pick(['token', 'attempts', 'redeliver', 'recorded', 'scheduledMs', 'dueMs']);
type QueueRow = RowOf<typeof queueColumns>;

type Status = keyof typeof STATUS_CODES;

/** Records an attempt outside of the common cases, on the row as it is now: a redelivery, or a row that has changed since the claim. */
export async function recordOne(run: Run, attempt: AttemptRecord): Promise<void> {
  const { queries, dialect, recorded } = run;
  const { delivery, outcome } = attempt;
  const row = await queueColumns.get(
    queries,
    `select ${queueColumns.list} from queue where entity_id = $1 and id = $2 ${dialect.lockRow}`,
    deliveryKey(dialect, delivery),
  );
  if (row === undefined) {
    if (await recordAfterCompletion(run, attempt)) recorded.add(delivery.deliveryId);
    return;
  }
  const isOurs = row.token === delivery.token && row.attempts === delivery.attempts;
  if (row.token === delivery.token && row.attempts > delivery.attempts) {
    // The attempt was recorded before, by a commit that went unanswered.
    recorded.add(delivery.deliveryId);
    return;
  }
  // Another instance has claimed the delivery since then, so a failure does not count. A success counts, because the delivery
  // need not be sent again.
  if (!isOurs && !isSuccess(outcome)) return;
  const attempts = row.attempts + 1;
  const numbered = { ...attempt, delivery: { ...delivery, attempts: attempts - 1 } };
  const redeliver = Math.max(0, row.redeliver - (delivery.kind === 'redelivery' ? 1 : 0));
  const before = row.recorded === null ? null : statusOfCode(row.recorded);
  const complete = completedStatus(attempt, before);
  recorded.add(delivery.deliveryId);
  if (complete !== null && redeliver === 0) await moveToRecord(run, numbered, before, complete);
  else await keepInQueue(run, numbered, row, { redeliver, complete, before });
}

/** The status under which this attempt completes the delivery, or null if another attempt follows. */
function completedStatus({ delivery, outcome, next }: AttemptRecord, before: Status | null): Status | null {
  if (isSuccess(outcome)) return 'delivered';
  if (before !== null) return before;
  return delivery.kind !== 'redelivery' && next.delayMs === null ? 'failed' : null;
}

/** The parameter is the endpoint of the attempt; null keeps the endpoint that the delivery has. */
const sentTo = (parameter: string) => `nullif(coalesce(${parameter}, sent_to_no, endpoint_no), endpoint_no)`;

/** If a redelivery to the webhook's new URL fails, the delivery stays with the endpoint that has acknowledged it. */
function endpointOf({ delivery, outcome }: AttemptRecord, before: Status | null): number | null {
  return before === 'delivered' && !isSuccess(outcome) ? null : delivery.endpointNo;
}

async function moveToRecord(run: Run, attempt: AttemptRecord, before: Status | null, status: Status): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const { delivery, outcome, startedAtMs } = attempt;
  const isOnly = fitsRecord(delivery, outcome);
  const answered = outcome.kind === 'response' ? outcome : null;
  await queries.run(
    `insert into deliveries (${RECORD_COLUMNS}, superseded_by)
     select entity_id, id, webhook_no, endpoint_no, ${sentTo('$3')}, created_at_ms, coalesce(ended_at_ms, $5),
       $6, sequence, redelivery_id, $7, attempts + 1, $4, $8, test, $9, $10,
       ${status === 'superseded' ? 'superseded_by' : 'null'}
     from queue where entity_id = $1 and id = $2 on conflict (entity_id, id) do nothing`,
    [
      ...deliveryKey(dialect, delivery),
      endpointOf(attempt, before),
      STATUS_CODES[status],
      status === 'delivered' ? nowMs : null,
      isOnly ? startedAtMs : null,
      isOnly ? Math.round(outcome.durationMs) : null,
      answered?.statusCode ?? null,
      outcome.kind === 'error' ? outcome.error : null,
      isOnly ? (answered?.body ?? null) : null,
    ],
  );
  await queries.run('delete from queue where entity_id = $1 and id = $2', deliveryKey(dialect, delivery));
  if (isOnly) counts.response(delivery, outcome);
  else await insertAttempts(run, [attempt]);
  if (before === null) counts.completed(delivery, status);
  else counts.completedAgain(delivery, before, status);
}

/** A payment that is sent again keeps its order key, because the payment's next revision waits for every request. */
const KEY_OF_PAYMENT = 'case when payment_hash is not null then order_key end';

async function keepInQueue(
  run: Run,
  attempt: AttemptRecord,
  row: QueueRow,
  { redeliver, complete, before }: { redeliver: number; complete: Status | null; before: Status | null },
): Promise<void> {
  const { queries, dialect, counts, wakes, nowMs } = run;
  const { delivery, outcome, next } = attempt;
  const entity = entityKey(dialect, delivery.entityId);
  // After a redelivery, a delivery that still waits continues its schedule.
  const scheduledMs = delivery.kind === 'redelivery' ? (row.scheduledMs ?? row.dueMs) : nowMs + (next.delayMs ?? 0);
  // Not before now: claims read a head from a mark that follows the clock, and would miss an earlier row.
  const dueMs = redeliver > 0 ? nowMs : Math.max(scheduledMs, nowMs);
  await queries.run(
    `update queue set lease_ms = 0, attempts = attempts + 1, steps = $3, redeliver = $4,
       sent_to_no = ${sentTo('$5')}, generation = $6, due_ms = $7, scheduled_ms = $8, status_code = $9, error = $10, recorded = $11,
       order_key = ${complete === null ? 'order_key' : KEY_OF_PAYMENT}, ended_at_ms = coalesce(ended_at_ms, $12)
     where entity_id = $1 and id = $2`,
    [
      ...deliveryKey(dialect, delivery),
      next.steps,
      redeliver,
      endpointOf(attempt, before),
      delivery.generation,
      dueMs,
      complete === null && redeliver > 0 ? scheduledMs : null,
      outcome.kind === 'response' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
      complete === null ? null : STATUS_CODES[complete],
      complete === 'delivered' ? nowMs : null,
    ],
  );
  await insertAttempts(run, [attempt]);
  const { webhookNo, attempts } = delivery;
  if (complete === null) counts.queue(entity, webhookNo, { retrying: attempts === 0 ? 1 : 0 });
  else if (before === null) counts.completed(delivery, complete);
  else counts.completedAgain(delivery, before, complete);
  wakes.push({ entityId: delivery.entityId, webhookNo, atMs: dueMs, isWaiting: true });
}

const recordColumns = deliveryTable.pick(['status', 'attempts']);

/**
 * The delivery was completed during the attempt, most likely cancelled with its webhook. A success still counts: the
 * receiver has the event.
 */
async function recordAfterCompletion(run: Run, attempt: AttemptRecord): Promise<boolean> {
  const { queries, dialect, counts, nowMs } = run;
  const { delivery, outcome } = attempt;
  const key = deliveryKey(dialect, delivery);
  const row = await recordColumns.get(
    queries,
    `select ${recordColumns.list} from deliveries where entity_id = $1 and id = $2 ${dialect.lockRow}`,
    key,
  );
  if (row === undefined) return false;
  const before = statusOfCode(row.status);
  if (row.attempts > delivery.attempts) {
    // An earlier commit without an answer has counted this attempt, or another instance has completed the delivery.
    return isSuccess(outcome) ? before === 'delivered' : before === 'failed' && row.attempts === delivery.attempts + 1;
  }
  if (!isSuccess(outcome)) return false;
  await queries.run(
    `update deliveries set status = ${STATUS_CODES.delivered}, ended_at_ms = coalesce(ended_at_ms, $3),
       sent_to_no = nullif($4, endpoint_no), attempts = attempts + 1, status_code = $5, error = null,
       superseded_by = null where entity_id = $1 and id = $2`,
    [...key, nowMs, delivery.endpointNo, outcome.kind === 'response' ? outcome.statusCode : null],
  );
  await insertAttempts(run, [attempt]);
  counts.completedAgain(delivery, before, 'delivered');
  return true;
}
