import type { Webhook } from '../../contract/webhooks.ts';
import type { Database, SqlInteger } from '../database/database.ts';
import { toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './list.ts';

const PAGE_ROWS = 1_000;

/** All webhooks of an entity in the order of their creation, a page at a time; ends with what was there at the start. */
export async function* walkWebhooks(
  db: Database,
  entityId: string,
  pageRows = PAGE_ROWS,
): AsyncGenerator<readonly Webhook[]> {
  const newest = await db.get<{ seq: SqlInteger | null }>(
    'select max(created_seq) as seq from webhooks where entity_id = $1',
    [entityId],
  );
  const lastSeq = Number(newest?.seq ?? 0);
  let seq = 0;
  while (seq < lastSeq) {
    const rows = await db.all<WebhookRow & { created_seq: SqlInteger }>(
      `select ${WEBHOOK_COLUMNS}, created_seq from webhooks
       where entity_id = $1 and created_seq > $2 and created_seq <= $3 order by created_seq limit $4`,
      [entityId, seq, lastSeq, pageRows],
    );
    // The newest may have been deleted meanwhile, and then nothing is left before the end.
    seq = Number(rows.at(-1)?.created_seq ?? lastSeq);
    if (rows.length > 0) yield rows.map(toWebhook);
  }
}
