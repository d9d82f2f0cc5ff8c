import { DomainError } from '../../../domain/errors.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import { MAX_ROUND, roundRange } from '../../../domain/ids.ts';
import { readSubject, roleOf } from '../../../domain/supersession/rules.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, hashKey, nullable, readInteger, text, uuid } from '../../database/sql.ts';
import type { CountChanges } from '../../deliveries/counts/counts.ts';
import { endTask } from '../../deliveries/order/supersede.ts';
import { MAY_BE_RECEIVED, STATUS_CODES } from '../../deliveries/states.ts';
import type { AcceptanceRun, Incoming, NewEvent, RetractedEvent } from '../acceptance.ts';
import { findEventNo } from '../event-ids.ts';
import { startEventTask } from '../fan-out-task.ts';

/**
 * A retraction during acceptance: an event that withdraws another one. Acceptance checks and stores it. A task
 * (`retraction-task.ts`) creates the deliveries, because deliveries in flight must end first.
 */

const originalColumns = new Columns({
  event: text('event'),
  body: text('body'),
  retractedBy: nullable(uuid('outdated_by')),
  retractedById: nullable(
    text('(select r.event_id from events r where r.entity_id = e.entity_id and r.no = e.outdated_by)'),
  ),
});

/** Returns an error if there is no such event, or if it cannot be retracted. */
export async function findRetracted(
  queries: Queries,
  dialect: Dialect,
  { entityId, eventId, retracts, round: given = 0 }: NewEvent,
): Promise<RetractedEvent | DomainError> {
  const retractedId = retracts ?? '';
  const hex = await findEventNo(queries, dialect, entityId, retractedId);
  if (hex === null) return new DomainError('retracted_not_found', { eventId: retractedId });
  const entity = entityKey(dialect, entityId);
  const no = dialect.bindUuid(hex);
  const sql = `select ${originalColumns.list} from events e where entity_id = $1 and no = $2`;
  const original = await originalColumns.get(queries, sql, [entity, no]);
  if (original === undefined) return new DomainError('retracted_not_found', { eventId: retractedId });
  if (original.event === RETRACTION) return new DomainError('retraction_of_retraction', { eventId: retractedId });
  // A repetition of the same retraction is found by its own id, like any other event.
  if (original.retractedBy !== null && (eventId === null || original.retractedById !== eventId)) {
    return new DomainError('already_retracted', { eventId: retractedId });
  }
  const { agreementId, transferId } = JSON.parse(original.body) as Record<string, unknown>;
  const round = given === 0 ? await readRound(queries, entityId, no) : given;
  return {
    no,
    round,
    event: original.event,
    agreementId: readSubject(agreementId),
    transferId: readSubject(transferId),
    receivers: await countReceived(queries, dialect, entity, hex, round),
  };
}

/** The last round in which a held event was or is released; 0 for any other event. */
async function readRound(queries: Queries, entityId: string, no: SqlUuid): Promise<number> {
  const from = 'from facts where entity_id = $1 and event_no = $2 and event_no is not null';
  return Math.min(await readInteger(queries, 'max(revision)', from, [entityId, no]), MAX_ROUND);
}

const OF_EVENT = 'where entity_id = $1 and id > $2 and id <= $3';

/** Counts the deliveries whose receivers may have the original. */
function countReceived(
  queries: Queries,
  { bindUuid }: Dialect,
  entity: SqlUuid,
  eventNo: string,
  round: number,
): Promise<number> {
  const { after, last } = roundRange(eventNo, round);
  return readInteger(
    queries,
    `(select count(*) from deliveries ${OF_EVENT} and status <> ${STATUS_CODES.cancelled} and (attempts > 0 or may_be_received = 1))
     + (select count(*) from queue ${OF_EVENT} and ${MAY_BE_RECEIVED} = 1)`,
    '',
    [entity, bindUuid(after), bindUuid(last)],
  );
}

/** Starts the retraction of the transaction, which has no other event (`Roles`). */
export async function startRetractions({ queries, dialect, order, changes, group }: AcceptanceRun): Promise<void> {
  for (const one of order.accepted) {
    if (one.retracted === undefined || one.event.heldFor != null) continue;
    await startRetraction(queries, dialect, one, one.retracted, changes, group.nowMs);
    group.hasRest = true;
  }
}

/**
 * Ends the retracted event, in the transaction that accepts the retraction: the event no longer supersedes others, gets no more
 * deliveries, and is not sent again. Starts no task if another retraction came first.
 */
async function startRetraction(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo }: Incoming,
  retracted: RetractedEvent,
  changes: CountChanges,
  nowMs: number,
): Promise<void> {
  const entity = entityKey(dialect, event.entityId);
  // Runs first, because a redelivery locks the event too. Either the redelivery is queued before and this task ends it, or it is
  // rejected.
  const marked = await queries.run(
    'update events set outdated_by = $3, retracted_round = $4 where entity_id = $1 and no = $2 and outdated_by is null',
    [entity, retracted.no, dialect.bindUuid(eventNo), event.round ?? 0],
  );
  const role = roleOf(retracted.event, retracted);
  if (role?.kind === 'supersedes') {
    const sql = 'update subjects set event_no = null where entity_id = $1 and subject = $2 and event_no = $3';
    await queries.run(sql, [entity, hashKey(dialect, role.subject), retracted.no]);
  }
  await endTask(queries, changes, { entity, eventNo: retracted.no });
  if (marked === 0) return;
  const agreementId = event.agreementId ?? retracted.agreementId;
  // Without a fact, the event and its retraction get a separate key.
  const factKey = event.factKey ?? `retracted ${dialect.hexOf(retracted.no)}`;
  const task = { event: { ...event, agreementId, factKey }, eventNo, round: retracted.round, subject: retracted.no };
  const progress = { dueMs: nowMs + event.firstDelayMs, made: 0, cursor: '' };
  await startEventTask(queries, dialect, { kind: 'retract', ...task, ...progress });
}
