import { IS_COUNTED_ON } from '../chain/counted-on.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, entityKey, integer, Parameters, readInteger } from '../database/sql.ts';
import { type CountChanges, WHOLE_ENTITY } from '../deliveries/counts/counts.ts';

/**
 * Events that reached no webhook. Three kinds of events without deliveries do not count:
 *
 * - an event that was superseded on arrival
 * - a retraction of an event that no webhook received
 * - an event that may still get deliveries, because it is held for a transaction or a task creates its deliveries
 */

/** The condition of the partial index `events_unmatched`, which lets a list read no other events. */
export const WITHOUT_DELIVERIES = `deliveries = 0 and superseded_by is null and event <> 'EventRetracted'`;

const HAS_UNPUBLISHED_EVENT =
  'exists (select 1 from fact_events e where e.entity_id = f.entity_id and e.fact_id = f.id and e.event_no is null)';

/**
 * `undelivered`: events without deliveries, except superseded events and retractions. `unmatched`: the undelivered
 * events that will get no deliveries.
 */
export type Match = 'matched' | 'unmatched' | 'undelivered';

/** The condition on a row of `events`. */
export function matchCondition(dialect: Dialect, entityId: string, match: Match, parameters: Parameters): string {
  if (match === 'undelivered') return WITHOUT_DELIVERIES;
  const { tasks, held } = waitingEvents(dialect, entityId, parameters);
  const mayFollow = `exists (${tasks} and t.event_no = events.no) or exists (${held} and f.event_no = events.no)`;
  return match === 'matched'
    ? `(not (${WITHOUT_DELIVERIES}) or ${mayFollow})`
    : `${WITHOUT_DELIVERIES} and not (${mayFollow})`;
}

/** Returns the events among these that reached no webhook, as 32 hex digits. All given events have no deliveries. */
export async function unmatchedAmong(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  nos: readonly SqlUuid[],
): Promise<ReadonlySet<string>> {
  if (nos.length === 0) return new Set();
  const parameters = new Parameters(entityKey(dialect, entityId));
  const condition = `no in ${parameters.list(nos)} and ${matchCondition(dialect, entityId, 'unmatched', parameters)}`;
  const rows = await queries.all<{ no: SqlUuid }>(
    `select no from events where entity_id = $1 and ${condition}`,
    parameters.values,
  );
  return new Set(rows.map(({ no }) => dialect.hexOf(no)));
}

/**
 * The table of events that may still get deliveries. It starts with the few events that are held or have a task, and then reads
 * their rows.
 */
export function eventsThatFollow(dialect: Dialect, entityId: string, parameters: Parameters): string {
  const { tasks, held, entity } = waitingEvents(dialect, entityId, parameters);
  const key = { entity_id: entity, no: 'following.event_no' };
  return `(${tasks} union ${held}) following ${dialect.lookUp('cross join', 'events', 'events', key)}`;
}

function waitingEvents(dialect: Dialect, entityId: string, parameters: Parameters) {
  const entity = parameters.bind(entityKey(dialect, entityId));
  const owner = parameters.bind(entityId);
  return {
    entity,
    tasks: `select t.event_no from tasks t where t.entity_id = ${entity} and t.event_no is not null`,
    held: `select f.event_no from facts f where f.entity_id = ${owner} and f.event_no is not null
      and (f.state <> 'final' or ${HAS_UNPUBLISHED_EVENT} or ${IS_COUNTED_ON})`,
  };
}

/** How many events of the entity have no deliveries, by the counter. */
export function countUndelivered(queries: Pick<Queries, 'get'>, entity: SqlUuid): Promise<number> {
  const from = `from queue_counts where entity_id = $1 and webhook_no = ${WHOLE_ENTITY}`;
  return readInteger(queries, 'sum(undelivered)', from, [entity]);
}

const madeColumns = new Columns({ isUndelivered: integer(`case when ${WITHOUT_DELIVERIES} then 1 else 0 end`) });

/** Corrects the number of deliveries of an event, together with the counter. The transaction must have the lock of the event's task. */
export async function setDeliveries(
  queries: Queries,
  changes: CountChanges,
  { entity, eventNo }: { readonly entity: SqlUuid; readonly eventNo: SqlUuid },
  made: number,
): Promise<void> {
  const key = [entity, eventNo];
  const which = 'where entity_id = $1 and no = $2';
  const before = await madeColumns.get(queries, `select ${madeColumns.list} from events ${which}`, key);
  const after = await madeColumns.get(
    queries,
    `update events set deliveries = $3 ${which} returning ${madeColumns.list}`,
    [...key, made],
  );
  changes.undelivered(entity, (after?.isUndelivered ?? 0) - (before?.isUndelivered ?? 0));
}
