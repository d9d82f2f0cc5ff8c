import {
  type NetworkEvent,
  type Webhook,
  type WebhookListQuery,
  webhookListQuerySchema,
} from '../../src/contract/webhooks.ts';
import { webhookFinalityOf } from '../../src/domain/chain/finality-by-amount.ts';
import type { Database } from '../../src/store/database/database.ts';
import { newId } from '../../src/store/new-id.ts';
import { walkWebhooks } from '../../src/store/webhooks/export.ts';
import { insertWebhooks, registerWebhooks } from '../../src/store/webhooks/register.ts';
import { assignFinality } from '../../src/store/webhooks/stored-options.ts';
import { createTenant } from './api.ts';

export const NOW_S = 1_763_168_400;

export async function newEntity(db: Database): Promise<string> {
  return (await createTenant(db)).entityId;
}

/** A query as the route passes it on: with defaults for what is not given. */
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

/** Gives webhooks a finality as if they had been registered with it, as a text that is stored; null for the default. */
export async function setFinality(
  db: Database,
  entityId: string,
  match: { readonly event?: string; readonly postUrl?: string },
  finality: string | null,
): Promise<void> {
  const webhooks = (await Array.fromAsync(walkWebhooks(db, entityId))).flat();
  const changed = webhooks.filter(
    ({ event, postUrl }) => (match.event ?? event) === event && (match.postUrl ?? postUrl) === postUrl,
  );
  const asked = finality === null ? null : webhookFinalityOf(finality);
  await db.transaction((queries) => assignFinality(queries, entityId, changed, asked));
}

/** Inserts many webhooks in the order given, with their counters, as thousands of registrations would. */
export async function seedWebhooks(
  db: Database,
  entityId: string,
  seeds: readonly (NetworkEvent & { postUrl: string })[],
): Promise<Webhook[]> {
  const webhooks = seeds.map((seed) => ({ webhookId: newId('wh'), ...seed, dateCreated: NOW_S }));
  await db.transaction(async (queries) => {
    const rows = webhooks.map((webhook, index) => ({ ...webhook, entityId, createdSeq: index + 1 }));
    await insertWebhooks(queries, rows);
    await queries.run(
      `insert into webhook_counts (entity_id, network_id, event, webhooks)
       select entity_id, network_id, event, count(*) from webhooks where entity_id = $1
       group by entity_id, network_id, event`,
      [entityId],
    );
    await queries.run('update entities set revision = $2, webhooks_dated_at = $3 where id = $1', [
      entityId,
      webhooks.length,
      NOW_S,
    ]);
  });
  const stored = (await Array.fromAsync(walkWebhooks(db, entityId))).flat();
  return stored.map((webhook, index) => ({ ...webhook, ...webhooks[index] }));
}

/** The result of a query over a plain array; `webhooks` are in the order of their creation. */
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

/** Every counter that differs from the number of its rows. */
export function wrongCounters(db: Database): Promise<unknown[]> {
  return db.all(
    `select entity_id, network_id, event, sum(counted) as counted, sum(kept) as kept
     from (select entity_id, network_id, event, 1 as counted, 0 as kept from webhooks
           union all select entity_id, network_id, event, 0 as counted, webhooks as kept from webhook_counts) t
     group by entity_id, network_id, event having sum(counted) <> sum(kept)`,
  );
}
