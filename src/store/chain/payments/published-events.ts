import type { Payment } from '../../../contract/chain/payments.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import { lastDeliveryHex } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger } from '../../database/database.ts';
import { chunks, entityKey, Parameters, type RowOf } from '../../database/sql.ts';
import { STATUS_CODES } from '../../deliveries/states.ts';
import { factEventTable } from '../tables.ts';

/** The events of payments and the state of their deliveries, for a page of payments at once. */

const eventColumns = factEventTable.pick(['factId', 'revision', 'event', 'finality', 'eventNo']);
export type PublishedEvent = RowOf<typeof eventColumns>;

/** The events of each payment, by the id of its fact, without retractions. */
export async function readPublishedEvents(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  factIds: readonly string[],
): Promise<ReadonlyMap<string, PublishedEvent[]>> {
  const from = `from fact_events where entity_id = $1 and event <> '${RETRACTION}' and fact_id in`;
  const found = await eventColumns.allIn(queries, from, [entityId], factIds);
  return Map.groupBy(found, ({ factId }) => factId);
}

export type DeliveryTotals = Payment['deliveries'];

/** Events of one statement: two ranges of ids for each. */
const EVENTS_PER_STATEMENT = 25;

type Counted = { event: SqlInteger; status: SqlInteger | null; deliveries: SqlInteger };

/** The deliveries of each event, by the number of the event in hex. A delivery without a recorded status still waits in the queue. */
export async function countDeliveries(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entityId: string,
  eventNos: readonly string[],
): Promise<ReadonlyMap<string, DeliveryTotals>> {
  const totals = new Map(eventNos.map((no) => [no, { delivered: 0, waiting: 0, failed: 0 }]));
  for (const chunk of chunks(eventNos, EVENTS_PER_STATEMENT)) {
    const parameters = new Parameters(entityKey(dialect, entityId));
    const counts = chunk.flatMap((no, index) => {
      const after = parameters.bind(dialect.bindUuid(no));
      const last = parameters.bind(dialect.bindUuid(lastDeliveryHex(no)));
      const which = `where entity_id = $1 and id > ${after} and id <= ${last}`;
      return [
        `select ${index} as event, status, count(*) as deliveries from deliveries ${which} group by status`,
        `select ${index} as event, recorded as status, count(*) as deliveries from queue ${which} group by recorded`,
      ];
    });
    for (const row of await queries.all<Counted>(counts.join(' union all '), parameters.values)) {
      const total = totals.get(chunk[Number(row.event)] ?? '');
      if (total !== undefined) add(total, row.status === null ? null : Number(row.status), Number(row.deliveries));
    }
  }
  return totals;
}

function add(total: DeliveryTotals, status: number | null, deliveries: number): void {
  if (status === null) total.waiting += deliveries;
  else if (status === STATUS_CODES.delivered) total.delivered += deliveries;
  else if (status === STATUS_CODES.failed) total.failed += deliveries;
}
