import { COUNTED_BLOCKS, IS_COUNTED_ON } from '../../chain/counted-on.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, chunks, entityKey, text, uuid, valuesList } from '../../database/sql.ts';

/**
 * Events that may still be retracted, or for which a webhook still waits. Retention keeps them and their deliveries, however old
 * they are: a retraction goes to the webhooks that the event's deliveries name, and a held event may get more deliveries. On a
 * network that does not say what is final, payments below all anchors stay as they are.
 */

const IS_LOST = `f.state = 'lost'`;
const CAN_BE_LOST = `f.state = 'seen' and (
  exists (select 1 from chains c where c.network_id = f.network_id and c.final is not null)
  or f.block_number >= (select min(a.number) from chain_anchors a where a.network_id = f.network_id))`;
/** An event of the payment is not accepted yet, and it may be the retraction. */
const IS_UNPUBLISHED = `exists (select 1 from fact_events r
  where r.entity_id = f.entity_id and r.fact_id = f.id and r.event_no is null)`;

const eventColumns = new Columns({ no: uuid('event_no') });
const subjectColumns = new Columns({ no: uuid('subject') });

/** Returns the events among these that retention must keep, by their numbers as hex digits. */
export async function findRetractable(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  eventNos: Iterable<string>,
): Promise<Set<string>> {
  const found: { readonly no: SqlUuid }[] = [];
  for (const chunk of chunks([...new Set(eventNos)].map(dialect.bindUuid))) {
    const list = valuesList(1, chunk.length, 1);
    const isOpen = `(${IS_LOST} or ${CAN_BE_LOST} or ${IS_UNPUBLISHED} or ${IS_COUNTED_ON})`;
    const payments = await eventColumns.all(
      queries,
      `select ${eventColumns.list} from (
         select e.event_no from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
           where e.entity_id = $1 and e.event_no in ${list} and ${isOpen}
         union all select f.event_no from facts f
           where f.entity_id = $1 and f.event_no is not null and f.event_no in ${list} and ${isOpen}) of_payments`,
      [entityId, ...chunk],
    );
    const retracted = await subjectColumns.all(
      queries,
      `select ${subjectColumns.list} from tasks where entity_id = $1 and kind = 'retract' and subject in ${list}`,
      [entityKey(dialect, entityId), ...chunk],
    );
    found.push(...payments, ...retracted);
  }
  return new Set(found.map(({ no }) => dialect.hexOf(no)));
}

const ofEntityColumns = new Columns({ entityId: text('entity_id'), no: uuid('event_no') });

/** Reads events of undecided payments in a range, of all entities. It starts with these payments, and does not read all events. */
export function readRetractable(
  queries: Pick<Queries, 'all'>,
  isInRange: (column: string) => string,
  limit: number,
): Promise<{ entityId: string; no: SqlUuid }[]> {
  return ofEntityColumns.all(
    queries,
    `with undecided (entity_id, fact_id) as (
       select f.entity_id, f.id from facts f where ${IS_LOST}
       union select f.entity_id, f.id from facts f where ${CAN_BE_LOST}
       union select f.entity_id, f.id from chains h
         join facts f on f.network_id = h.network_id and f.block_number > h.head - ${COUNTED_BLOCKS} where ${IS_COUNTED_ON}
       union select r.entity_id, r.fact_id from fact_events r where r.event_no is null)
     select ${ofEntityColumns.list} from (
       select e.entity_id, e.event_no from undecided u
         join fact_events e on e.entity_id = u.entity_id and e.fact_id = u.fact_id
       union select f.entity_id, f.event_no from undecided u
         join facts f on f.entity_id = u.entity_id and f.id = u.fact_id and f.event_no is not null) of_payments
     where ${isInRange('event_no')} limit ${limit}`,
  );
}
