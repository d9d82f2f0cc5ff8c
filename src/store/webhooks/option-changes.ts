import type { Database, Dialect, Queries } from '../database/database.ts';
import { Columns, chunks, entityKey, nullable, readInteger, text, valuesList } from '../database/sql.ts';
import { optionChangeTable } from '../tables.ts';
import { dropUnusedFilters } from './filters.ts';

/**
 * The registry as of a revision. `entities.revision` rises with every change of a webhook, under the entity's lock, and a
 * webhook's number is the revision of its registration. One revision therefore names a state of the registry: the webhooks
 * up to that number, each with the options that it had. A change writes the options that it ends into `option_changes`. The
 * webhook's oldest row after a revision has the options as of that revision; without such a row, the current options count.
 */

/** Transactions that have read a revision but have not stored it yet end long before this. */
export const CHANGES_KEPT_MS = 60 * 60_000;

/** Before the options of these webhooks change, under the entity's lock. */
export async function noteOptions(
  queries: Queries,
  { nowMs }: Dialect,
  entityId: string,
  webhooks: Iterable<{ readonly webhookId: string }>,
): Promise<void> {
  const ids = new Set([...webhooks].map(({ webhookId }) => webhookId));
  for (const chunk of chunks([...ids])) {
    await queries.run(
      `insert into option_changes (entity_id, webhook_no, revision, finality, filter_hash, changed_at_ms)
       select w.entity_id, w.created_seq, n.revision, w.finality, w.filter_hash, ${nowMs}
       from webhooks w join entities n on n.id = w.entity_id
       where w.entity_id = $1 and w.id in ${valuesList(1, chunk.length, 1)}`,
      [entityId, ...chunk],
    );
  }
}

const endedColumns = optionChangeTable.pick(['webhookNo', 'finality', 'filterHash']);

type WithOptions = { readonly webhookNo: number; readonly finality: string | null; readonly filterHash: string | null };

/** The same webhooks with the options as of a revision. The caller has read their current options before. */
export async function optionsAsOf<Webhook extends WithOptions>(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  revision: number,
  webhooks: readonly Webhook[],
): Promise<Webhook[]> {
  const numbers = webhooks.map(({ webhookNo }) => webhookNo);
  if (numbers.length === 0) return [];
  const rows = await endedColumns.all(
    queries,
    `select ${endedColumns.list} from option_changes
     where entity_id = $1 and webhook_no between $2 and $3 and revision > $4 order by revision desc`,
    [entityId, Math.min(...numbers), Math.max(...numbers), revision],
  );
  // The oldest row of each webhook is its last one here.
  const ended = new Map(rows.map((row) => [row.webhookNo, row]));
  return webhooks.map((webhook) => {
    const { finality, filterHash } = ended.get(webhook.webhookNo) ?? webhook;
    return { ...webhook, finality, filterHash };
  });
}

const goneColumns = new Columns({ filterHash: nullable(text('filter_hash')) });

/** Removes the old changes of an entity after which no task has to look, and the filters that only they had. */
export async function pruneOptionChanges(db: Database, entityId: string): Promise<void> {
  const { dialect } = db;
  const tasks = 'from fan_outs where entity_id = $1 and retracts is null';
  const oldest = await readInteger(db, 'min(revision)', tasks, [entityKey(dialect, entityId)]);
  await db.transaction(async (queries) => {
    const after = oldest === 0 ? '' : 'and revision <= $2';
    const gone = await goneColumns.all(
      queries,
      `delete from option_changes where entity_id = $1 and changed_at_ms < ${dialect.nowMs} - ${CHANGES_KEPT_MS} ${after}
       returning ${goneColumns.list}`,
      oldest === 0 ? [entityId] : [entityId, oldest],
    );
    await dropUnusedFilters(
      queries,
      entityId,
      gone.map(({ filterHash }) => filterHash),
    );
  });
}
