import type { Database, Dialect, Queries, SqlUuid } from '../database/database.ts';
import { chunks, entityKey, valuesList } from '../database/sql.ts';
import { lockRows } from './order/order-keys.ts';
import { queueTable } from './tables.ts';

/**
 * Deliveries that a feed shows before their first attempt. The reader of the feed may have them from then on, so that a
 * retraction must follow (`MAY_BE_RECEIVED`).
 */

const unmarkedColumns = queueTable.pick(['id']);
const IS_UNMARKED = 'attempts = 0 and recorded is null and is_shown = 0';

/** Returns the ids of deliveries that wait for their first attempt and that no feed has shown. */
export async function readUnmarked(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  ids: readonly string[],
): Promise<SqlUuid[]> {
  const from = `from queue where ${IS_UNMARKED} and entity_id = $1 and id in`;
  const rows = await unmarkedColumns.allIn(queries, from, [entity], ids.map(dialect.bindUuid));
  return rows.map(({ id }) => id);
}

/** Marks deliveries as shown, except deliveries that were attempted or retracted since they were read. */
export async function markShown(db: Database, entityId: string, ids: readonly SqlUuid[]): Promise<void> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  for (const chunk of chunks(ids)) {
    const rows = chunk.map((id) => ({ entity, id }));
    await db.transaction(async (queries) => {
      await lockRows(queries, dialect, rows);
      const list = valuesList(1, chunk.length, 1);
      const sql = `update queue set is_shown = 1 where ${IS_UNMARKED} and entity_id = $1 and id in ${list}`;
      await queries.run(sql, [entity, ...chunk]);
    });
  }
}
