import type { OldestStuck } from '../../contract/endpoints/endpoint.ts';
import { endpointNo, eventNumber } from '../../domain/ids.ts';
import { type Database, longReadsOf, type Queries, type SqlUuid } from '../database/database.ts';
import { Columns, entityKey, integer, seconds, uuid } from '../database/sql.ts';
import { eventTable } from '../tables.ts';

const oldestColumns = new Columns({ key: uuid('q.order_key'), waiting: integer('count(*)') });

const firstColumns = new Columns({
  id: uuid('id'),
  attempts: integer('attempts'),
  dateCreated: seconds('created_at_ms'),
});

const bodyColumns = eventTable.pick(['body']);

/**
 * Finds the agreement whose first delivery has waited longest while other deliveries wait behind it, at an endpoint with
 * ordering. Null if no delivery waits behind another.
 */
export async function readOldestStuck(db: Database, entityId: string, endpointId: string): Promise<OldestStuck | null> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  const no = endpointNo(endpointId);
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const oldest = await oldestColumns.get(
      queries,
      `select ${oldestColumns.list} from queue q
       join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no
       where q.entity_id = $1 and q.order_key is not null and q.agreement_hash is not null
         and h.endpoint_no = $2 and h.ordering <> 0
       group by q.order_key having count(*) > 1 order by min(q.created_at_ms), q.order_key limit 1`,
      [entity, no],
    );
    if (oldest === undefined) return null;
    const first = await firstColumns.get(
      queries,
      `select ${firstColumns.list} from queue
       where entity_id = $1 and order_key = $2 and order_key is not null order by turn limit 1`,
      [entity, oldest.key],
    );
    if (first === undefined) return null;
    const deliveryHex = dialect.hexOf(first.id);
    const eventNo = dialect.bindUuid(eventNumber(deliveryHex));
    return {
      agreementId: await readAgreementId(queries, entity, eventNo),
      deliveryId: `dlv_${deliveryHex}`,
      attempts: first.attempts,
      waiting: oldest.waiting - 1,
      dateCreated: first.dateCreated,
    };
  });
}

async function readAgreementId(queries: Queries, entity: SqlUuid, eventNo: SqlUuid): Promise<string> {
  const sql = `select ${bodyColumns.list} from events where entity_id = $1 and no = $2`;
  const event = await bodyColumns.get(queries, sql, [entity, eventNo]);
  const { agreementId } = JSON.parse(event?.body ?? '{}') as { agreementId?: unknown };
  return typeof agreementId === 'string' ? agreementId : '';
}
