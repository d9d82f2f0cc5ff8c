import type { OldestStuck } from '../../contract/endpoints/endpoint.ts';
import { endpointNo, eventNumber } from '../../domain/ids.ts';
import type { Database, Queries, SqlUuid } from '../database/database.ts';
import { Columns, entityKey, integer, seconds, text, uuid } from '../database/sql.ts';

const oldestColumns = new Columns({ sequence: integer('min(sequence)'), waiting: integer('count(*)') });

const firstColumns = new Columns({
  id: uuid('id'),
  attempts: integer('attempts'),
  dateCreated: seconds('created_at_ms'),
});

const bodyColumns = new Columns({ body: text('body') });

/**
 * Of an endpoint that keeps order, the agreement whose first delivery has waited longest while others wait behind it; null
 * where nothing waits behind another.
 */
export async function readOldestStuck(db: Database, entityId: string, endpointId: string): Promise<OldestStuck | null> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  const no = endpointNo(endpointId);
  return db.longReads.snapshot(async (queries) => {
    const oldest = await oldestColumns.get(
      queries,
      `select ${oldestColumns.list} from queue
       where entity_id = $1 and endpoint_no = $2 and order_key is not null
       group by order_key having count(*) > 1 order by min(sequence) limit 1`,
      [entity, no],
    );
    if (oldest === undefined) return null;
    const first = await firstColumns.get(
      queries,
      `select ${firstColumns.list} from queue
       where entity_id = $1 and endpoint_no = $2 and order_key is not null and sequence = $3`,
      [entity, no, oldest.sequence],
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
