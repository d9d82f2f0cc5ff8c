import { RETRACTION } from '../../../domain/event-kinds.ts';
import { lastDeliveryHex } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, uuid } from '../../database/sql.ts';
import { endRedeliveries } from '../../deliveries/redeliver/end.ts';

/** A payment that has returned: its fact, with a revision above 1. */
export type Returned = { readonly entityId: string; readonly factId: string; readonly revision: number };

const numberColumns = new Columns({ no: uuid('event_no') });
const idColumns = new Columns({ id: uuid('id') });

/**
 * The retractions of a payment are outdated once the payment is published again. Paybell rejects redeliveries of them, and
 * ends those that wait, because a retraction would otherwise be the last request that a receiver gets.
 */
export async function outdateRetractions(
  queries: Queries,
  dialect: Dialect,
  { entityId, factId, revision }: Returned,
  byNo: SqlUuid,
  nowMs: number,
): Promise<void> {
  if (revision < 2) return;
  const retractions = await numberColumns.all(
    queries,
    `select ${numberColumns.list} from fact_events
     where entity_id = $1 and fact_id = $2 and revision < $3 and event = $4 and event_no is not null order by event_no`,
    [entityId, factId, revision, RETRACTION],
  );
  const entity = entityKey(dialect, entityId);
  for (const { no } of retractions) {
    const sql = 'update events set outdated_by = $3 where entity_id = $1 and no = $2 and outdated_by is null';
    if ((await queries.run(sql, [entity, no, byNo])) === 0) continue;
    const last = dialect.bindUuid(lastDeliveryHex(dialect.hexOf(no)));
    const waiting = await idColumns.all(
      queries,
      `select ${idColumns.list} from queue where entity_id = $1 and id > $2 and id <= $3 and recorded is not null`,
      [entity, no, last],
    );
    await endRedeliveries(queries, dialect, entityId, waiting, nowMs);
  }
}
