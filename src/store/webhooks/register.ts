import { WEBHOOK_FIELDS } from '../../contract/webhooks/fields.ts';
import type { NewWebhookOptions } from '../../contract/webhooks/options.ts';
import type { NetworkEvent, Webhook, WebhookSettings } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import { MAX_QUEUE_NO } from '../../domain/ids.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import type { RowToInsert } from '../database/table.ts';
import { addEndpoints } from '../endpoints/lifecycle.ts';
import { newId } from '../new-id.ts';
import { webhookTable } from '../tables.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { entityTable } from '../tenants/tables.ts';
import { checkEntityLimit, type Limits, once, raiseCounts } from './counts.ts';
import { dropUnusedFilters, isSameFilter, setFilterHash, storeFilter } from './filters.ts';
import { SHOWN_WEBHOOK } from './list.ts';
import { assignFinality, effectiveFinality, isSameFinality, readStoredOptions } from './stored-options.ts';

export type RegisterOptions = WebhookSettings & Limits & { pairs: readonly NetworkEvent[] };

/** Registers one webhook for each pair, all or none. Returns webhooks that exist already as they are. */
export function registerWebhooks(
  db: Database,
  entityId: string,
  options: RegisterOptions,
  change: Change,
): Promise<{ created: number; webhooks: Webhook[] }> {
  return db.transaction(async (queries) => {
    const lock = await lockEntity(queries, entityId, options.pairs.length, change.nowS);
    const filterHash = await storeFilter(queries, entityId, options.options?.filter ?? null);
    const inserted = await insertMissing(queries, entityId, options, lock, filterHash);
    if (inserted.length > 0) {
      await raiseCounts(queries, entityId, inserted.map(once));
      await checkEntityLimit(queries, entityId, options.entityWebhookLimit);
      await addEndpoints(queries, db.dialect, entityId, [options.postUrl]);
      await recordChange(queries, entityId, change, {
        action: 'webhooks.registered',
        target: entityId,
        after: { postUrl: options.postUrl, registered: inserted, options: options.options },
      });
    }
    const webhooks = await readPairs(queries, entityId, options);
    if (options.options !== undefined && inserted.length < webhooks.length) {
      await requireSameOptions(queries, entityId, webhooks, options.options);
      await dropUnusedFilters(queries, entityId, [filterHash]);
    }
    return { created: inserted.length, webhooks };
  });
}

/** A repeated registration changes nothing, so its options must equal the stored ones. */
async function requireSameOptions(
  queries: Queries,
  entityId: string,
  webhooks: readonly Webhook[],
  { filter = null, finality = null }: NewWebhookOptions,
): Promise<void> {
  const ids = webhooks.map(({ webhookId }) => webhookId);
  const other = (await readStoredOptions(queries, entityId, ids)).find(
    (webhook) =>
      !isSameFilter(webhook.filter, filter) ||
      !isSameFinality(webhook.finality, effectiveFinality(webhook.event, finality)),
  );
  if (other !== undefined) throw new DomainError('other_options', { webhookId: other.webhookId });
}

/** The last reserved number of the creation sequence, and the date that new webhooks get. */
export type EntityLock = { lastSeq: number; datedAt: number };

const LOCKED_ENTITY = entityTable.pick(['revision', 'webhooksDatedAt']);

/**
 * Locks the entity by raising its revision, which comes first in every write to an entity's webhooks. So writers queue instead of
 * deadlocking over counters. Reserves `slots` numbers of the creation sequence. After the commit, all cache entries of the old
 * revision are out of date.
 */
export async function lockEntity(queries: Queries, entityId: string, slots: number, nowS: number): Promise<EntityLock> {
  const entity = await LOCKED_ENTITY.get(
    queries,
    `update entities set revision = revision + $2,
       webhooks_dated_at = case when webhooks_dated_at < $3 then $3 else webhooks_dated_at end
     where id = $1 returning ${LOCKED_ENTITY.list}`,
    [entityId, Math.max(slots, 1), nowS],
  );
  if (entity === undefined) throw new DomainError('entity_not_found', { entityId });
  if (slots > 0 && entity.revision > MAX_QUEUE_NO) throw new DomainError('entity_exhausted', { entityId });
  return { lastSeq: entity.revision, datedAt: entity.webhooksDatedAt };
}

async function insertMissing(
  queries: Queries,
  entityId: string,
  { pairs, postUrl, options }: RegisterOptions,
  { lastSeq, datedAt }: EntityLock,
  filterHash: string | null,
): Promise<NetworkEvent[]> {
  const firstSeq = lastSeq - pairs.length + 1;
  const rows = pairs.map(({ networkId, event }, index) => ({
    entityId,
    webhookId: newId('wh'),
    networkId,
    event,
    postUrl,
    createdSeq: firstSeq + index,
    dateCreated: datedAt,
  }));
  const inserted = await insertWebhooks(queries, rows);
  const finality = options?.finality ?? null;
  if (filterHash !== null) await setFilterHash(queries, entityId, rows, filterHash);
  if (finality !== null) await assignFinality(queries, entityId, rows, finality);
  return inserted;
}

const NEW_WEBHOOK = webhookTable.insertion(['entityId', 'createdSeq', ...WEBHOOK_FIELDS]);
type NewWebhook = RowToInsert<typeof NEW_WEBHOOK>;

const CELL = webhookTable.pick(['networkId', 'event']);

/** Call it under the entity lock. Returns the network and event of each new webhook. */
export async function insertWebhooks(queries: Queries, webhooks: readonly NewWebhook[]): Promise<NetworkEvent[]> {
  const inserted: NetworkEvent[] = [];
  for (const chunk of chunks(webhooks)) {
    const cells = await CELL.all(
      queries,
      `${NEW_WEBHOOK.text(chunk.length)}
       on conflict (entity_id, network_id, event, post_url) do nothing returning ${CELL.list}`,
      NEW_WEBHOOK.parameters(chunk),
    );
    inserted.push(...cells);
  }
  return inserted;
}

const SHOWN_OF_W = SHOWN_WEBHOOK.of('w.');

async function readPairs(queries: Queries, entityId: string, options: RegisterOptions): Promise<Webhook[]> {
  const found = new Map<string, Webhook>();
  for (const chunk of chunks(options.pairs)) {
    const webhooks = await SHOWN_WEBHOOK.all(
      queries,
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 2, ['bigint', 'text'])})
       select ${SHOWN_OF_W} from wanted p cross join webhooks w
       where w.entity_id = $1 and w.post_url = $2 and w.network_id = p.network_id and w.event = p.event`,
      [entityId, options.postUrl, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    for (const webhook of webhooks) found.set(pairKey(webhook), webhook);
  }
  return options.pairs.flatMap((pair) => found.get(pairKey(pair)) ?? []);
}

function pairKey({ networkId, event }: NetworkEvent): string {
  return `${networkId} ${event}`;
}
