import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, chunks, entityKey, text, uuid, valuesList } from '../../database/sql.ts';

/**
 * Events that may still be retracted. A retraction goes to the webhooks that the deliveries of its event name, so that retention
 * keeps these, however old they are. On a network that does not say what is final, payments below all anchors stay as they are.
 */

const IS_LOST = `f.state = 'lost'`;
const CAN_BE_LOST = `f.state = 'seen' and (
  exists (select 1 from chains c where c.network_id = f.network_id and c.final is not null)
  or f.block_number >= (select min(a.number) from chain_anchors a where a.network_id = f.network_id))`;
/** An event of the payment waits for its acceptance. It may be the retraction. */
const IS_UNPUBLISHED = `exists (select 1 from fact_events r
  where r.entity_id = e.entity_id and r.fact_id = e.fact_id and r.event_no is null)`;

const eventColumns = new Columns({ no: uuid('e.event_no') });
const subjectColumns = new Columns({ no: uuid('subject') });

/** Which of these events, by their numbers as hex digits. */
export async function findRetractable(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  eventNos: Iterable<string>,
): Promise<Set<string>> {
  const found: { readonly no: SqlUuid }[] = [];
  for (const chunk of chunks([...new Set(eventNos)].map(dialect.bindUuid))) {
    const list = valuesList(1, chunk.length, 1);
    const payments = await eventColumns.all(
      queries,
      `select ${eventColumns.list} from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
       where e.entity_id = $1 and e.event_no in ${list} and (${IS_LOST} or ${CAN_BE_LOST} or ${IS_UNPUBLISHED})`,
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

const ofEntityColumns = new Columns({ entityId: text('e.entity_id'), no: uuid('e.event_no') });

/** The payments among them, of all entities. Reads the payments that are not final, and not all events. */
export function readRetractable(
  queries: Pick<Queries, 'all'>,
  isInRange: (column: string) => string,
  limit: number,
): Promise<{ entityId: string; no: SqlUuid }[]> {
  return ofEntityColumns.all(
    queries,
    `with undone (entity_id, fact_id) as (
       select f.entity_id, f.id from facts f where ${IS_LOST}
       union select f.entity_id, f.id from facts f where ${CAN_BE_LOST}
       union select r.entity_id, r.fact_id from fact_events r where r.event_no is null)
     select ${ofEntityColumns.list} from undone u join fact_events e on e.entity_id = u.entity_id and e.fact_id = u.fact_id
     where ${isInRange('e.event_no')} limit ${limit}`,
  );
}
