import type { SuspendReason } from '../../domain/attempt.ts';
import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { chunks } from '../database/sql.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { forgetFailures } from '../webhooks/health.ts';
import { lockEntity } from '../webhooks/register.ts';
import { dueUnclaimed } from './claim.ts';
import type { Claimed } from './claimed.ts';
import { queueSuspendedAlert } from './single.ts';

/**
 * What happens to the deliveries that wait when their webhook is deleted, moved, suspended or resumed. One transaction
 * takes a bounded share, so that a long backlog blocks nobody; what is missed in a race is put right when it is
 * claimed, since a claim looks at the webhook as it is then.
 */

const ROWS_PER_TRANSACTION = 1_000;
/** Settling takes milliseconds, so what is still passed over after these is stuck for another reason. */
const MAX_PASSES = 20;
const PASS_PAUSE_MS = 10;
const WAITING = `status in ('pending', 'retrying', 'held')`;

/** For webhooks that are deleted: nothing more is sent to them. */
export function cancelWaiting(db: Database, entityId: string, webhookIds: readonly string[]): Promise<void> {
  return changeWaiting(db, entityId, webhookIds, {
    set: `status = 'cancelled', due_ms = null, next_attempt_ms = null`,
    where: WAITING,
  });
}

/** For webhooks that have moved: what waits takes its turn at the new destination. */
export function redirectWaiting(
  db: Database,
  entityId: string,
  webhookIds: readonly string[],
  postUrl: string,
): Promise<void> {
  const set = 'destination = :value';
  const where = `${WAITING} and destination <> :value`;
  return changeWaiting(db, entityId, webhookIds, { set, where, value: destinationKey(entityId, postUrl) });
}

function holdWaiting(db: Database, entityId: string, webhookId: string): Promise<void> {
  return changeWaiting(db, entityId, [webhookId], {
    set: `status = 'held', due_ms = null, next_attempt_ms = null`,
    where: `status in ('pending', 'retrying')`,
  });
}

/** From the first step of the schedule again: the time that it was held says nothing about the receiver now. */
function releaseHeld(db: Database, entityId: string, webhookId: string, postUrl: string): Promise<void> {
  const { nowMs } = db.dialect;
  return changeWaiting(db, entityId, [webhookId], {
    set: `status = case when attempts > 0 then 'retrying' else 'pending' end,
          steps = 0, destination = :value, due_ms = ${nowMs}, next_attempt_ms = ${nowMs}`,
    where: `status = 'held'`,
    value: destinationKey(entityId, postUrl),
  });
}

type WaitingChange = { set: string; where: string; value?: string };

/**
 * A bounded share in each transaction, until nothing is left. What is being settled at the moment is passed over, since
 * waiting for it could end in a deadlock, and taken by a later pass: held, it would never be claimed and put right.
 */
async function changeWaiting(
  db: Database,
  entityId: string,
  webhookIds: readonly string[],
  { set, where, value = '' }: WaitingChange,
): Promise<void> {
  for (const chunk of chunks(webhookIds)) {
    const bind = (sql: string) => ({
      sql: sql.replaceAll(':value', `$${chunk.length + 2}`),
      // PostgreSQL takes no parameter that the text does not name.
      parameters: [entityId, ...chunk, ...(sql.includes(':value') ? [value] : [])],
    });
    const ids = chunk.map((_, index) => `$${index + 2}`).join(', ');
    const waiting = `select id from deliveries where entity_id = $1 and webhook_id in (${ids}) and ${where}`;
    // Materialized, or PostgreSQL may run the inner select once for each row and pass the limit.
    const change = bind(`with share as materialized (${waiting} limit ${ROWS_PER_TRANSACTION} ${db.dialect.skipLocked})
      update deliveries set ${set} where entity_id = $1 and id in (select id from share)`);
    const left = bind(`${waiting} limit 1`);
    const step = () => db.transaction((queries) => queries.run(change.sql, change.parameters));
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      while ((await step()) === ROWS_PER_TRANSACTION);
      if ((await db.get(left.sql, left.parameters)) === undefined) break;
      await Bun.sleep(PASS_PAUSE_MS);
    }
  }
}

/** Answers false when the webhook is gone or was suspended already. */
export async function suspendWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  reason: SuspendReason,
  change: Change,
): Promise<boolean> {
  const suspended = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const webhook = await queries.get<{ network_id: SqlInteger; event: string; post_url: string }>(
      `update webhooks set suspended_at = $3, suspended_reason = $4
       where entity_id = $1 and id = $2 and suspended_at is null returning network_id, event, post_url`,
      [entityId, webhookId, change.nowS, reason],
    );
    if (webhook === undefined) return false;
    const { event, post_url: postUrl } = webhook;
    const suspended = { webhookId, networkId: Number(webhook.network_id), event, postUrl };
    await queueSuspendedAlert(db, queries, entityId, suspended, reason, change.nowS);
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

/** Back into service, and what was held goes out. Answers null when there is no such webhook. */
export async function resumeWebhook(
  db: Database,
  entityId: string,
  webhookId: string,
  change: Change,
): Promise<{ resumed: boolean } | null> {
  const postUrl = await db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const webhook = await queries.get<{ post_url: string; suspended_reason: string | null }>(
      'select post_url, suspended_reason from webhooks where entity_id = $1 and id = $2',
      [entityId, webhookId],
    );
    if (webhook === undefined) return null;
    if (webhook.suspended_reason === null) return '';
    await queries.run(
      `update webhooks set suspended_at = null, suspended_reason = null, failing_since_ms = null
       where entity_id = $1 and id = $2`,
      [entityId, webhookId],
    );
    await forgetFailures(queries, entityId, webhookId);
    const before = { reason: webhook.suspended_reason };
    await recordChange(queries, entityId, change, { action: 'webhook.resumed', target: webhookId, before });
    return webhook.post_url;
  });
  if (postUrl === null) return null;
  if (postUrl !== '') await releaseHeld(db, entityId, webhookId, postUrl);
  return { resumed: postUrl !== '' };
}

/** A claimed delivery whose webhook turns out to be gone or suspended: it is not sent and uses up nothing. */
export async function parkClaimed(queries: Queries, claimed: Claimed, status: 'cancelled' | 'held'): Promise<void> {
  await queries.run(
    `update deliveries set claimed = 0, redeliver = 0, due_ms = null, next_attempt_ms = null,
       status = case when ${WAITING} then $4 else status end
     where entity_id = $1 and id = $2 and claim_token = $3`,
    [claimed.entityId, claimed.deliveryId, claimed.token, status],
  );
}

/** A claimed delivery whose webhook has moved elsewhere: due again at once, in the turn of its new destination. */
export async function redirectClaimed(
  db: Database,
  queries: Queries,
  claimed: Claimed,
  destination: DestinationKey,
): Promise<void> {
  await queries.run(
    `update deliveries set claimed = 0, destination = $4, due_ms = ${dueUnclaimed(db.dialect)}
     where entity_id = $1 and id = $2 and claim_token = $3 and due_ms is not null`,
    [claimed.entityId, claimed.deliveryId, claimed.token, destination],
  );
}

/** Written only when it changes: since when the webhook has had failures alone. */
export async function markFailing(db: Database, entityId: string, webhookId: string, failing: boolean): Promise<void> {
  const sql = failing
    ? `update webhooks set failing_since_ms = ${db.dialect.nowMs}
       where entity_id = $1 and id = $2 and failing_since_ms is null`
    : `update webhooks set failing_since_ms = null
       where entity_id = $1 and id = $2 and failing_since_ms is not null`;
  await db.transaction((queries) => queries.run(sql, [entityId, webhookId]));
}
