import { RETRACTION } from '../../../domain/event-kinds.ts';
import { lastDeliveryHex } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, uuid } from '../../database/sql.ts';
import { lockKeys, type OrderKey, type Promotion, settleKeys } from '../../deliveries/order/order-keys.ts';
import { endRedeliveries } from '../../deliveries/redeliver/end.ts';
import { queueTable } from '../../deliveries/tables.ts';
import type { AcceptanceRun, Outdated, Returned } from '../acceptance.ts';

const numberColumns = new Columns({ no: uuid('event_no') });
const waitingColumns = queueTable.pick(['id', 'orderKey']);

/** Outdates the retractions of payments that the new events publish again. */
export async function outdateReturned(run: AcceptanceRun): Promise<void> {
  const { queries, dialect } = run;
  const outdated: Outdated[] = [];
  for (const { event, eventNo } of run.added) {
    if (event.returned == null) continue;
    outdated.push(...(await outdateRetractions(queries, dialect, event.returned, dialect.bindUuid(eventNo))));
  }
  run.outdated = outdated;
}

/**
 * Outdates the retractions of a payment that is published again, so that Paybell rejects redeliveries of them. Returns the
 * redeliveries that are in the queue, which `endOutdated` ends.
 */
export async function outdateRetractions(
  queries: Queries,
  dialect: Dialect,
  { entityId, factId, revision }: Returned,
  byNo: SqlUuid,
): Promise<Outdated[]> {
  if (revision < 2) return [];
  const retractions = await numberColumns.all(
    queries,
    `select ${numberColumns.list} from fact_events
     where entity_id = $1 and fact_id = $2 and revision < $3 and event = $4 and event_no is not null order by event_no`,
    [entityId, factId, revision, RETRACTION],
  );
  const entity = entityKey(dialect, entityId);
  const outdated: Outdated[] = [];
  for (const { no } of retractions) {
    const sql = 'update events set outdated_by = $3 where entity_id = $1 and no = $2 and outdated_by is null';
    if ((await queries.run(sql, [entity, no, byNo])) === 0) continue;
    const last = dialect.bindUuid(lastDeliveryHex(dialect.hexOf(no)));
    const waiting = await waitingColumns.all(
      queries,
      `select ${waitingColumns.list} from queue where entity_id = $1 and id > $2 and id <= $3 and recorded is not null`,
      [entity, no, last],
    );
    outdated.push(...waiting.map((row) => ({ entityId, ...row })));
  }
  return outdated;
}

/**
 * Ends the redeliveries that no instance has claimed. `joined` are the keys that the caller needs next: they are locked together
 * with the keys of the redeliveries, in one order. A redelivery in flight keeps its turn, and the payment waits for it.
 */
export async function endOutdated(
  queries: Queries,
  dialect: Dialect,
  outdated: readonly Outdated[],
  joined: readonly OrderKey[],
  nowMs: number,
): Promise<Promotion[]> {
  if (outdated.length === 0) return [];
  const keys = outdated.flatMap(({ entityId, orderKey: key }): OrderKey[] =>
    key === null ? [] : [{ entity: entityKey(dialect, entityId), key }],
  );
  await lockKeys(queries, dialect, [...keys, ...joined]);
  for (const [entityId, rows] of Map.groupBy(outdated, (row) => row.entityId)) {
    await endRedeliveries(queries, dialect, entityId, rows, nowMs);
  }
  return settleKeys(queries, dialect, keys, nowMs);
}
