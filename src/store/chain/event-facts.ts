import { storedTransactionId } from '../../domain/chain/families/families.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';

/** Finds the facts of events. The number of a held event is in its fact, and the number of any other event in `fact_events`. */

/** The fact that an event is about; null for an event that no network proves, such as an event of an invoice itself. */
export async function findFactOfEvent(
  queries: Pick<Queries, 'get'>,
  { bindUuid }: Dialect,
  entityId: string,
  eventNo: string,
): Promise<string | null> {
  const row = await queries.get<{ id: string }>(
    `select fact_id as id from fact_events
       where entity_id = $1 and event_no = $2 and event_no is not null and fact_id like 'fct_%'
     union all select id from facts where entity_id = $1 and event_no = $2 and event_no is not null limit 1`,
    [entityId, bindUuid(eventNo)],
  );
  return row?.id ?? null;
}

/** Events of one transaction that lists show. A transaction can pay thousands of accounts. */
const MAX_TRANSACTION_EVENTS = 100;

/** The numbers of the newest events about a transaction, as hex. */
export async function findEventsOfTransaction(
  queries: Pick<Queries, 'all'>,
  { hexOf }: Dialect,
  entityId: string,
  transactionHash: string,
): Promise<string[]> {
  const which = 'f.entity_id = $1 and f.transaction_hash = $2';
  const rows = await queries.all<{ no: SqlUuid }>(
    `select no from (
       select e.event_no as no from facts f join fact_events e on e.entity_id = f.entity_id and e.fact_id = f.id
         where ${which} and e.event_no is not null
       union select f.event_no as no from facts f where ${which} and f.event_no is not null
     ) events_of_transaction order by no desc limit ${MAX_TRANSACTION_EVENTS}`,
    [entityId, storedTransactionId(transactionHash) ?? transactionHash],
  );
  return rows.map(({ no }) => hexOf(no));
}
