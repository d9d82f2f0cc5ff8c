import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { Columns, chunks, entityKey, nullable, type RowOf, uuid, valuesList } from '../../database/sql.ts';
import { waitingColumns } from '../order/supersede.ts';
import { WITHOUT_ATTEMPT } from '../states.ts';

const endedColumns = new Columns({
  ...waitingColumns.shape,
  redeliveryId: nullable(uuid('redelivery_id')),
});
type Ended = RowOf<typeof endedColumns>;

/**
 * Ends redeliveries that no instance has claimed. Their deliveries return to the completed deliveries with their earlier status,
 * and a bulk redelivery counts them as skipped. Returns the deliveries.
 */
export async function endRedeliveries(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  rows: readonly { readonly id: SqlUuid }[],
  nowMs: number,
): Promise<Ended[]> {
  const entity = entityKey(dialect, entityId);
  const ended: Ended[] = [];
  for (const chunk of chunks(rows)) {
    const found = await endedColumns.all(
      queries,
      `select ${endedColumns.list} from queue where entity_id = $1 and lease_ms <= $2 and recorded is not null
         and id in ${valuesList(1, chunk.length, 2)} order by id ${dialect.lockRow}`,
      [entity, dialect.leaseClock.endedBy(nowMs), ...chunk.map(({ id }) => id)],
    );
    if (found.length === 0) continue;
    const which = `entity_id = $1 and id in ${valuesList(1, found.length, 1)}`;
    const key: SqlValue[] = [entity, ...found.map(({ id }) => id)];
    await queries.run(
      `insert into deliveries (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence,
         attempts, status, status_code, test, error, superseded_by, may_be_received)
       select entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence, attempts, recorded,
         status_code, test, error, superseded_by, ${WITHOUT_ATTEMPT}
       from queue where ${which}`,
      key,
    );
    await queries.run(`delete from queue where ${which}`, key);
    ended.push(...found);
  }
  await countSkipped(queries, dialect, entityId, ended);
  return ended;
}

async function countSkipped(
  queries: Queries,
  { hexOf }: Dialect,
  entityId: string,
  ended: readonly Ended[],
): Promise<void> {
  const asked = ended.flatMap(({ redeliveryId }) => (redeliveryId === null ? [] : `rdl_${hexOf(redeliveryId)}`));
  for (const [id, group] of Map.groupBy(asked, (one) => one)) {
    await queries.run('update redeliveries set queued = queued - $3 where entity_id = $1 and id = $2', [
      entityId,
      id,
      group.length,
    ]);
  }
}
