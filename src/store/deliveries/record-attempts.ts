import { type AttemptKind, isSuccess, type NextState, type Outcome } from '../../domain/attempt.ts';
import { hexIn } from '../../domain/ids.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, textByRows, valuesList } from '../database/sql.ts';
import type { Claimed } from './claimed.ts';
import { CountChanges, STORED_BYTES } from './counts/counts.ts';
import { type Wake, wakeHeads } from './heads.ts';
import { lockKeys, type OrderKey, settleKeys } from './order/order-keys.ts';
import { STATUS_CODES, statusOfCode } from './states.ts';

/** One attempt: the delivery as it was claimed, what the request came to, and what the delivery does next. */
export type AttemptRecord = {
  delivery: Claimed;
  startedAtMs: number;
  outcome: Outcome;
  next: NextState;
};

/**
 * Records many attempts in one transaction and returns the ids of the deliveries whose attempt counts now. A success needs
 * no token, because the receiver has the event, no matter which instance sent it; a failure counts only under the newest claim. An attempt
 * whose commit went unanswered and is recorded again finds itself counted, and changes nothing. `onDue` is told where deliveries
 * have their turn now.
 */
export async function recordAttempts(
  queries: Queries,
  dialect: Dialect,
  made: readonly AttemptRecord[],
  onDue: (destinations: Iterable<DestinationKey>) => void = () => undefined,
): Promise<Set<string>> {
  const counts = new CountChanges(dialect, 'completion');
  const recorded = new Set<string>();
  const clock = await queries.get<{ now_ms: SqlInteger }>(dialect.planForClaims);
  const run: Run = { queries, dialect, counts, recorded, wakes: [], nowMs: Number(clock?.now_ms ?? 0) };
  const orderKeys = orderKeysOf(dialect, made);
  if (orderKeys.length > 0) await lockKeys(queries, dialect, orderKeys);
  const usual = inOrder(made.filter(({ delivery }) => delivery.kind !== 'redelivery'));
  const [ended, failing] = partition(usual, ({ next }) => next.delayMs === null);
  for (const chunk of chunks(ended)) await completeTogether(run, chunk);
  for (const chunk of chunks(failing)) await retryTogether(run, chunk);
  for (const attempt of inOrder(made)) {
    if (!recorded.has(attempt.delivery.deliveryId)) await recordOne(run, attempt);
  }
  const promoted = orderKeys.length === 0 ? [] : await settleKeys(queries, dialect, orderKeys, run.nowMs);
  await wakeHeads(queries, dialect, [...run.wakes, ...promoted]);
  onDue(promoted.map(({ destination }) => destination));
  await counts.write(queries);
  return recorded;
}

/** The keys that an attempt may be the end of a delivery of. */
function orderKeysOf(dialect: Dialect, made: readonly AttemptRecord[]): OrderKey[] {
  return made.flatMap(({ delivery, outcome, next }) => {
    const { entityId, orderKey, sequenceEndpointNo: endpointNo } = delivery;
    if (orderKey === null || (next.delayMs !== null && !isSuccess(outcome))) return [];
    return { entity: entityKey(dialect, entityId), endpointNo, key: dialect.bindUuid(orderKey) };
  });
}

type Run = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly counts: CountChanges;
  readonly recorded: Set<string>;
  /** Heads to be looked at; all of them last and at once, because every transaction locks them in one order. */
  readonly wakes: Wake[];
  readonly nowMs: number;
};

/** Two instances that record the same deliveries take their rows in the same order. */
function inOrder(made: readonly AttemptRecord[]): AttemptRecord[] {
  return made.toSorted(({ delivery: a }, { delivery: b }) => {
    if (a.entityId !== b.entityId) return a.entityId < b.entityId ? -1 : 1;
    return a.deliveryId < b.deliveryId ? -1 : 1;
  });
}

function idOf({ bindUuid }: Dialect, { deliveryId }: Claimed): SqlUuid {
  return bindUuid(hexIn(deliveryId));
}

/** The endpoint that an attempt went to is named only where it is not the one that the delivery has its number of. */
const RECORD_COLUMNS = `entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, started_at_ms, sequence,
  event_no, redelivery_id, duration_ms, attempts, status, status_code, test, error, response`;

/** PostgreSQL moves the rows in one statement, so that none is in both tables or in neither. */
const completeText = (dialect: Dialect) =>
  textByRows((rows) => {
    const { uuid, rowsOf } = dialect;
    const types = [uuid, uuid, ...Array(9).fill('bigint'), 'text', 'text'];
    const made = `with made (entity_id, id, token, attempts, endpoint_no, status, ended_at_ms, started_at_ms, duration_ms,
        status_code, attempts_now, error, response) as (values ${valuesList(rows, types.length, 0, types)})`;
    const record = `queue.entity_id, queue.id, queue.webhook_no, queue.endpoint_no,
      nullif(made.endpoint_no, queue.endpoint_no), queue.created_at_ms, made.ended_at_ms,
      made.started_at_ms, queue.sequence, queue.event_no, queue.redelivery_id, made.duration_ms, made.attempts_now,
      made.status, made.status_code, queue.test, made.error, made.response`;
    const { from, where } = rowsOf('queue', 'made', ['entity_id', 'id']);
    const isUsual = `${where} and queue.redeliver = 0 and queue.recorded is null and queue.attempts = made.attempts
      and (queue.token = made.token or made.status = ${STATUS_CODES.delivered})`;
    const insert = `insert into deliveries (${RECORD_COLUMNS})`;
    const end = 'on conflict (entity_id, id) do nothing returning id';
    return uuid === 'uuid'
      ? `${made}, gone as (delete from queue using ${from} where ${isUsual} returning ${record})
         ${insert} select * from gone ${end}`
      : `${made} ${insert} select ${record} from ${from} cross join queue where ${isUsual} ${end}`;
  });
const completeTexts = new Map<Dialect, (rows: number) => string>();

const deleteText = textByRows(
  (rows) => `delete from queue where (entity_id, id) in (values ${valuesList(rows, 2)}) and redeliver = 0`,
);

function textOf(
  texts: Map<Dialect, (rows: number) => string>,
  make: (dialect: Dialect) => (rows: number) => string,
  dialect: Dialect,
): (rows: number) => string {
  const text = texts.get(dialect) ?? make(dialect);
  texts.set(dialect, text);
  return text;
}

/** The common case: it arrived or failed for good, and nothing else was asked of it. */
async function completeTogether(run: Run, made: readonly AttemptRecord[]): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const rows = await queries.all<{ id: SqlUuid }>(
    textOf(completeTexts, completeText, dialect)(made.length),
    made.flatMap(({ delivery, outcome, startedAtMs }): SqlValue[] => {
      // The only attempt is kept in the record; where there were more, all of them are in `attempts`.
      const isOnly = delivery.attempts === 0;
      const arrived = isSuccess(outcome);
      return [
        entityKey(dialect, delivery.entityId),
        idOf(dialect, delivery),
        delivery.token,
        delivery.attempts,
        delivery.endpointNo,
        STATUS_CODES[arrived ? 'delivered' : 'failed'],
        arrived ? nowMs : null,
        isOnly ? startedAtMs : null,
        isOnly ? Math.round(outcome.durationMs) : null,
        outcome.kind === 'response' ? outcome.statusCode : null,
        delivery.attempts + 1,
        outcome.kind === 'error' ? outcome.error : null,
        isOnly && outcome.kind === 'response' ? outcome.body : null,
      ];
    }),
  );
  const inserted = new Set(rows.map(({ id }) => `dlv_${dialect.hexOf(id)}`));
  const completed = made.filter(({ delivery }) => inserted.has(delivery.deliveryId));
  if (completed.length === 0) return;
  if (dialect.uuid === 'blob') {
    const keys = completed.flatMap(({ delivery }) => [entityKey(dialect, delivery.entityId), idOf(dialect, delivery)]);
    await queries.run(deleteText(completed.length), keys);
  }
  const repeated = completed.filter(({ delivery }) => delivery.attempts > 0);
  if (repeated.length > 0) await insertAttempts(run, repeated);
  for (const { delivery, outcome } of completed) {
    run.recorded.add(delivery.deliveryId);
    countCompleted(counts, dialect, delivery, isSuccess(outcome) ? 'delivered' : 'failed');
    if (delivery.attempts === 0) countResponse(counts, dialect, delivery, outcome);
  }
}

const retryText = (dialect: Dialect) =>
  textByRows((rows) => {
    const types = [dialect.uuid, dialect.uuid, ...Array(7).fill('bigint'), 'text'];
    const { from, where } = dialect.rowsOf('queue', 'made', ['entity_id', 'id']);
    return `with made (entity_id, id, token, attempts, endpoint_no, generation, steps, due_ms, status_code, error) as
        (values ${valuesList(rows, types.length, 0, types)})
      update queue set lease_ms = 0, attempts = queue.attempts + 1, steps = made.steps,
        sent_to_no = nullif(made.endpoint_no, queue.endpoint_no), generation = made.generation, due_ms = made.due_ms, status_code = made.status_code, error = made.error
      from ${from} where ${where} and queue.token = made.token
        and queue.attempts = made.attempts and queue.redeliver = 0 and queue.recorded is null
      returning queue.id as id`;
  });
const retryTexts = new Map<Dialect, (rows: number) => string>();

/** Failures that are tried again by the schedule. */
async function retryTogether(run: Run, made: readonly AttemptRecord[]): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const dueMs = ({ next }: AttemptRecord) => nowMs + (next.delayMs ?? 0);
  const rows = await queries.all<{ id: SqlUuid }>(
    textOf(retryTexts, retryText, dialect)(made.length),
    made.flatMap((attempt): SqlValue[] => {
      const { delivery, outcome, next } = attempt;
      return [
        entityKey(dialect, delivery.entityId),
        idOf(dialect, delivery),
        delivery.token,
        delivery.attempts,
        delivery.endpointNo,
        delivery.generation,
        next.steps,
        dueMs(attempt),
        outcome.kind === 'response' ? outcome.statusCode : null,
        outcome.kind === 'error' ? outcome.error : null,
      ];
    }),
  );
  const updated = new Set(rows.map(({ id }) => `dlv_${dialect.hexOf(id)}`));
  const retried = made.filter(({ delivery }) => updated.has(delivery.deliveryId));
  if (retried.length === 0) return;
  await insertAttempts(run, retried);
  for (const { delivery } of retried) {
    const { deliveryId, entityId, webhookNo, attempts } = delivery;
    run.recorded.add(deliveryId);
    counts.queue(entityKey(dialect, entityId), webhookNo, { retrying: attempts === 0 ? 1 : 0 });
  }
  for (const attempt of retried) {
    const { entityId, webhookNo } = attempt.delivery;
    run.wakes.push({ entityId, webhookNo, atMs: dueMs(attempt), isWaiting: true });
  }
}

function countCompleted(
  counts: CountChanges,
  dialect: Dialect,
  { entityId, deliveryId, webhookNo, attempts }: Claimed,
  status: keyof typeof STATUS_CODES,
): void {
  const entity = entityKey(dialect, entityId);
  counts.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });
  counts.deliveries(entity, webhookNo, hexIn(deliveryId), { [status]: 1 });
}

/** The response in the record of a delivery; those in `attempts` are counted where they are inserted. */
function countResponse(counts: CountChanges, dialect: Dialect, { entityId }: Claimed, outcome: Outcome): void {
  if (outcome.kind === 'response') counts.stored(entityKey(dialect, entityId), Buffer.byteLength(outcome.body ?? ''));
}

type QueueRow = {
  token: SqlInteger;
  attempts: SqlInteger;
  redeliver: SqlInteger;
  recorded: SqlInteger | null;
  scheduled_ms: SqlInteger | null;
  due_ms: SqlInteger;
};

/** Everything but the common case, decided here on the row as it is: failures, redeliveries, and what changed meanwhile. */
async function recordOne(run: Run, attempt: AttemptRecord): Promise<void> {
  const { queries, dialect, recorded } = run;
  const { delivery, outcome } = attempt;
  const key = [entityKey(dialect, delivery.entityId), idOf(dialect, delivery)];
  const row = await queries.get<QueueRow>(
    `select token, attempts, redeliver, recorded, scheduled_ms, due_ms from queue
     where entity_id = $1 and id = $2 ${dialect.lockRow}`,
    key,
  );
  if (row === undefined) {
    if (await recordAfterCompletion(run, attempt)) recorded.add(delivery.deliveryId);
    return;
  }
  const isOurs = Number(row.token) === delivery.token && Number(row.attempts) === delivery.attempts;
  if (!isOurs && !isSuccess(outcome)) {
    // Counted before, where a commit went unanswered; otherwise another instance has claimed it since.
    if (Number(row.attempts) > delivery.attempts && Number(row.token) === delivery.token)
      recorded.add(delivery.deliveryId);
    return;
  }
  const attempts = Number(row.attempts) + 1;
  const numbered = { ...attempt, delivery: { ...delivery, attempts: attempts - 1 } };
  const redeliver = Math.max(0, Number(row.redeliver) - (delivery.kind === 'redelivery' ? 1 : 0));
  const before = row.recorded === null ? null : statusOfCode(Number(row.recorded));
  const complete = completedStatus(attempt, before);
  recorded.add(delivery.deliveryId);
  if (complete !== null && redeliver === 0) await moveToRecord(run, numbered, before, complete);
  else await keepInQueue(run, numbered, row, { redeliver, complete, before });
}

/** The status under which the delivery is complete after this attempt, or null while an attempt is to come. */
function completedStatus(
  { delivery, outcome, next }: AttemptRecord,
  before: keyof typeof STATUS_CODES | null,
): keyof typeof STATUS_CODES | null {
  if (isSuccess(outcome)) return 'delivered';
  if (before !== null) return before;
  return delivery.kind !== 'redelivery' && next.delayMs === null ? 'failed' : null;
}

async function moveToRecord(
  run: Run,
  attempt: AttemptRecord,
  before: keyof typeof STATUS_CODES | null,
  status: keyof typeof STATUS_CODES,
): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const { delivery, outcome, startedAtMs } = attempt;
  // The record has no room for the kind of its attempt: one that was asked for is kept with its kind in `attempts`.
  const isOnly = delivery.attempts === 0 && delivery.kind !== 'redelivery';
  const answered = outcome.kind === 'response' ? outcome : null;
  await queries.run(
    `insert into deliveries (${RECORD_COLUMNS}, superseded_by)
     select entity_id, id, webhook_no, endpoint_no, nullif($3, endpoint_no), created_at_ms, coalesce(ended_at_ms, $5),
       $6, sequence, event_no, redelivery_id, $7, attempts + 1, $4, $8, test, $9, $10,
       ${status === 'superseded' ? 'superseded_by' : 'null'}
     from queue where entity_id = $1 and id = $2 on conflict (entity_id, id) do nothing`,
    [
      entityKey(dialect, delivery.entityId),
      idOf(dialect, delivery),
      delivery.endpointNo,
      STATUS_CODES[status],
      status === 'delivered' ? nowMs : null,
      isOnly ? startedAtMs : null,
      isOnly ? Math.round(outcome.durationMs) : null,
      answered?.statusCode ?? null,
      outcome.kind === 'error' ? outcome.error : null,
      isOnly ? (answered?.body ?? null) : null,
    ],
  );
  await queries.run('delete from queue where entity_id = $1 and id = $2', [
    entityKey(dialect, delivery.entityId),
    idOf(dialect, delivery),
  ]);
  if (isOnly) countResponse(counts, dialect, delivery, outcome);
  else await insertAttempts(run, [attempt]);
  if (before === null) countCompleted(counts, dialect, delivery, status);
  else recount(counts, dialect, delivery, before, status);
}

function recount(
  counts: CountChanges,
  dialect: Dialect,
  { entityId, deliveryId, webhookNo }: Claimed,
  before: keyof typeof STATUS_CODES,
  status: keyof typeof STATUS_CODES,
): void {
  if (before === status) return;
  counts.deliveries(entityKey(dialect, entityId), webhookNo, hexIn(deliveryId), { [before]: -1, [status]: 1 });
}

async function keepInQueue(
  run: Run,
  attempt: AttemptRecord,
  row: QueueRow,
  {
    redeliver,
    complete,
    before,
  }: { redeliver: number; complete: keyof typeof STATUS_CODES | null; before: keyof typeof STATUS_CODES | null },
): Promise<void> {
  const { queries, dialect, counts, wakes, nowMs } = run;
  const { delivery, outcome, next } = attempt;
  const entity = entityKey(dialect, delivery.entityId);
  // After a redelivery of one that still waits, the schedule goes on where it was.
  const scheduledMs =
    delivery.kind === 'redelivery' ? Number(row.scheduled_ms ?? row.due_ms) : nowMs + (next.delayMs ?? 0);
  const dueMs = redeliver > 0 ? nowMs : scheduledMs;
  await queries.run(
    `update queue set lease_ms = 0, attempts = attempts + 1, steps = $3, redeliver = $4,
       sent_to_no = nullif($5, endpoint_no), generation = $6,
       due_ms = $7, scheduled_ms = $8, status_code = $9, error = $10, recorded = $11,
       order_key = ${complete === null ? 'order_key' : 'null'},
       ended_at_ms = coalesce(ended_at_ms, $12)
     where entity_id = $1 and id = $2`,
    [
      entity,
      idOf(dialect, delivery),
      next.steps,
      redeliver,
      delivery.endpointNo,
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
  else if (before === null) countCompleted(counts, dialect, delivery, complete);
  else recount(counts, dialect, delivery, before, complete);
  wakes.push({ entityId: delivery.entityId, webhookNo, atMs: dueMs, isWaiting: true });
}

/** The delivery was completed meanwhile, most likely cancelled with its webhook: what the receiver has is a fact. */
async function recordAfterCompletion(run: Run, attempt: AttemptRecord): Promise<boolean> {
  const { queries, dialect, counts, nowMs } = run;
  const { delivery, outcome } = attempt;
  const key = [entityKey(dialect, delivery.entityId), idOf(dialect, delivery)];
  const row = await queries.get<{ status: SqlInteger; attempts: SqlInteger }>(
    `select status, attempts from deliveries where entity_id = $1 and id = $2 ${dialect.lockRow}`,
    key,
  );
  if (row === undefined) return false;
  const before = statusOfCode(Number(row.status));
  if (Number(row.attempts) > delivery.attempts) {
    // Counted before, where a commit went unanswered; otherwise another instance has completed it.
    return isSuccess(outcome)
      ? before === 'delivered'
      : before === 'failed' && Number(row.attempts) === delivery.attempts + 1;
  }
  if (!isSuccess(outcome)) return false;
  await queries.run(
    `update deliveries set status = ${STATUS_CODES.delivered}, ended_at_ms = coalesce(ended_at_ms, $3),
       sent_to_no = nullif($4, endpoint_no), attempts = attempts + 1, status_code = $5, error = null, superseded_by = null where entity_id = $1 and id = $2`,
    [...key, nowMs, delivery.endpointNo, outcome.kind === 'response' ? outcome.statusCode : null],
  );
  await insertAttempts(run, [attempt]);
  recount(counts, dialect, delivery, before, 'delivered');
  return true;
}

/** A log that does not fit its delivery must not keep what the receiver has from being recorded: it would be sent for ever. */
const insertAttemptsText = textByRows(
  (rows) => `insert into attempts
      (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response)
    values ${valuesList(rows, 10)} on conflict (entity_id, delivery_id, attempt) do nothing
    returning entity_id, ${STORED_BYTES.attempt} as bytes`,
);

async function insertAttempts(
  { queries, dialect, counts }: Pick<Run, 'queries' | 'dialect' | 'counts'>,
  made: readonly (Pick<AttemptRecord, 'startedAtMs' | 'outcome'> & {
    delivery: Pick<Claimed, 'entityId' | 'deliveryId' | 'attempts' | 'postUrl'> & { kind: AttemptKind };
  })[],
): Promise<void> {
  const values = made.flatMap(({ delivery, startedAtMs, outcome }): SqlValue[] => [
    entityKey(dialect, delivery.entityId),
    dialect.bindUuid(hexIn(delivery.deliveryId)),
    delivery.attempts + 1,
    delivery.kind,
    delivery.postUrl,
    startedAtMs,
    Math.round(outcome.durationMs),
    outcome.kind === 'response' ? outcome.statusCode : null,
    outcome.kind === 'error' ? outcome.error : null,
    outcome.kind === 'response' ? outcome.body : null,
  ]);
  const rows = await queries.all<{ entity_id: SqlUuid; bytes: SqlInteger }>(insertAttemptsText(made.length), values);
  for (const row of rows) counts.stored(row.entity_id, Number(row.bytes));
}

function partition<Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(matches), items.filter((item) => !matches(item))];
}
