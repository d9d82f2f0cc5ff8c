import { MAX_WEBHOOKS_PER_REQUEST } from '../../contract/webhooks/limits.ts';
import type { Webhook, WebhookChanges, WebhookMatch } from '../../contract/webhooks.ts';
import { webhookFinalityText } from '../../domain/chain/finality-by-amount.ts';
import { DomainError } from '../../domain/errors.ts';
import { readNowMs } from '../database/clock.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../database/database.ts';
import { chunks, Parameters, type RowOf, readInteger, valuesList } from '../database/sql.ts';
import { ensureEndpoints, urlKey } from '../deliveries/head-endpoints.ts';
import { repeatIfHeadChanged } from '../deliveries/head-locks.ts';
import { changeHeads, type HeadTarget } from '../deliveries/heads.ts';
import { rekey, requireRekeyed } from '../deliveries/order/rekey.ts';
import { removeEmptyEndpoints } from '../endpoints/lifecycle.ts';
import { webhookTable } from '../tables.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { removeFromCounts } from './counts.ts';
import { assignFilter, dropUnusedFilters, isSameFilter } from './filters.ts';
import { SHOWN_WEBHOOK } from './list.ts';
import { noteOptions } from './option-changes.ts';
import { lockEntity } from './register.ts';
import {
  assignFinality,
  effectiveFinality,
  isSameFinality,
  readStoredOptions,
  requireAllowed,
  type StoredOptions,
} from './stored-options.ts';

/**
 * Reads, moves and deletes existing webhooks: one by its id, or all that match a filter. The same transaction changes the queue
 * of each webhook, which takes one row: its head.
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
  const work = async (queries: Queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const before = await readWebhook(queries, entityId, webhookId);
    if (before === null) return null;
    requireUnchanged(before, isExpected);
    if (before.postUrl === postUrl) return before;
    await moveAll(queries, db.dialect, entityId, [before], postUrl);
    const after = { ...before, postUrl };
    await recordChange(queries, entityId, change, { action: 'webhook.updated', target: webhookId, before, after });
    return after;
  };
  return repeatIfHeadChanged(() => db.transaction(work));
}

export async function deleteWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  isExpected: Precondition,
  change: Change,
): Promise<Webhook | null> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const before = await readWebhook(queries, entityId, webhookId);
    if (before === null) return null;
    requireUnchanged(before, isExpected);
    await deleteAll(queries, db.dialect, entityId, [before]);
    await recordChange(queries, entityId, change, { action: 'webhook.deleted', target: webhookId, before });
    return before;
  });
}

/**
 * Changes all matching webhooks or none, and returns how many changed. Webhooks that already have the wanted values are neither
 * changed nor counted.
 */
export async function changeMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  changes: WebhookChanges,
  change: Change,
): Promise<number> {
  const work = async (queries: Queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const { moving, filtering, finality, changed } = await findChanging(queries, entityId, match, changes);
    if (changed.length === 0) return 0;
    const { postUrl = '', options } = changes;
    if (moving.length > 0) await moveAll(queries, db.dialect, entityId, moving, postUrl);
    await noteOptions(queries, db.dialect, entityId, [...filtering, ...finality]);
    if (filtering.length > 0) await assignFilter(queries, entityId, filtering, options?.filter ?? null);
    if (finality.length > 0) await assignFinality(queries, entityId, finality, options?.finality ?? null);
    await recordChange(queries, entityId, change, {
      action: 'webhooks.updated',
      target: entityId,
      before: {
        match,
        webhooks: changed.map(({ webhookId, postUrl }) => ({ webhookId, postUrl })),
        ...(options === undefined ? {} : { options: groupByOptions(new Set([...filtering, ...finality])) }),
      },
      after: changes,
    });
    return changed.length;
  };
  return repeatIfHeadChanged(() => db.transaction(work));
}

/** Finds the matching webhooks that get another URL, another filter or another finality. */
async function findChanging(queries: Queries, entityId: string, match: WebhookMatch, changes: WebhookChanges) {
  const { postUrl, options: { filter, finality: asked } = {} } = changes;
  const found = await findMatching(queries, entityId, match);
  requireAllowed(found, asked ?? null, true);
  const moving = postUrl === undefined ? [] : found.filter((webhook) => webhook.postUrl !== postUrl);
  const stored = changes.options === undefined ? [] : await readStoredOptions(queries, entityId, idsOf(found));
  const filtering = filter === undefined ? [] : stored.filter((webhook) => !isSameFilter(webhook.filter, filter));
  const finality =
    asked === undefined
      ? []
      : stored.filter((webhook) => !isSameFinality(webhook.finality, effectiveFinality(webhook.event, asked)));
  const ids = new Set([...moving, ...filtering, ...finality].map(({ webhookId }) => webhookId));
  return { moving, filtering, finality, changed: found.filter(({ webhookId }) => ids.has(webhookId)) };
}

/** Groups webhooks by their options, because 1,000 webhooks may have the same large filter. */
function groupByOptions(webhooks: ReadonlySet<StoredOptions>) {
  const groups = Map.groupBy(webhooks, ({ hash, finality }) => `${webhookFinalityText(finality)} ${hash}`);
  return [...groups.values()].map((group) => ({
    finality: group[0]?.finality,
    filter: group[0]?.filter ?? null,
    webhookIds: group.map(({ webhookId }) => webhookId),
  }));
}

export async function deleteMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  change: Change,
): Promise<number> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const found = await findMatching(queries, entityId, match);
    if (found.length === 0) return 0;
    await deleteAll(queries, db.dialect, entityId, found);
    await recordChange(queries, entityId, change, {
      action: 'webhooks.deleted',
      target: entityId,
      before: { match, webhooks: found },
    });
    return found.length;
  });
}

/** How many webhooks a change or a deletion would change, under the same limits and conflicts, without changing them. */
export function countMatching(
  db: Database,
  entityId: string,
  match: WebhookMatch,
  changes: WebhookChanges | null,
): Promise<number> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    if (changes === null) return (await findMatching(queries, entityId, match)).length;
    const { moving, changed } = await findChanging(queries, entityId, match, changes);
    if (changes.postUrl !== undefined) await rejectDuplicates(queries, entityId, moving, changes.postUrl);
    return changed.length;
  });
}

async function findMatching(queries: Queries, entityId: string, match: WebhookMatch): Promise<Webhook[]> {
  const { webhookId, networkIds, networkId = networkIds, events, event = events, postUrl } = match;
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

const changedColumns = webhookTable.pick(['webhookId', 'networkId', 'event', 'postUrl', 'createdSeq', 'filterHash']);

async function moveAll(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  moving: readonly Webhook[],
  postUrl: string,
): Promise<void> {
  await rejectDuplicates(queries, entityId, moving, postUrl);
  const moved: HeadTarget[] = [];
  for (const chunk of chunks(moving)) {
    const parameters = new Parameters(postUrl);
    const where = webhookTable.where(parameters, { entityId, webhookId: idsOf(chunk) });
    const sql = `update webhooks set post_url = $1 where ${where} returning ${changedColumns.list}`;
    const rows = await changedColumns.all(queries, sql, parameters.values);
    moved.push(...rows.map((row) => toHead(entityId, row)));
  }
  const nowMs = await readNowMs(queries, dialect);
  const endpoint = (await ensureEndpoints(queries, dialect, [{ entityId, postUrl }], nowMs)).get(
    urlKey({ entityId, postUrl }),
  );
  const scope = { endpointNo: endpoint?.no ?? 0, isOrdered: (endpoint?.ordering ?? 0) !== 0 };
  const rescoped = { entityId, nowMs, scopes: moved.map(({ webhookNo }) => ({ webhookNo, ...scope })) };
  await rekey(queries, dialect, rescoped);
  await changeHeads(queries, dialect, 'move', moved, nowMs);
  await requireRekeyed(queries, dialect, rescoped);
  await removeEmptyEndpoints(queries, dialect, entityId, urlsOf(moving));
}

async function deleteAll(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  webhooks: readonly Webhook[],
): Promise<void> {
  const removed: HeadTarget[] = [];
  for (const chunk of chunks(webhooks)) {
    const parameters = new Parameters(entityId);
    const ids = parameters.list(idsOf(chunk));
    const sql = `delete from webhooks where entity_id = $1 and id in ${ids} returning ${changedColumns.list}`;
    const rows = await changedColumns.all(queries, sql, parameters.values);
    removed.push(...rows.map((row) => toHead(entityId, row)));
    const hashes = rows.map(({ filterHash }) => filterHash);
    await dropUnusedFilters(queries, entityId, hashes);
    await queries.run(`delete from webhook_health where entity_id = $1 and webhook_id in ${ids}`, parameters.values);
  }
  await removeFromCounts(queries, entityId, webhooks);
  await changeHeads(queries, dialect, 'remove', removed, await readNowMs(queries, dialect));
  await removeEmptyEndpoints(queries, dialect, entityId, urlsOf(webhooks));
}

function toHead(entityId: string, row: RowOf<typeof changedColumns>): HeadTarget {
  const { createdSeq, webhookId, networkId, event, postUrl } = row;
  return { entityId, webhookNo: createdSeq, webhookId, networkId, event, postUrl };
}

/** Throws if two webhooks of the entity would have the same network, event and URL: two moving webhooks, or a moving one and another. */
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

function urlsOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ postUrl }) => postUrl);
}

function idsOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ webhookId }) => webhookId);
}
