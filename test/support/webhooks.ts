import {
  type NetworkEvent,
  type Webhook,
  type WebhookListQuery,
  webhookListQuerySchema,
} from '../../src/contract/webhooks.ts';
import type { Database, SqlInteger } from '../../src/store/database/database.ts';
import { chunks, valuesList } from '../../src/store/database/sql.ts';
import { newId } from '../../src/store/new-id.ts';
import { registerWebhooks } from '../../src/store/webhooks/register.ts';
import { createTenant } from './api.ts';

export const NOW_S = 1_763_168_400;

export async function newEntity(db: Database): Promise<string> {
  return (await createTenant(db)).entityId;
}

/** A query as the route hands it on: what is not given has its default. */
export function listQuery(given: Partial<WebhookListQuery> = {}): WebhookListQuery {
  return { ...webhookListQuerySchema.parse({}), ...given };
}

type RegisterSettings = { nowS?: number; entityWebhookLimit?: number };

export function register(
  db: Database,
  entityId: string,
  postUrl: string,
  pairs: readonly NetworkEvent[],
  { nowS = NOW_S, entityWebhookLimit = 10_000 }: RegisterSettings = {},
): Promise<{ created: number; webhooks: Webhook[] }> {
  return registerWebhooks(db, entityId, { postUrl, pairs, entityWebhookLimit }, { actor: 'test', nowS });
}

/** Many webhooks at once, in the order given, with their counters: what thousands of registrations would leave behind. */
export async function seedWebhooks(
  db: Database,
  entityId: string,
  seeds: readonly (NetworkEvent & { postUrl: string })[],
): Promise<Webhook[]> {
  const webhooks = seeds.map((seed) => ({ webhookId: newId('wh'), ...seed, dateCreated: NOW_S }));
  await db.transaction(async (queries) => {
    let seq = 0;
    for (const chunk of chunks(webhooks)) {
      await queries.run(
        `insert into webhooks (entity_id, id, network_id, event, post_url, created_seq, created_at)
         values ${valuesList(chunk.length, 7)}`,
        chunk.flatMap((w) => [entityId, w.webhookId, w.networkId, w.event, w.postUrl, ++seq, w.dateCreated]),
      );
    }
    await queries.run(
      `insert into webhook_counts (entity_id, network_id, event, webhooks)
       select entity_id, network_id, event, count(*) from webhooks where entity_id = $1
       group by entity_id, network_id, event`,
      [entityId],
    );
    await queries.run('update entities set revision = $2, webhooks_dated_at = $3 where id = $1', [
      entityId,
      seq,
      NOW_S,
    ]);
  });
  return webhooks;
}

/** What a plain array gives for a query; `webhooks` stand in the order of their creation. */
export function listFromModel(webhooks: readonly Webhook[], query: WebhookListQuery) {
  const matches = matchesInModel(webhooks, query);
  const offset = (query.page - 1) * query.limit;
  return { totalResults: matches.length, webhooks: matches.slice(offset, offset + query.limit) };
}

export function matchesInModel(webhooks: readonly Webhook[], query: WebhookListQuery): Webhook[] {
  const matches = webhooks.filter(
    (webhook) =>
      (query.webhookId === undefined || webhook.webhookId === query.webhookId) &&
      (query.networkId === undefined || webhook.networkId === query.networkId) &&
      (query.event === undefined || webhook.event === query.event),
  );
  if (query.sortBy === 'postUrl') matches.sort(byUrlThenId);
  return query.sortDir === 'asc' ? matches : matches.reverse();
}

function byUrlThenId(a: Webhook, b: Webhook): number {
  const byUrl = Buffer.compare(Buffer.from(a.postUrl), Buffer.from(b.postUrl));
  return byUrl === 0 ? Buffer.compare(Buffer.from(a.webhookId), Buffer.from(b.webhookId)) : byUrl;
}

/** Every counter that differs from the rows it stands for; none when all is well. */
export function wrongCounters(db: Database): Promise<unknown[]> {
  return db.all<{ entity_id: string; counted: SqlInteger; kept: SqlInteger }>(
    `select entity_id, network_id, event, sum(counted) as counted, sum(kept) as kept
     from (select entity_id, network_id, event, 1 as counted, 0 as kept from webhooks
           union all select entity_id, network_id, event, 0 as counted, webhooks as kept from webhook_counts) t
     group by entity_id, network_id, event having sum(counted) <> sum(kept)`,
  );
}
