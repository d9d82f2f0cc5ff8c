import type { SuspendReason } from '../../domain/attempt.ts';
import type { Database } from '../database/database.ts';
import { holdWaiting, releaseHeld } from '../deliveries/states.ts';
import { queueSuspendedAlert } from '../deliveries/tests-and-alerts.ts';
import { webhookTable } from '../tables.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { forgetFailures } from './health.ts';
import { lockEntity } from './register.ts';

/** Suspending and resuming webhooks. Their waiting deliveries are held or released after the commit. */

const SUSPENDED = webhookTable.pick(['webhookId', 'networkId', 'event', 'postUrl']);

/** Returns false when the webhook was deleted or is suspended already. */
export async function suspendWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  reason: SuspendReason,
  change: Change,
): Promise<boolean> {
  const suspended = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const webhook = await SUSPENDED.get(
      queries,
      `update webhooks set suspended_at = $3, suspended_reason = $4
       where entity_id = $1 and id = $2 and suspended_at is null returning ${SUSPENDED.list}`,
      [entityId, webhookId, change.nowS, reason],
    );
    if (webhook === undefined) return false;
    await queueSuspendedAlert(db, queries, entityId, webhook, reason, change.nowS);
    await recordChange(queries, entityId, change, {
      action: 'webhook.suspended',
      target: webhookId,
      after: { reason },
    });
    return true;
  });
  if (suspended) await holdWaiting(db, entityId, webhookId);
  return suspended;
}

const RESUMED = webhookTable.pick(['postUrl', 'suspendedReason']);

/** Returns null when there is no such webhook. */
export async function resumeWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  change: Change,
): Promise<{ resumed: boolean } | null> {
  const webhook = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const sql = `select ${RESUMED.list} from webhooks where entity_id = $1 and id = $2`;
    const found = await RESUMED.get(queries, sql, [entityId, webhookId]);
    if (found === undefined || found.suspendedReason === null) return found;
    await queries.run(
      `update webhooks set suspended_at = null, suspended_reason = null, failing_since_ms = null
       where entity_id = $1 and id = $2`,
      [entityId, webhookId],
    );
    await forgetFailures(queries, entityId, webhookId);
    const before = { reason: found.suspendedReason };
    await recordChange(queries, entityId, change, { action: 'webhook.resumed', target: webhookId, before });
    return found;
  });
  if (webhook === undefined) return null;
  const resumed = webhook.suspendedReason !== null;
  if (resumed) await releaseHeld(db, entityId, webhookId, webhook.postUrl);
  return { resumed };
}

/** Since when every attempt for the webhook has failed; written only when that changes. */
export async function markFailing(db: Database, entityId: string, webhookId: string, failing: boolean): Promise<void> {
  const sql = failing
    ? `update webhooks set failing_since_ms = ${db.dialect.nowMs}
       where entity_id = $1 and id = $2 and failing_since_ms is null`
    : `update webhooks set failing_since_ms = null
       where entity_id = $1 and id = $2 and failing_since_ms is not null`;
  await db.transaction((queries) => queries.run(sql, [entityId, webhookId]));
}
