import { hexIn } from '../../../domain/ids.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { chunks, valuesList } from '../../database/sql.ts';
import { type Progress, type StepTools, startTask, type Task } from '../../tasks/tasks.ts';
import { dropEmptyBooks } from '../invoices/book.ts';
import { sourceAddressTable } from '../tables.ts';

/** Deletes rows of address books that count for no block, or whose source is gone. */

const removedColumns = sourceAddressTable.pick(['address', 'entityId', 'sourceId']);
const MAX_DROPPED = 500;

/** Whether the source has read all blocks for which the address counts. A paused source reads the blocks of its pause later. */
const IS_READ = `exists (select 1 from sources s where s.entity_id = a.entity_id and s.id = a.source_id
  and s.paused_at_ms is null and (s.next_block > a.until_block or s.next_block > s.last_block))`;

/** Removes rows whose blocks are all final and read. Runs in the transaction that takes the lease of the network. */
export async function dropRemoved(queries: Queries, networkId: number, final: number | null): Promise<void> {
  if (final === null) return;
  const rows = await removedColumns.all(
    queries,
    `select ${removedColumns.of('a.')} from source_addresses a
     where a.network_id = $1 and a.until_block <= $2 and ${IS_READ} limit ${MAX_DROPPED}`,
    [networkId, final],
  );
  if (rows.length === 0) return;
  for (const chunk of chunks(rows)) {
    const keys = valuesList(chunk.length, 3, 1);
    await queries.run(
      `delete from source_addresses where network_id = $1 and (address, entity_id, source_id) in (values ${keys})`,
      [networkId, ...chunk.flatMap(({ address, entityId, sourceId }) => [address, entityId, sourceId])],
    );
  }
  const sql = 'update chains set address_count = address_count - $2 where network_id = $1';
  await queries.run(sql, [networkId, rows.length]);
  await dropEmptyBooks(queries, networkId);
}

/** Starts the task that removes the book of a source that is being deleted. */
export async function dropBook(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { sourceId, networkId }: { readonly sourceId: string; readonly networkId: number },
): Promise<void> {
  const subject = dialect.bindUuid(hexIn(sourceId));
  const cursor = `${networkId} ${sourceId}`;
  await startTask(queries, dialect, { kind: 'drop_book', entityId, subject, phase: 'removing', cursor });
}

/** Removes the next addresses of a source that was deleted. */
export async function dropBookStep(
  { queries, dialect }: StepTools,
  { entityId, phase, cursor }: Task,
): Promise<Progress | 'done'> {
  const [networkId = '', sourceId = ''] = cursor.split(' ');
  const ofSource = 'from source_addresses where entity_id = $1 and source_id = $2';
  const some = `select revision, address ${ofSource} order by revision, address limit ${dialect.limits.rows}`;
  const removed = await queries.run(`delete ${ofSource} and (revision, address) in (${some})`, [entityId, sourceId]);
  const sql = 'update chains set address_count = address_count - $2 where network_id = $1';
  await queries.run(sql, [Number(networkId), removed]);
  return removed === dialect.limits.rows ? { phase, cursor, waitMs: 0 } : 'done';
}
