import type { Webhook, WebhookMatch } from '../../contract/webhooks.ts';
import { MAX_WEBHOOKS_PER_REQUEST } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks, Parameters, readInteger, valuesList } from '../database/sql.ts';
import { cancelWaiting, redirectWaiting } from '../deliveries/states.ts';
import { webhookTable } from '../tables.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { removeFromCounts } from './counts.ts';
import { SHOWN_WEBHOOK } from './list.ts';
import { lockEntity } from './register.ts';

/**
 * Reading, moving and deleting webhooks that exist: one by its id, or all that match a filter. Waiting deliveries are
 * changed after the commit; one that is claimed before that is sent by the webhook as it then is.
 */

export async function readWebhook(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  webhookId: string,
): Promise<Webhook | null> {
  const sql = `select ${SHOWN_WEBHOOK.list} from webhooks where entity_id = $1 and id = $2`;
  return (await SHOWN_WEBHOOK.get(queries, sql, [entityId, webhookId])) ?? null;
}

/** Called under the entity lock: whether the webhook is still the one that the caller has read. */
type Precondition = (webhook: Webhook) => boolean;

export async function moveWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  postUrl: string,
  isExpected: Precondition,
  change: Change,
): Promise<Webhook | null> {
  const moved = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const before = await readWebhook(queries, entityId, webhookId);
    if (before === null) return null;
    requireUnchanged(before, isExpected);
    if (before.postUrl === postUrl) return before;
    await moveAll(queries, entityId, [before], postUrl);
    const after = { ...before, postUrl };
    await recordChange(queries, entityId, change, { action: 'webhook.updated', target: webhookId, before, after });
    return after;
  });
  if (moved !== null) await redirectWaiting(db, entityId, [webhookId], postUrl);
  return moved;
}

export async function deleteWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  isExpected: Precondition,
  change: Change,
): Promise<Webhook | null> {
  const removed = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const before = await readWebhook(queries, entityId, webhookId);
    if (before === null) return null;
    requireUnchanged(before, isExpected);
    await deleteAll(queries, entityId, [before]);
    await recordChange(queries, entityId, change, { action: 'webhook.deleted', target: webhookId, before });
    return before;
  });
  if (removed !== null) await cancelWaiting(db, entityId, [webhookId]);
  return removed;
}

/** All or nothing; returns how many changed. Webhooks that have the URL already are neither changed nor counted. */
export async function moveMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  postUrl: string,
  change: Change,
): Promise<number> {
  const moved = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const found = await findMatching(queries, entityId, match);
    const moving = found.filter((webhook) => webhook.postUrl !== postUrl);
    if (moving.length === 0) return [];
    await moveAll(queries, entityId, moving, postUrl);
    await recordChange(queries, entityId, change, {
      action: 'webhooks.updated',
      target: entityId,
      before: { match, webhooks: moving.map(({ webhookId, postUrl: from }) => ({ webhookId, postUrl: from })) },
      after: { postUrl },
    });
    return moving;
  });
  await redirectWaiting(db, entityId, idsOf(moved), postUrl);
  return moved.length;
}

export async function deleteMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  change: Change,
): Promise<number> {
  const removed = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const found = await findMatching(queries, entityId, match);
    if (found.length === 0) return [];
    await deleteAll(queries, entityId, found);
    await recordChange(queries, entityId, change, {
      action: 'webhooks.deleted',
      target: entityId,
      before: { match, webhooks: found },
    });
    return found;
  });
  await cancelWaiting(db, entityId, idsOf(removed));
  return removed.length;
}

/** How many a move or a deletion would change, under the same limits and conflicts, without changing them. */
export function countMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  postUrl: string | null,
): Promise<number> {
  return db.snapshot(async (queries) => {
    const found = await findMatching(queries, entityId, match);
    if (postUrl === null) return found.length;
    const moving = found.filter((webhook) => webhook.postUrl !== postUrl);
    await rejectDuplicates(queries, entityId, moving, postUrl);
    return moving.length;
  });
}

async function findMatching(queries: Queries, entityId: string, match: WebhookMatch): Promise<Webhook[]> {
  const { webhookId, networkId, event, postUrl } = match;
  const parameters = new Parameters();
  const from = `from webhooks where ${webhookTable.where(parameters, { entityId, webhookId, networkId, event, postUrl })}`;
  const found = await SHOWN_WEBHOOK.all(
    queries,
    `select ${SHOWN_WEBHOOK.list} ${from} limit ${MAX_WEBHOOKS_PER_REQUEST + 1}`,
    parameters.values,
  );
  if (found.length <= MAX_WEBHOOKS_PER_REQUEST) return found;
  const matches = await readInteger(queries, 'count(*)', from, parameters.values);
  throw new DomainError('too_many_matches', { matches, limit: MAX_WEBHOOKS_PER_REQUEST });
}

async function moveAll(queries: Queries, entityId: string, moving: readonly Webhook[], postUrl: string): Promise<void> {
  await rejectDuplicates(queries, entityId, moving, postUrl);
  for (const chunk of chunks(moving)) {
    const parameters = new Parameters(postUrl);
    const where = webhookTable.where(parameters, { entityId, webhookId: idsOf(chunk) });
    await queries.run(`update webhooks set post_url = $1 where ${where}`, parameters.values);
  }
}

async function deleteAll(queries: Queries, entityId: string, removed: readonly Webhook[]): Promise<void> {
  for (const chunk of chunks(removed)) {
    const parameters = new Parameters(entityId);
    const ids = parameters.list(idsOf(chunk));
    await queries.run(`delete from webhooks where entity_id = $1 and id in ${ids}`, parameters.values);
    await queries.run(`delete from webhook_health where entity_id = $1 and webhook_id in ${ids}`, parameters.values);
  }
  await removeFromCounts(queries, entityId, removed);
}

/** No two webhooks of an entity have the same network, event and URL: not two that move, nor one of them and another. */
async function rejectDuplicates(
  queries: Queries,
  entityId: string,
  moving: readonly Webhook[],
  postUrl: string,
): Promise<void> {
  const taken = new Map<string, string>();
  for (const { webhookId, networkId, event } of moving) {
    const existingId = taken.get(`${networkId} ${event}`);
    if (existingId !== undefined) throw new DomainError('duplicate_webhook', { webhookId, existingId });
    taken.set(`${networkId} ${event}`, webhookId);
  }
  for (const chunk of chunks(moving)) {
    const existing = await SHOWN_WEBHOOK.get(
      queries,
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 2, ['bigint', 'text'])})
       select ${SHOWN_WEBHOOK.of('w.')} from wanted p cross join webhooks w
       where w.entity_id = $1 and w.post_url = $2 and w.network_id = p.network_id and w.event = p.event limit 1`,
      [entityId, postUrl, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    if (existing === undefined) continue;
    const webhookId = taken.get(`${existing.networkId} ${existing.event}`) ?? '';
    throw new DomainError('duplicate_webhook', { webhookId, existingId: existing.webhookId });
  }
}

function requireUnchanged(webhook: Webhook, isExpected: Precondition): void {
  if (!isExpected(webhook)) throw new DomainError('webhook_changed', { webhookId: webhook.webhookId });
}

function idsOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ webhookId }) => webhookId);
}
