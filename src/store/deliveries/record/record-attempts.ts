import { isSuccess } from '../../../domain/attempt.ts';
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
import { type AttemptRecord, insertAttempts, onceEach, type Run } from './attempt-log.ts';
import { completeTogether, textOf, thoseIn } from './complete-together.ts';
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
  // An event that supersedes some of these deliveries locks their rows in the order of ids. Two statements, one for each outcome,
  // would lock them in another order, so all rows are locked first.
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

/** The keys of the deliveries that these attempts may complete. A redelivery ends after one attempt, whatever its outcome. */
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
 * Locks the new keys of deliveries whose webhook moved during the attempt. These keys are locked after all others, so two
 * transactions may wait for each other. Such transactions are repeated.
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

/** Sorts attempts, so that two instances which record the same deliveries lock their rows in the same order. */
function inOrder(made: readonly AttemptRecord[]): AttemptRecord[] {
  return made.toSorted(({ delivery: a }, { delivery: b }) => {
    if (a.entityId !== b.entityId) return a.entityId < b.entityId ? -1 : 1;
    return a.deliveryId < b.deliveryId ? -1 : 1;
  });
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

/** Records failed attempts whose deliveries the schedule retries. */
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
