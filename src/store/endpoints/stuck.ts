import type { OldestStuck } from '../../contract/endpoints/endpoint.ts';
import { endpointNo, eventNumber } from '../../domain/ids.ts';
import type { Database, Queries, SqlInteger, SqlUuid } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';

type FirstRow = { id: SqlUuid; event_no: SqlUuid | null; attempts: SqlInteger; created_at_ms: SqlInteger };

/**
 * Of an endpoint that keeps order, the agreement whose first delivery has waited longest while others wait behind it; null
 * where nothing waits behind another.
 */
export async function readOldestStuck(db: Database, entityId: string, endpointId: string): Promise<OldestStuck | null> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  const no = endpointNo(endpointId);
  return db.longReads.snapshot(async (queries) => {
    const oldest = await queries.get<{ sequence: SqlInteger; waiting: SqlInteger }>(
      `select min(sequence) as sequence, count(*) as waiting from queue
       where entity_id = $1 and endpoint_no = $2 and order_key is not null
       group by order_key having count(*) > 1 order by min(sequence) limit 1`,
      [entity, no],
    );
    if (oldest === undefined) return null;
    const first = await queries.get<FirstRow>(
      `select id, event_no, attempts, created_at_ms from queue
       where entity_id = $1 and endpoint_no = $2 and order_key is not null and sequence = $3`,
      [entity, no, Number(oldest.sequence)],
    );
    if (first === undefined) return null;
    const deliveryHex = dialect.hexOf(first.id);
    const eventNo = first.event_no ?? dialect.bindUuid(eventNumber(deliveryHex));
    return {
      agreementId: await readAgreementId(queries, entity, eventNo),
      deliveryId: `dlv_${deliveryHex}`,
      attempts: Number(first.attempts),
      waiting: Number(oldest.waiting) - 1,
      dateCreated: Math.floor(Number(first.created_at_ms) / 1000),
    };
  });
}

async function readAgreementId(queries: Queries, entity: SqlUuid, eventNo: SqlUuid): Promise<string> {
  const sql = 'select body from events where entity_id = $1 and no = $2';
  const event = await queries.get<{ body: string }>(sql, [entity, eventNo]);
  const { agreementId } = JSON.parse(event?.body ?? '{}') as { agreementId?: unknown };
  return typeof agreementId === 'string' ? agreementId : '';
}
