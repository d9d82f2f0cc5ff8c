import type { Database, SqlUuid } from '../database/database.ts';
import { Columns, chunks, integer, valuesList } from '../database/sql.ts';

/**
 * How long removed endpoints are kept at least. An acceptance that read a webhook before its deletion may name the endpoint
 * later, and no acceptance takes a day.
 */
const KEEP_MS = 86_400_000;

const ROWS_PER_STEP = 500;

const numberColumns = new Columns({ no: integer('no') });

/**
 * Endpoints of the entity `$1` that were removed before the time `$2`, which is `removedBefore` of the retention limit.
 */
export const REMOVED = 'endpoints where entity_id = $1 and removed_ms > 0 and removed_ms < $2';

export function removedBefore(beforeMs: number): number {
  return beforeMs - KEEP_MS;
}

/**
 * Forgets removed endpoints once the entity has no delivery from before `beforeMs`, because then nothing names them. `beforeId`
 * sorts before every id of that time. Returns the number of forgotten endpoints.
 */
export function forgetRemoved(db: Database, entity: SqlUuid, beforeMs: number, beforeId: SqlUuid): Promise<number> {
  return db.transaction(async (queries) => {
    const rows = await numberColumns.all(
      queries,
      `select ${numberColumns.list} from ${REMOVED}
         and not exists (select 1 from queue q where q.entity_id = $1 and q.id < $3)
         and not exists (select 1 from deliveries d where d.entity_id = $1 and d.id < $3)
       limit ${ROWS_PER_STEP}`,
      [entity, removedBefore(beforeMs), beforeId],
    );
    for (const chunk of chunks(rows.map(({ no }) => no))) {
      const numbers = valuesList(1, chunk.length, 1);
      for (const table of ['endpoint_numbers', 'endpoint_sequences']) {
        await queries.run(`delete from ${table} where entity_id = $1 and endpoint_no in ${numbers}`, [
          entity,
          ...chunk,
        ]);
      }
      await queries.run(`delete from endpoints where entity_id = $1 and no in ${numbers}`, [entity, ...chunk]);
    }
    return rows.length;
  });
}
