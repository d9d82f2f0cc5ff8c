import { SUSPENDED_NOTICE } from '../../contract/endpoints/alerts.ts';
import type { SuspendReason } from '../../domain/attempt.ts';
import { deliveryHex } from '../../domain/ids.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlInteger } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { eventNumbers } from '../new-id.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { CountChanges } from './counts/counts.ts';
import { countEvents } from './counts/event-counts.ts';
import { urlKey } from './head-endpoints.ts';
import { alertHeadNo, changeHeads, type HeadTarget, makeHeads } from './heads.ts';

/** Alerts to the entity's own URL. Each alert is an event with one delivery, in a separate queue for each kind and network. */

/** Lists show this in place of a webhook's id. */
const ALERT_WEBHOOK_ID = 'notice';

type AlertTarget = Pick<HeadTarget, 'entityId' | 'networkId' | 'event' | 'postUrl'>;

function alertHead(target: AlertTarget): HeadTarget {
  return { ...target, webhookNo: alertHeadNo(target.networkId, target.event), webhookId: ALERT_WEBHOOK_ID };
}

/**
 * Runs in the transaction that suspends the webhook. The alert is retried like any other delivery. If the entity has no alert
 * URL, nothing is queued.
 */
export async function queueSuspendedAlert(
  queries: Queries,
  dialect: Dialect,
  webhook: HeadTarget,
  reason: SuspendReason,
  nowS: number,
): Promise<void> {
  const { entityId, webhookId, networkId, event, postUrl } = webhook;
  const suspended = { webhookId, networkId, event, postUrl };
  const about = { reason, webhook: suspended, dateSuspended: nowS };
  await queueAlert(queries, dialect, { entityId, networkId, event: SUSPENDED_NOTICE }, about);
}

/** Queues an alert, which is an event made by Paybell, for the URL that the entity has set for alerts. */
export async function queueAlert(
  queries: Queries,
  dialect: Dialect,
  { entityId, networkId, event }: Omit<AlertTarget, 'postUrl'>,
  about: Readonly<Record<string, unknown>>,
): Promise<void> {
  const alertUrl = await lockNoticeUrl(queries, entityId);
  if (alertUrl === null) return;
  const nowMs = await readNowMs(queries, dialect);
  const eventNo = eventNumbers.next(nowMs);
  const target = alertHead({ entityId, networkId, event, postUrl: alertUrl });
  const endpoints = await makeHeads(queries, dialect, [target], nowMs);
  // Wakes the head, and restores it if the alert URL was removed and set again.
  await changeHeads(queries, dialect, 'restore', [target], nowMs);
  const body = JSON.stringify({ eventId: `evt_${eventNo}`, event, ...about });
  const entity = entityKey(dialect, entityId);
  await queries.run(
    `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, body)
     values ($1, $2, $3, $4, 1, $5, $6)`,
    [entity, dialect.bindUuid(eventNo), networkId, nowMs, event, body],
  );
  await queries.run(
    `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, generation)
     values ($1, $2, $3, $4, $5, $5, 0)`,
    [
      entity,
      dialect.bindUuid(deliveryHex(eventNo, 1)),
      target.webhookNo,
      endpoints.get(urlKey(target))?.no ?? 0,
      nowMs,
    ],
  );
  const counts = new CountChanges(dialect, 'completion');
  counts.event(entity, { body, eventId: null });
  counts.queue(entity, target.webhookNo, { waiting: 1 });
  counts.deliveries(entity, target.webhookNo, eventNo, { created: 1 });
  await counts.write(queries);
  const counted = { entity, networkId, event, createdAtMs: nowMs, events: 1 };
  await countEvents(queries, dialect, [counted], 'completion');
}

/** Moves waiting alerts to the new URL, or cancels them if it is null. */
async function moveAlerts(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  alertUrl: string | null,
): Promise<void> {
  const rows = await queries.all<{ network_id: SqlInteger; event: string; post_url: string }>(
    'select network_id, event, post_url from queue_heads where entity_id = $1 and webhook_no < 0',
    [entityKey(dialect, entityId)],
  );
  if (rows.length === 0) return;
  const targets = rows.map(({ network_id, event, post_url }) =>
    alertHead({ entityId, networkId: Number(network_id), event, postUrl: alertUrl ?? post_url }),
  );
  const nowMs = await readNowMs(queries, dialect);
  await changeHeads(queries, dialect, alertUrl === null ? 'remove' : 'restore', targets, nowMs);
}

export async function readNoticeUrl(queries: Pick<Queries, 'get'>, entityId: string): Promise<string | null> {
  const row = await queries.get<{ notice_url: string | null }>('select notice_url from entities where id = $1', [
    entityId,
  ]);
  return row?.notice_url ?? null;
}

/**
 * Reads the URL under the entity's lock. An alert is either queued before the URL is removed, and then cancelled with all waiting
 * alerts, or it finds no URL. The entity's revision stays the same, so that caches stay valid.
 *
 * A transaction that locks rows of `endpoint_alerts` calls this first, in the order of `setNoticeUrl`. The lock is an update,
 * because a `select … for update` would wait for every transaction that has inserted a row which refers to the entity.
 */
export async function lockNoticeUrl(queries: Queries, entityId: string): Promise<string | null> {
  const row = await queries.get<{ notice_url: string | null }>(
    'update entities set notice_url = notice_url where id = $1 returning notice_url',
    [entityId],
  );
  return row?.notice_url ?? null;
}

export function setNoticeUrl(db: Database, entityId: string, noticeUrl: string | null, change: Change): Promise<void> {
  return db.transaction(async (queries) => {
    const before = await lockNoticeUrl(queries, entityId);
    if (before === noticeUrl) return;
    await queries.run('update entities set notice_url = $2 where id = $1', [entityId, noticeUrl]);
    await moveAlerts(queries, db.dialect, entityId, noticeUrl);
    // Alerts about endpoints that already fail become due now, and not tomorrow.
    const entity = entityKey(db.dialect, entityId);
    if (before === null) await queries.run('update endpoint_alerts set next_ms = 0 where entity_id = $1', [entity]);
    await recordChange(queries, entityId, change, {
      action: 'entity.updated',
      target: entityId,
      before: { noticeUrl: before },
      after: { noticeUrl },
    });
  });
}
