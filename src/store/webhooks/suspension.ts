import type { SuspendReason } from '../../domain/attempt.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlInteger } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { queueSuspendedAlert } from '../deliveries/alerts.ts';
import type { Claimed } from '../deliveries/claim/claimed.ts';
import { changeHeads, type HeadTarget } from '../deliveries/heads.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { forgetFailures } from './health.ts';
import { lockEntity } from './register.ts';

/** Suspends and resumes a webhook. This changes one row of the webhook and one row of its queue, however long the queue is. */

type WebhookRow = {
  network_id: SqlInteger;
  event: string;
  post_url: string;
  created_seq: SqlInteger;
  suspended_reason: SuspendReason | null;
};

async function readTarget(
  queries: Queries,
  entityId: string,
  webhookId: string,
): Promise<(HeadTarget & { reason: SuspendReason | null }) | null> {
  const row = await queries.get<WebhookRow>(
    'select network_id, event, post_url, created_seq, suspended_reason from webhooks where entity_id = $1 and id = $2',
    [entityId, webhookId],
  );
  if (row === undefined) return null;
  return {
    entityId,
    webhookNo: Number(row.created_seq),
    webhookId,
    networkId: Number(row.network_id),
    event: row.event,
    postUrl: row.post_url,
    reason: row.suspended_reason,
  };
}

/** The attempt that is the reason for a suspension. */
type Attempt = Pick<Claimed, 'generation' | 'postUrl'>;

/**
 * Suspends a webhook. Returns false if the webhook is deleted or suspended already, or if the attempt had another URL or a claim
 * from before a resume. The webhook's deliveries are on hold from the commit on.
 */
export function suspendWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  reason: SuspendReason,
  change: Change,
  attempt: Attempt | null = null,
): Promise<boolean> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const target = await readTarget(queries, entityId, webhookId);
    if (target === null || target.reason !== null) return false;
    if (attempt !== null && (await isOutdated(queries, db.dialect, target, attempt))) return false;
    await queries.run('update webhooks set suspended_at = $3, suspended_reason = $4 where entity_id = $1 and id = $2', [
      entityId,
      webhookId,
      change.nowS,
      reason,
    ]);
    await changeHeads(queries, db.dialect, 'suspend', [target], await readNowMs(queries, db.dialect));
    await queueSuspendedAlert(queries, db.dialect, target, reason, change.nowS);
    const after = { reason };
    await recordChange(queries, entityId, change, { action: 'webhook.suspended', target: webhookId, after });
    return true;
  });
}

async function isOutdated(
  queries: Queries,
  dialect: Dialect,
  target: HeadTarget,
  { generation, postUrl }: Attempt,
): Promise<boolean> {
  return postUrl !== target.postUrl || generation < (await readGeneration(queries, dialect, target));
}

async function readGeneration(
  queries: Queries,
  dialect: Dialect,
  { entityId, webhookNo }: HeadTarget,
): Promise<number> {
  const head = await queries.get<{ generation: SqlInteger }>(
    'select generation from queue_heads where entity_id = $1 and webhook_no = $2',
    [entityKey(dialect, entityId), webhookNo],
  );
  return Number(head?.generation ?? 0);
}

/** Resumes a webhook. Its deliveries on hold are due from the commit on. Returns null for an unknown webhook. */
export function resumeWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  change: Change,
): Promise<{ resumed: boolean } | null> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const target = await readTarget(queries, entityId, webhookId);
    if (target === null) return null;
    if (target.reason === null) return { resumed: false };
    await queries.run(
      'update webhooks set suspended_at = null, suspended_reason = null where entity_id = $1 and id = $2',
      [entityId, webhookId],
    );
    await changeHeads(queries, db.dialect, 'resume', [target], await readNowMs(queries, db.dialect));
    await forgetFailures(queries, entityId, webhookId);
    const before = { reason: target.reason };
    await recordChange(queries, entityId, change, { action: 'webhook.resumed', target: webhookId, before });
    return { resumed: true };
  });
}
