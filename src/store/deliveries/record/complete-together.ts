import { fitsRecord, isSuccess } from '../../../domain/attempt.ts';
import { hexIn } from '../../../domain/ids.ts';
import type { Dialect, SqlUuid, SqlValue } from '../../database/database.ts';
import { awaitedChunks, entityKey, textByRows, valuesList } from '../../database/sql.ts';
import { STATUS_CODES } from '../states.ts';
import { type AttemptRecord, insertAttempts, RECORD_COLUMNS, type Run } from './attempt-log.ts';

/** Completes many deliveries at once: their rows move from `queue` to `deliveries`. */

const completedTypes = ({ uuid }: Dialect) => [uuid, uuid, ...Array<string>(9).fill('bigint'), 'text', 'text'];

/**
 * The list of attempts, and the condition for the rows of the queue that they complete: a row in its usual state and, for a
 * failure, under the newest claim.
 */
function completedRows(dialect: Dialect, rows: number) {
  const { from, where } = dialect.rowsOf('queue', 'made', ['entity_id', 'id']);
  return {
    made: `with made (entity_id, id, token, attempts, endpoint_no, status, ended_at_ms, started_at_ms, duration_ms,
        status_code, attempts_now, error, response) as (${dialect.rowList.text(completedTypes(dialect), rows)})`,
    from,
    isUsual: `${where} and queue.redeliver = 0 and queue.recorded is null and queue.attempts = made.attempts
      and (queue.token = made.token or made.status = ${STATUS_CODES.delivered})`,
  };
}

/** PostgreSQL moves the rows in one statement, so that none is in both tables or in neither. */
const completeText = (dialect: Dialect) =>
  textByRows((rows) => {
    const { made, from, isUsual } = completedRows(dialect, rows);
    const record = `queue.entity_id, queue.id, queue.webhook_no, queue.endpoint_no,
      nullif(made.endpoint_no, queue.endpoint_no), queue.created_at_ms, made.ended_at_ms,
      made.started_at_ms, queue.sequence, queue.redelivery_id, made.duration_ms, made.attempts_now,
      made.status, made.status_code, queue.test, made.error, made.response`;
    const insert = `insert into deliveries (${RECORD_COLUMNS})`;
    const end = 'on conflict (entity_id, id) do nothing';
    return movesInOneStatement(dialect)
      ? `${made}, gone as (delete from queue using ${from} where ${isUsual} returning ${record})
         ${insert} select * from gone ${end} returning id`
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

/** The text for a dialect, which is written once. */
export function textOf(
  texts: WeakMap<Dialect, (rows: number) => string>,
  make: (dialect: Dialect) => (rows: number) => string,
  dialect: Dialect,
): (rows: number) => string {
  const text = texts.get(dialect) ?? make(dialect);
  texts.set(dialect, text);
  return text;
}

/** The common case: the delivery arrived or failed permanently, and no redelivery is requested. */
export async function completeTogether(run: Run, made: readonly AttemptRecord[]): Promise<void> {
  const { dialect, counts, nowMs } = run;
  const values: SqlValue[] = [];
  for (const { delivery, outcome, startedAtMs } of made) {
    // A single attempt is stored in the row of its delivery. If there were more, `attempts` has all of them.
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
  const completed = await insertCompleted(run, made, dialect.rowList.bind(completedTypes(dialect), values));
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

/**
 * Returns the attempts whose deliveries it inserted. SQLite only counts them, because `returning` takes a quarter of the
 * statement's time.
 */
async function insertCompleted(
  { queries, dialect }: Run,
  made: readonly AttemptRecord[],
  values: readonly SqlValue[],
): Promise<readonly AttemptRecord[]> {
  const text = textOf(completeTexts, completeText, dialect)(made.length);
  const isMoved = movesInOneStatement(dialect);
  const moved = isMoved ? await queries.all<{ id: SqlUuid }>(text, values) : [];
  const inserted = isMoved ? moved.length : await queries.run(text, values);
  if (inserted === made.length) return made;
  if (inserted === 0) return [];
  if (isMoved) return thoseIn(dialect, moved, made);
  const { made: list, from, isUsual } = completedRows(dialect, made.length);
  const select = `${list} select queue.id from ${from} cross join queue where ${isUsual}`;
  const usual = await queries.all<{ id: SqlUuid }>(select, values);
  // After this error each attempt is recorded alone, and the counts then show which delivery is affected.
  if (usual.length !== inserted) throw new Error('deliveries are in the queue and recorded at once');
  return thoseIn(dialect, usual, made);
}

/** Deletes rows entity by entity, because SQLite looks rows up by a list of ids in two thirds of the time that a list of pairs takes. */
async function removeFromQueue({ queries, dialect }: Run, made: readonly AttemptRecord[]): Promise<void> {
  for (const [entityId, some] of Map.groupBy(made, ({ delivery }) => delivery.entityId)) {
    for (const chunk of awaitedChunks(dialect, some)) {
      const ids = chunk.map(({ delivery }) => dialect.bindUuid(hexIn(delivery.deliveryId)));
      await queries.send(deleteText(chunk.length), [entityKey(dialect, entityId), ...ids]);
    }
  }
}

/** The attempts of the deliveries whose rows a statement has returned. */
export function thoseIn(
  { hexOf }: Dialect,
  rows: readonly { readonly id: SqlUuid }[],
  made: readonly AttemptRecord[],
): readonly AttemptRecord[] {
  const ids = new Set(rows.map(({ id }) => `dlv_${hexOf(id)}`));
  return made.filter(({ delivery }) => ids.has(delivery.deliveryId));
}
