import type { NetworkEvent, Webhook } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { newId } from '../new-id.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { checkEntityLimit, type Limits, once, raiseCounts } from './counts.ts';
import { toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './list.ts';

export type RegisterOptions = { postUrl: string; pairs: readonly NetworkEvent[] } & Limits;

/** One webhook for each pair, all or none; those that were there already come back as they are. */
export function registerWebhooks(
  db: Database,
  entityId: string,
  options: RegisterOptions,
  change: Change,
): Promise<{ created: number; webhooks: Webhook[] }> {
  return db.transaction(async (queries) => {
    const turn = await lockEntity(queries, entityId, options.pairs.length, change.nowS);
    const inserted = await insertMissing(queries, entityId, options, turn);
    if (inserted.length > 0) {
      await raiseCounts(queries, entityId, inserted.map(once));
      await checkEntityLimit(queries, entityId, options.entityWebhookLimit);
      await recordChange(queries, entityId, change, {
        action: 'webhooks.registered',
        target: entityId,
        after: { postUrl: options.postUrl, registered: inserted },
      });
    }
    return { created: inserted.length, webhooks: await readPairs(queries, entityId, options) };
  });
}

export type Turn = { lastSeq: number; datedAt: number };

/**
 * Raising the revision comes first in every write to an entity's webhooks. It is the entity's lock, so writers queue
 * instead of dead-locking over counters; it reserves `slots` numbers of the creation sequence; and it makes every
 * answer cached under the old revision out of date at the moment of the commit.
 */
export async function lockEntity(queries: Queries, entityId: string, slots: number, nowS: number): Promise<Turn> {
  const row = await queries.get<{ revision: SqlInteger; webhooks_dated_at: SqlInteger }>(
    `update entities set revision = revision + $2,
       webhooks_dated_at = case when webhooks_dated_at < $3 then $3 else webhooks_dated_at end
     where id = $1 returning revision, webhooks_dated_at`,
    [entityId, Math.max(slots, 1), nowS],
  );
  if (row === undefined) throw new DomainError('entity_not_found', { entityId });
  return { lastSeq: Number(row.revision), datedAt: Number(row.webhooks_dated_at) };
}

function insertMissing(
  queries: Queries,
  entityId: string,
  { postUrl, pairs }: RegisterOptions,
  { lastSeq, datedAt }: Turn,
): Promise<NetworkEvent[]> {
  const firstSeq = lastSeq - pairs.length + 1;
  const rows = pairs.map((pair, index) => ({
    ...pair,
    webhookId: newId('wh'),
    postUrl,
    createdSeq: firstSeq + index,
    dateCreated: datedAt,
  }));
  return insertWebhooks(queries, entityId, rows);
}

export type NewWebhook = Webhook & { createdSeq: number };

/** Under the entity's lock. Answers what was not registered yet, and so is new. */
export async function insertWebhooks(
  queries: Queries,
  entityId: string,
  webhooks: readonly NewWebhook[],
): Promise<NetworkEvent[]> {
  const inserted: NetworkEvent[] = [];
  for (const chunk of chunks(webhooks)) {
    const rows = await queries.all<{ network_id: SqlInteger; event: string }>(
      `insert into webhooks (entity_id, id, network_id, event, post_url, created_seq, created_at)
       values ${valuesList(chunk.length, 7)}
       on conflict (entity_id, network_id, event, post_url) do nothing returning network_id, event`,
      chunk.flatMap((row) => [
        entityId,
        row.webhookId,
        row.networkId,
        row.event,
        row.postUrl,
        row.createdSeq,
        row.dateCreated,
      ]),
    );
    for (const row of rows) inserted.push({ networkId: Number(row.network_id), event: row.event });
  }
  return inserted;
}

async function readPairs(queries: Queries, entityId: string, options: RegisterOptions): Promise<Webhook[]> {
  const found = new Map<string, Webhook>();
  for (const chunk of chunks(options.pairs)) {
    const rows = await queries.all<WebhookRow>(
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 2, ['bigint', 'text'])})
       select ${WEBHOOK_COLUMNS.split(', ').map((column) => `w.${column}`)}
       from wanted p cross join webhooks w
       where w.entity_id = $1 and w.post_url = $2 and w.network_id = p.network_id and w.event = p.event`,
      [entityId, options.postUrl, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    for (const row of rows) found.set(pairKey(Number(row.network_id), row.event), toWebhook(row));
  }
  return options.pairs.flatMap(({ networkId, event }) => found.get(pairKey(networkId, event)) ?? []);
}

function pairKey(networkId: number, event: string): string {
  return `${networkId} ${event}`;
}
