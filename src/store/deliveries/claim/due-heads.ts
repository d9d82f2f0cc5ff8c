import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Database } from '../../database/database.ts';
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
  /** Until the first head that is not due yet; null when there is none. */
  nextInMs: number | null;
};

const dueColumns = new Columns({
  destination: text<DestinationKey>('destination'),
  nextDueMs: integer('next_due_ms'),
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  nowMs: integer(),
});

/** Heads whose time has come, a window at a time. Only these are read, however many webhooks have something waiting. */
export async function findDueHeads(db: Database, after: HeadCursor, most: number): Promise<Look> {
  const { nowMs, bindUuid, hexOf } = db.dialect;
  const rows = await dueColumns.all(
    db,
    `select ${dueColumns.list}, ${nowMs} as "nowMs" from queue_heads
     where blocked = 0 and (next_due_ms, entity_id, webhook_no) > ($1, $2, $3)
     order by next_due_ms, entity_id, webhook_no limit $4`,
    [after.nextDueMs, bindUuid(after.entity), after.webhookNo, most],
  );
  const due: DueHead[] = [];
  for (const { destination, nextDueMs, entity, webhookNo, nowMs: readAtMs } of rows) {
    if (nextDueMs > readAtMs) return { due, nextInMs: nextDueMs - readAtMs };
    due.push({ destination, cursor: { nextDueMs, entity: hexOf(entity), webhookNo } });
  }
  return { due, nextInMs: null };
}
