import type { Database, Dialect, Queries } from '../database/database.ts';
import { chunks, entityKey, readInteger, valuesList } from '../database/sql.ts';
import { optionChangeTable } from '../tables.ts';
import { dropUnusedFilters } from './filters.ts';

/**
 * The registry as of a revision. `entities.revision` rises with every change of a webhook, under the entity's lock, and a
 * webhook's number is the revision of its registration. One revision therefore names a state of the registry: the webhooks
 * up to that number, each with the options that it had. A change writes the options that it ends into `option_changes`. The
 * webhook's oldest row after a revision has the options as of that revision; without such a row, the current options count.
 */

/** A revision of the registry, or the registry as it is when it is read. */
export type RegistryMoment = number | 'now';

/** How long changes are kept at least. A transaction that has read a revision but not stored it yet ends long before. */
export const CHANGES_KEPT_MS = 60 * 60_000;

/** Notes the options of these webhooks before they change. Call it under the entity's lock. */
export async function noteOptions(
  queries: Queries,
  { nowMs }: Dialect,
  entityId: string,
  webhooks: Iterable<{ readonly webhookId: string }>,
): Promise<void> {
  const ids = new Set([...webhooks].map(({ webhookId }) => webhookId));
  for (const chunk of chunks([...ids])) {
    await queries.run(
      `insert into option_changes (entity_id, webhook_no, revision, finality, finality_levels, filter_hash, changed_at_ms)
       select w.entity_id, w.created_seq, n.revision, w.finality, w.finality_levels, w.filter_hash, ${nowMs}
       from webhooks w join entities n on n.id = w.entity_id
       where w.entity_id = $1 and w.id in ${valuesList(1, chunk.length, 1)}`,
      [entityId, ...chunk],
    );
  }
}

/** The same webhooks with the finality as of a moment; a webhook that was registered later has its first finality. */
export async function finalityAsOf<Webhook extends WithOptions>(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  moment: RegistryMoment,
  webhooks: readonly Webhook[],
): Promise<Webhook[]> {
  if (moment === 'now') return [...webhooks];
  const then = await optionsAsOf(queries, entityId, moment, webhooks);
  return webhooks.map((webhook, index) => ({ ...webhook, finality: then[index]?.finality ?? null }));
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
  // Later revisions come first, so the oldest row of each webhook comes last and stays in the map.
  const ended = new Map(rows.map((row) => [row.webhookNo, row]));
  return webhooks.map((webhook) => {
    const { finality, filterHash } = ended.get(webhook.webhookNo) ?? webhook;
    return { ...webhook, finality, filterHash };
  });
}

const goneColumns = optionChangeTable.pick(['filterHash']);

/** Facts of this age have every number of confirmations that a webhook can ask for. */
const CONFIRMED_MS = 7 * 86_400_000;

/** The oldest revision that a task, an unpublished event or a fact below finality refers to; 0 without any. */
async function oldestRevision(db: Database, entityId: string): Promise<number> {
  const { dialect } = db;
  const found = [
    await readInteger(db, 'min(coalesce(seen_revision, revision))', 'from tasks where entity_id = $1', [
      entityKey(dialect, entityId),
    ]),
    await readInteger(
      db,
      'min(f.seen_revision)',
      `from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
       where e.entity_id = $1 and e.event_no is null and f.seen_revision > 0`,
      [entityId],
    ),
    // `state <> 'final'` is the condition of the index. With both conditions in one statement, SQLite reads every fact.
    ...(await Promise.all(
      [`state in ('seen', 'lost') and state <> 'final'`, `created_at_ms > ${dialect.nowMs} - ${CONFIRMED_MS}`].map(
        (which) =>
          readInteger(db, 'min(seen_revision)', `from facts where entity_id = $1 and seen_revision > 0 and ${which}`, [
            entityId,
          ]),
      ),
    )),
  ].filter((revision) => revision > 0);
  return found.length === 0 ? 0 : Math.min(...found);
}

/** Removes the old changes of an entity that nothing refers to, and the filters that only these changes had. */
export async function pruneOptionChanges(db: Database, entityId: string): Promise<void> {
  const { dialect } = db;
  const oldest = await oldestRevision(db, entityId);
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
