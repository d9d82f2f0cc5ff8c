import type { Queries } from '../../database/database.ts';
import { type RowOf, readInteger } from '../../database/sql.ts';
import { factTable, networkTable } from '../tables.ts';

/** Facts as an audit compares them with a node. */

const auditedColumns = factTable.pick([
  'entityId',
  'factId',
  'sourceId',
  'state',
  'transactionHash',
  'contract',
  'blockNumber',
  'blockHash',
  'logIndex',
  'isPayment',
  'isDisputed',
  'token',
  'amount',
]);
export type AuditedFact = RowOf<typeof auditedColumns>;

/** The facts of these blocks that were read from logs. */
export function readFactsOfBlocks(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  from: number,
  to: number,
): Promise<AuditedFact[]> {
  return auditedColumns.all(
    queries,
    `select ${auditedColumns.list} from facts
     where network_id = $1 and block_number between $2 and $3 and event_no is null`,
    [networkId, from, to],
  );
}

type Key = Pick<AuditedFact, 'entityId' | 'factId'>;

/** The facts with these ids, in whatever block they are. */
export async function readFactsById(queries: Pick<Queries, 'all'>, keys: readonly Key[]): Promise<AuditedFact[]> {
  const named = keys.map(({ entityId, factId }) => [entityId, factId]);
  return auditedColumns.allIn(queries, 'from facts where (entity_id, id) in', [], named);
}

const finalColumns = networkTable.pick(['final']);

/** The newest block that Paybell calls final. Null if Paybell does not follow the network, or before the first final block. */
export async function readFinalBlock(queries: Pick<Queries, 'get'>, networkId: number): Promise<number | null> {
  const sql = `select ${finalColumns.list} from chains where network_id = $1`;
  const row = await queries.get<{ final: number | string | null }>(sql, [networkId]);
  return row?.final == null ? null : Number(row.final);
}

export function countPausedSources(queries: Pick<Queries, 'get'>, networkId: number): Promise<number> {
  return readInteger(queries, 'count(*)', 'from sources where network_id = $1 and paused_at_ms is not null', [
    networkId,
  ]);
}
