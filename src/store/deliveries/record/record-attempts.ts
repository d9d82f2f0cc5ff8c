import { fitsRecord, isSuccess } from '../../../domain/attempt.ts';
import { hexIn } from '../../../domain/ids.ts';
import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  awaitedChunks,
  Columns,
  chunks,
  deliveryKey,
  entityKey,
  planForClaims,
  textByRows,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { CountChanges } from '../counts/counts.ts';
import { wakeHeads } from '../heads.ts';
import { type DeliveryRow, lockKeys, lockRows, nameOf, type OrderKey, settleKeys } from '../order/order-keys.ts';
import { STATUS_CODES } from '../states.ts';
import { type AttemptRecord, insertAttempts, onceEach, RECORD_COLUMNS, type Run } from './attempt-log.ts';
import { recordOne } from './record-one.ts';

/**
 * Records many attempts in one transaction and returns the ids of the deliveries whose attempt counts now. A success
 * needs no token, because the receiver has the event, no matter which instance sent it. A failure counts only under the
 * newest claim. If a commit went unanswered and the attempt is recorded again, the attempt is already counted and
 * nothing changes. `onDue` gets the destinations with deliveries that became due.
 */
export async function recordAttempts(
  queries: Queries,
  dialect: Dialect,
  made: readonly AttemptRecord[],
  onDue: (destinations: Iterable<DestinationKey>) => void = () => undefined,
): Promise<Set<string>> {
  const recorded = new Set<string>();
  for (const each of onceEach(made)) {
    const parts = dialect.isDistributed ? Map.groupBy(each, ({ delivery }) => delivery.entityId).values() : [each];
    for (const some of parts) {
      for (const id of await recordTogether(queries, dialect, some, onDue)) recorded.add(id);
    }
  }
  return recorded;
}

async function recordTogether(
  queries: Queries,
  dialect: Dialect,
  made: readonly AttemptRecord[],
  onDue: (destinations: Iterable<DestinationKey>) => void,
): Promise<Set<string>> {
  const counts = new CountChanges(dialect, 'completion');
  const recorded = new Set<string>();
  const nowMs = await planForClaims(queries, dialect);
  const run: Run = { queries, dialect, counts, recorded, wakes: [], nowMs };
  const orderKeys = orderKeysOf(dialect, made);
  if (orderKeys.length > 0) await lockKeys(queries, dialect, orderKeys);
  orderKeys.push(...(await lockNewKeys(queries, dialect, made, orderKeys)));
  const usual = inOrder(made.filter(({ delivery }) => delivery.kind !== 'redelivery'));
  const [ended, failing] = partition(usual, ({ next }) => next.delayMs === null);
  // An event that supersedes some of these deliveries locks them in the order of their rows. If two statements would lock
  // them by outcome, lock them in that order first.
  const isOneStep = [ended, failing].some(({ length }) => length === made.length);
  if (!isOneStep || dialect.isDistributed) await lockRows(queries, dialect, made.map(rowOf(dialect)));
  for (const chunk of awaitedChunks(dialect, ended)) await completeTogether(run, chunk);
  for (const chunk of awaitedChunks(dialect, failing)) await retryTogether(run, chunk);
  const alone = made.filter(({ delivery }) => !recorded.has(delivery.deliveryId));
  for (const attempt of inOrder(alone)) await recordOne(run, attempt);
  const promoted = orderKeys.length === 0 ? [] : await settleKeys(queries, dialect, orderKeys, nowMs);
  await wakeHeads(queries, dialect, [...run.wakes, ...promoted]);
  onDue(promoted.map(({ destination }) => destination));
  await counts.write(queries);
  return recorded;
}

const rowOf =
  (dialect: Dialect) =>
  ({ delivery }: AttemptRecord): DeliveryRow => {
    const [entity, id] = deliveryKey(dialect, delivery);
    return { entity, id };
  };

/** The keys of the deliveries that these attempts may complete. A redelivery is one attempt, whatever comes of it. */
function orderKeysOf(dialect: Dialect, made: readonly AttemptRecord[]): OrderKey[] {
  return made.flatMap(({ delivery, outcome, next }) => {
    const { entityId, orderKey, kind } = delivery;
    const isRetried = kind !== 'redelivery' && next.delayMs !== null && !isSuccess(outcome);
    return orderKey === null || isRetried
      ? []
      : { entity: entityKey(dialect, entityId), key: dialect.bindUuid(orderKey) };
  });
}

const keyColumns = new Columns({ key: uuid('order_key') });

/**
 * Deliveries whose webhook moved during the attempt may have another key now. It is locked after the others: two
 * transactions that wait for each other because of that are repeated.
 */
async function lockNewKeys(
  queries: Queries,
  dialect: Dialect,
  made: readonly AttemptRecord[],
  locked: readonly OrderKey[],
): Promise<OrderKey[]> {
  if (locked.length === 0) return [];
  const known = new Set(locked.map((key) => nameOf(dialect, key)));
  const keyed = made.filter(({ delivery }) => delivery.orderKey !== null);
  const found: OrderKey[] = [];
  for (const [entityId, some] of Map.groupBy(keyed, ({ delivery }) => delivery.entityId)) {
    const entity = entityKey(dialect, entityId);
    for (const chunk of chunks(some)) {
      const rows = await keyColumns.all(
        queries,
        `select ${keyColumns.list} from queue
         where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)} and order_key is not null`,
        [entity, ...chunk.map(({ delivery }) => deliveryKey(dialect, delivery)[1])],
      );
      found.push(...rows.map(({ key }) => ({ entity, key })).filter((key) => !known.has(nameOf(dialect, key))));
    }
  }
  if (found.length > 0) await lockKeys(queries, dialect, found);
  return found;
}

/** Two instances that record the same deliveries take their rows in the same order. */
function inOrder(made: readonly AttemptRecord[]): AttemptRecord[] {
  return made.toSorted(({ delivery: a }, { delivery: b }) => {
    if (a.entityId !== b.entityId) return a.entityId < b.entityId ? -1 : 1;
    return a.deliveryId < b.deliveryId ? -1 : 1;
  });
}

const completedTypes = ({ uuid }: Dialect) => [uuid, uuid, ...Array<string>(9).fill('bigint'), 'text', 'text'];

/** PostgreSQL moves the rows in one statement, so that none is in both tables or in neither. */
const completeText = (dialect: Dialect) =>
  textByRows((rows) => {
    const { rowList, rowsOf } = dialect;
    const made = `with made (entity_id, id, token, attempts, endpoint_no, status, ended_at_ms, started_at_ms, duration_ms,
        status_code, attempts_now, error, response) as (${rowList.text(completedTypes(dialect), rows)})`;
    const record = `queue.entity_id, queue.id, queue.webhook_no, queue.endpoint_no,
      nullif(made.endpoint_no, queue.endpoint_no), queue.created_at_ms, made.ended_at_ms,
      made.started_at_ms, queue.sequence, queue.redelivery_id, made.duration_ms, made.attempts_now,
      made.status, made.status_code, queue.test, made.error, made.response`;
    const { from, where } = rowsOf('queue', 'made', ['entity_id', 'id']);
    const isUsual = `${where} and queue.redeliver = 0 and queue.recorded is null and queue.attempts = made.attempts
      and (queue.token = made.token or made.status = ${STATUS_CODES.delivered})`;
    const insert = `insert into deliveries (${RECORD_COLUMNS})`;
    const end = 'on conflict (entity_id, id) do nothing returning id';
    return movesInOneStatement(dialect)
      ? `${made}, gone as (delete from queue using ${from} where ${isUsual} returning ${record})
         ${insert} select * from gone ${end}`
      : `${made} ${insert} select ${record} from ${from} cross join queue where ${isUsual} ${end}`;
  });
const completeTexts = new WeakMap<Dialect, (rows: number) => string>();

/** Citus can insert the rows of a `select`, but not the rows of a `delete`. */
function movesInOneStatement({ uuid, isDistributed }: Dialect): boolean {
  return uuid === 'uuid' && !isDistributed;
}

const deleteText = textByRows(
  (rows) => `delete from queue where entity_id = $1 and id in ${valuesList(1, rows, 1)} and redeliver = 0`,
);

function textOf(
  texts: WeakMap<Dialect, (rows: number) => string>,
  make: (dialect: Dialect) => (rows: number) => string,
  dialect: Dialect,
): (rows: number) => string {
  const text = texts.get(dialect) ?? make(dialect);
  texts.set(dialect, text);
  return text;
}

/** The common case: the delivery arrived or failed permanently, and no redelivery is requested. */
async function completeTogether(run: Run, made: readonly AttemptRecord[]): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const values: SqlValue[] = [];
  for (const { delivery, outcome, startedAtMs } of made) {
    // The only attempt is kept in the record; where there were more, all of them are in `attempts`.
    const isOnly = fitsRecord(delivery, outcome);
    const arrived = isSuccess(outcome);
    values.push(
      entityKey(dialect, delivery.entityId),
      dialect.bindUuid(hexIn(delivery.deliveryId)),
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
    );
  }
  const rows = await queries.all<{ id: SqlUuid }>(
    textOf(completeTexts, completeText, dialect)(made.length),
    dialect.rowList.bind(completedTypes(dialect), values),
  );
  const completed = rows.length === made.length ? made : thoseIn(dialect, rows, made);
  if (completed.length === 0) return;
  if (!movesInOneStatement(dialect)) await removeFromQueue(run, completed);
  const logged = completed.filter(({ delivery, outcome }) => !fitsRecord(delivery, outcome));
  if (logged.length > 0) await insertAttempts(run, logged);
  for (const { delivery, outcome } of completed) {
    run.recorded.add(delivery.deliveryId);
    counts.completed(delivery, isSuccess(outcome) ? 'delivered' : 'failed');
    if (fitsRecord(delivery, outcome)) counts.response(delivery, outcome);
  }
}

/** One entity at a time: SQLite looks rows up by a list of ids in two thirds of the time that a list of pairs takes. */
async function removeFromQueue({ queries, dialect }: Run, made: readonly AttemptRecord[]): Promise<void> {
  for (const [entityId, some] of Map.groupBy(made, ({ delivery }) => delivery.entityId)) {
    for (const chunk of awaitedChunks(dialect, some)) {
      const ids = chunk.map(({ delivery }) => dialect.bindUuid(hexIn(delivery.deliveryId)));
      await queries.send(deleteText(chunk.length), [entityKey(dialect, entityId), ...ids]);
    }
  }
}

/** The attempts of the deliveries whose rows a statement has returned. */
function thoseIn(
  { hexOf }: Dialect,
  rows: readonly { readonly id: SqlUuid }[],
  made: readonly AttemptRecord[],
): readonly AttemptRecord[] {
  const ids = new Set(rows.map(({ id }) => `dlv_${hexOf(id)}`));
  return made.filter(({ delivery }) => ids.has(delivery.deliveryId));
}

const retriedTypes = ({ uuid }: Dialect) => [uuid, uuid, ...Array<string>(7).fill('bigint'), 'text'];

const retryText = (dialect: Dialect) =>
  textByRows((rows) => {
    const { from, where } = dialect.rowsOf('queue', 'made', ['entity_id', 'id']);
    return `with made (entity_id, id, token, attempts, endpoint_no, generation, steps, due_ms, status_code, error) as
        (${dialect.rowList.text(retriedTypes(dialect), rows)})
      update queue set lease_ms = 0, attempts = queue.attempts + 1, steps = made.steps,
        sent_to_no = nullif(made.endpoint_no, queue.endpoint_no), generation = made.generation, due_ms = made.due_ms, status_code = made.status_code, error = made.error
      from ${from} where ${where} and queue.token = made.token
        and queue.attempts = made.attempts and queue.redeliver = 0 and queue.recorded is null
      returning queue.id as id`;
  });
const retryTexts = new WeakMap<Dialect, (rows: number) => string>();

/** Failures that are tried again by the schedule. */
async function retryTogether(run: Run, made: readonly AttemptRecord[]): Promise<void> {
  const { queries, dialect, counts, nowMs } = run;
  const dueMs = ({ next }: AttemptRecord) => nowMs + (next.delayMs ?? 0);
  const values = made.flatMap((attempt): SqlValue[] => {
    const { delivery, outcome, next } = attempt;
    return [
      ...deliveryKey(dialect, delivery),
      delivery.token,
      delivery.attempts,
      delivery.endpointNo,
      delivery.generation,
      next.steps,
      dueMs(attempt),
      outcome.kind === 'response' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
    ];
  });
  const rows = await queries.all<{ id: SqlUuid }>(
    textOf(retryTexts, retryText, dialect)(made.length),
    dialect.rowList.bind(retriedTypes(dialect), values),
  );
  const retried = thoseIn(dialect, rows, made);
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

function partition<Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(matches), items.filter((item) => !matches(item))];
}
