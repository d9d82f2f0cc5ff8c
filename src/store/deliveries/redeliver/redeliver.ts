import { DomainError } from '../../../domain/errors.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import { eventNumber, hexOfId, roundOfHex } from '../../../domain/ids.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  type RowOf,
  text,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { RETRACTED_BY_ID } from '../../events/read.ts';
import { CountChanges, STORED_BYTES } from '../counts/counts.ts';
import { repeatIfHeadChanged, requireUnchangedHeads } from '../head-locks.ts';
import { BLOCKED, wakeHeads } from '../heads.ts';
import { settleKeys } from '../order/order-keys.ts';
import { headTable } from '../tables.ts';
import { findRejoining, keysOf, takePlaces, writePlaces } from './rejoin.ts';

/**
 * Sends deliveries again. A waiting delivery gets one more request (`redeliver`). A completed delivery returns to the queue with
 * its status (`recorded`), and joins its order key again if it is about a payment. The dispatcher sends both within the limits of
 * their destination, like any other attempt.
 */

const headColumns = headTable.pick(['webhookNo', 'webhookId', 'blocked']);

/** Returns false when there is no such delivery. */
export function redeliver(db: Database, entityId: string, deliveryId: string): Promise<boolean> {
  const { dialect } = db;
  const hex = hexOfId('dlv', deliveryId);
  if (hex === null) return Promise.resolve(false);
  const work = async (queries: Queries) => {
    const entity = entityKey(dialect, entityId);
    const id = dialect.bindUuid(hex);
    const head = await headColumns.get(
      queries,
      `select ${headColumns.of('h.')}
       from (select webhook_no from queue where entity_id = $1 and id = $2
             union all select webhook_no from deliveries where entity_id = $1 and id = $2) d
       cross join queue_heads h where h.entity_id = $1 and h.webhook_no = d.webhook_no limit 1`,
      [entity, id],
    );
    if (head === undefined) return false;
    requireOpen(entityId, head);
    await rejectOutdated(queries, dialect, entity, id);
    // False if retention has removed the delivery since it was found.
    return (await queueAgain(queries, dialect, entityId, [{ id, webhookNo: head.webhookNo }], null)) > 0;
  };
  return repeatIfHeadChanged(() => db.transaction(work));
}

function requireOpen(entityId: string, { webhookNo, webhookId, blocked }: RowOf<typeof headColumns>): void {
  if ((blocked & BLOCKED.deleted) !== 0) {
    throw webhookNo < 0
      ? new DomainError('alerts_off', { entityId })
      : new DomainError('webhook_deleted', { webhookId });
  }
  if ((blocked & BLOCKED.suspended) !== 0) throw new DomainError('webhook_suspended', { webhookId });
}

/** Throws if the delivery's event is outdated, because such an event is not sent again. */
async function rejectOutdated(queries: Queries, dialect: Dialect, entity: SqlUuid, id: SqlUuid): Promise<void> {
  const error = (await findOutdated(queries, dialect, entity, [id])).get(dialect.hexOf(id));
  if (error !== undefined) throw error;
}

const eventColumns = new Columns({
  no: uuid('no'),
  event: text('event'),
  eventId: nullable(text('event_id')),
  retractedRound: nullable(integer('retracted_round')),
  outdatedBy: nullable(uuid('outdated_by')),
  outdatedById: nullable(text(RETRACTED_BY_ID)),
});
type EventRow = RowOf<typeof eventColumns>;

/**
 * Locks the events of the deliveries, so that none is retracted before the commit of the caller. Returns the error for each
 * delivery whose event is outdated, by its hex digits.
 */
export async function findOutdated(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  ids: readonly SqlUuid[],
): Promise<Map<string, DomainError>> {
  const { hexOf, bindUuid, lockRow } = dialect;
  const deliveries = ids.map(hexOf);
  const numbers = [...new Set(deliveries.map(eventNumber))].map(bindUuid);
  const from = 'from events where entity_id = $1 and no in';
  const rows = await eventColumns.allIn(queries, from, [entity], numbers, `order by no ${lockRow}`);
  const byNo = new Map(rows.map((row) => [hexOf(row.no), row]));
  const found = new Map<string, DomainError>();
  for (const hex of deliveries) {
    const error = errorOf(dialect, byNo.get(eventNumber(hex)), roundOfHex(hex));
    if (error !== null) found.set(hex, error);
  }
  return found;
}

function errorOf({ hexOf }: Dialect, row: EventRow | undefined, round: number): DomainError | null {
  if (row === undefined) return null;
  const { no, event, outdatedBy, outdatedById, retractedRound } = row;
  const eventId = row.eventId ?? `evt_${hexOf(no)}`;
  const isRetracted = retractedRound !== null && round > 0 && round <= retractedRound;
  if (outdatedBy === null) return isRetracted ? new DomainError('event_retracted', { eventId }) : null;
  return event === RETRACTION
    ? new DomainError('event_outdated', { eventId, outdatedBy: outdatedById ?? `evt_${hexOf(outdatedBy)}` })
    : new DomainError('event_retracted', { eventId });
}

const bytesColumns = new Columns({ bytes: integer() });

export type Target = { id: SqlUuid; webhookNo: number };

/**
 * Queues deliveries again in the caller's transaction. The caller has checked that their webhooks may send. Returns how
 * many it queued.
 */
export async function queueAgain(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  targets: readonly Target[],
  redeliveryId: SqlUuid | null,
): Promise<number> {
  const entity = entityKey(dialect, entityId);
  const nowMs = await readNowMs(queries, dialect);
  const counts = new CountChanges(dialect, 'completion');
  let queued = 0;
  const rejoining = await findRejoining(
    queries,
    dialect,
    entityId,
    targets.map(({ id }) => id),
  );
  const places = await takePlaces(queries, dialect, rejoining);
  for (const chunk of chunks(targets)) {
    const which = `entity_id = $1 and id in ${valuesList(1, chunk.length, 3)}`;
    const parameters: SqlValue[] = [entity, nowMs, redeliveryId, ...chunk.map(({ id }) => id)];
    // Locks the rows first, so that the statements below agree on where each delivery is. Another redelivery may be moving a
    // delivery into the queue, and retention may be removing it.
    await queries.all(
      `select id from deliveries where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}
       order by id ${dialect.lockRow}`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    // A claimed delivery keeps its due time. When its attempt is recorded, the count in `redeliver` makes it due.
    queued += await queries.run(
      `update queue set redeliver = redeliver + 1, redelivery_id = coalesce($3, redelivery_id),
         scheduled_ms = case when recorded is null then coalesce(scheduled_ms, due_ms) end,
         due_ms = case when lease_ms > $2 then due_ms else $2 end
       where ${which}`,
      parameters,
    );
    // Copies the only attempt of a completed delivery from its row, which is deleted below.
    const logged = await bytesColumns.all(
      queries,
      `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error,
         response)
       select d.entity_id, d.id, 1, case when d.test is null then 'first' else 'test' end, e.post_url, d.started_at_ms,
         d.duration_ms, d.status_code, d.error, d.response
       from deliveries d join endpoints e on e.entity_id = d.entity_id and e.no = coalesce(d.sent_to_no, d.endpoint_no)
       where d.entity_id = $1 and d.id in ${valuesList(1, chunk.length, 1)} and d.started_at_ms is not null
       on conflict (entity_id, delivery_id, attempt) do nothing returning ${STORED_BYTES.attempt} as bytes`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    queued += await queries.run(
      `insert into queue (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, due_ms, ended_at_ms, sequence,
         redelivery_id, generation, attempts, redeliver, recorded, test, status_code, error, superseded_by,
         may_be_received)
       select d.entity_id, d.id, d.webhook_no, d.endpoint_no, d.sent_to_no, d.created_at_ms, $2, d.ended_at_ms, d.sequence,
         coalesce($3, d.redelivery_id), h.generation, d.attempts, 1, d.status, d.test, d.status_code, d.error,
         d.superseded_by, case when d.attempts > 0 or d.may_be_received = 1 then 1 else 0 end
       from deliveries d join queue_heads h on h.entity_id = d.entity_id and h.webhook_no = d.webhook_no
       where d.entity_id = $1 and d.id in ${valuesList(1, chunk.length, 3)}`,
      parameters,
    );
    const removed = await bytesColumns.all(
      queries,
      `delete from deliveries where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}
       returning ${STORED_BYTES.queued} - (${STORED_BYTES.record}) as bytes`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    for (const { bytes } of [...logged, ...removed]) counts.stored(entity, bytes);
  }
  await writePlaces(queries, dialect, places);
  // Another redelivery may have queued a delivery first. Then the turn that was drawn here stays unused.
  const promoted = await settleKeys(queries, dialect, keysOf(dialect, rejoining), nowMs);
  await requireUnchangedHeads(
    queries,
    dialect,
    rejoining.filter(({ agreement }) => agreement !== null),
    targets.map(({ webhookNo }) => ({ entityId, webhookNo })),
  );
  const wakes = targets.map(({ webhookNo }) => ({ entityId, webhookNo, atMs: nowMs, isWaiting: true }));
  await wakeHeads(queries, dialect, [...wakes, ...promoted]);
  await counts.write(queries);
  return queued;
}
