import type { Webhook, WebhookMatch } from '../../contract/webhooks.ts';
import { MAX_WEBHOOKS_PER_REQUEST } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { chunks, Parameters, valuesList } from '../database/sql.ts';
import { cancelWaiting, redirectWaiting } from '../deliveries/states.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { removeFromCounts } from './counts.ts';
import { toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './list.ts';
import { lockEntity } from './register.ts';

/**
 * Reading, moving and removing webhooks that exist: one by its id, or all that match a filter. The deliveries that wait
 * follow after the commit; whatever is claimed before that finds the webhook as it is.
 */

export async function readWebhook(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  webhookId: string,
): Promise<Webhook | null> {
  const row = await queries.get<WebhookRow>(
    `select ${WEBHOOK_COLUMNS} from webhooks where entity_id = $1 and id = $2`,
    [entityId, webhookId],
  );
  return row === undefined ? null : toWebhook(row);
}

/** Asked under the entity's lock: whether the webhook is still the one that the caller has seen. */
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

/** All or nothing; answers how many changed. Those that have the URL already are not changed and not counted. */
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

/** What a move or a removal would change, under the same limits and conflicts, without changing it. */
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
  const parameters = new Parameters();
  const where = [
    `entity_id = ${parameters.bind(entityId)}`,
    ...(match.webhookId === undefined ? [] : [`id = ${parameters.bind(match.webhookId)}`]),
    ...(match.networkId === undefined ? [] : [`network_id = ${parameters.bind(match.networkId)}`]),
    ...(match.event === undefined ? [] : [`event = ${parameters.bind(match.event)}`]),
    ...(match.postUrl === undefined ? [] : [`post_url = ${parameters.bind(match.postUrl)}`]),
  ].join(' and ');
  const rows = await queries.all<WebhookRow>(
    `select ${WEBHOOK_COLUMNS} from webhooks where ${where} limit ${MAX_WEBHOOKS_PER_REQUEST + 1}`,
    parameters.values,
  );
  if (rows.length <= MAX_WEBHOOKS_PER_REQUEST) return rows.map(toWebhook);
  const count = await queries.get<{ total: SqlInteger }>(
    `select count(*) as total from webhooks where ${where}`,
    parameters.values,
  );
  throw new DomainError('too_many_matches', { matches: Number(count?.total ?? 0), limit: MAX_WEBHOOKS_PER_REQUEST });
}

async function moveAll(queries: Queries, entityId: string, moving: readonly Webhook[], postUrl: string): Promise<void> {
  await rejectDuplicates(queries, entityId, moving, postUrl);
  for (const chunk of chunks(moving)) {
    await queries.run(`update webhooks set post_url = $2 where entity_id = $1 and id in (${idList(chunk, 2)})`, [
      entityId,
      postUrl,
      ...idsOf(chunk),
    ]);
  }
}

async function deleteAll(queries: Queries, entityId: string, removed: readonly Webhook[]): Promise<void> {
  for (const chunk of chunks(removed)) {
    const which = `where entity_id = $1 and`;
    const parameters = [entityId, ...idsOf(chunk)];
    await queries.run(`delete from webhooks ${which} id in (${idList(chunk, 1)})`, parameters);
    await queries.run(`delete from webhook_health ${which} webhook_id in (${idList(chunk, 1)})`, parameters);
  }
  await removeFromCounts(queries, entityId, removed);
}

/** No two webhooks of an entity are equal in network, event and URL: neither among those moved nor with another. */
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
    const row = await queries.get<WebhookRow>(
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 2, ['bigint', 'text'])})
       select w.id, w.network_id, w.event, w.post_url, w.created_at from wanted p cross join webhooks w
       where w.entity_id = $1 and w.post_url = $2 and w.network_id = p.network_id and w.event = p.event limit 1`,
      [entityId, postUrl, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    if (row === undefined) continue;
    const webhookId = taken.get(`${row.network_id} ${row.event}`) ?? '';
    throw new DomainError('duplicate_webhook', { webhookId, existingId: row.id });
  }
}

function requireUnchanged(webhook: Webhook, isExpected: Precondition): void {
  if (!isExpected(webhook)) throw new DomainError('webhook_changed', { webhookId: webhook.webhookId });
}

function idList(webhooks: readonly Webhook[], before: number): string {
  return webhooks.map((_, index) => `$${before + index + 1}`).join(', ');
}

function idsOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ webhookId }) => webhookId);
}
