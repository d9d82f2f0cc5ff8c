import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Database } from '../../database/database.ts';
import { inOrderOf, readReachable } from '../../database/reachable-shards.ts';
import { Columns, integer, text, uuid } from '../../database/sql.ts';

export type DueHead = { destination: DestinationKey; cursor: HeadCursor };
export type HeadCursor = { nextDueMs: number; entity: string; webhookNo: number };

export const FIRST_HEAD: HeadCursor = {
  nextDueMs: Number.MIN_SAFE_INTEGER,
  entity: '0'.repeat(32),
  webhookNo: Number.MIN_SAFE_INTEGER,
};

export type Look = {
  due: DueHead[];
  /** The time until the next head becomes due; null if there is none. */
  nextInMs: number | null;
};

const dueColumns = new Columns({
  destination: text<DestinationKey>('destination'),
  nextDueMs: integer('next_due_ms'),
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  nowMs: integer(),
});

/** Finds the due heads after the cursor, at most `most`. Reads only due heads, however many webhooks have waiting deliveries. */
export async function findDueHeads(db: Database, after: HeadCursor, most: number): Promise<Look> {
  const { nowMs, bindUuid, hexOf } = db.dialect;
  const text = (table: string, [dueMs, entity, webhookNo, limit]: readonly string[]) =>
    `select ${dueColumns.list}, ${nowMs} as "nowMs" from ${table}
     where blocked = 0 and (next_due_ms, entity_id, webhook_no) > (${dueMs}, ${entity}, ${webhookNo})
     order by next_due_ms, entity_id, webhook_no limit ${limit}`;
  const values = [after.nextDueMs, bindUuid(after.entity), after.webhookNo, most];
  const literals = [`${after.nextDueMs}`, `cast('${after.entity}' as uuid)`, `${after.webhookNo}`, `${most}`];
  const rows = await readReachable(
    db,
    (reads) => dueColumns.all(reads, text('queue_heads', ['$1', '$2', '$3', '$4']), values),
    { tables: ['queue_heads'], select: (shard = '') => text(shard, literals) },
  );
  const due: DueHead[] = [];
  const first = inOrderOf(db, rows, (row) => row.nextDueMs).slice(0, most);
  for (const { destination, nextDueMs, entity, webhookNo, nowMs: readAtMs } of first) {
    if (nextDueMs > readAtMs) return { due, nextInMs: nextDueMs - readAtMs };
    due.push({ destination, cursor: { nextDueMs, entity: hexOf(entity), webhookNo } });
  }
  return { due, nextInMs: null };
}
