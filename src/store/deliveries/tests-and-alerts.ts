import { SUSPENDED_NOTICE } from '../../contract/webhook-health.ts';
import type { Webhook } from '../../contract/webhooks.ts';
import type { SuspendReason } from '../../domain/attempt.ts';
import { destinationKey } from '../../domain/destination.ts';
import type { Database, Queries } from '../database/database.ts';
import { newId } from '../new-id.ts';
import { readNoticeUrl } from '../webhooks/health.ts';
import type { AttemptRecord } from './record-attempts.ts';
import { insertAttempts } from './record-attempts.ts';

/** What lists show as the webhook of an alert, which has none. */
const ALERT_WEBHOOK_ID = 'notice';

/** Events with a single delivery that no registration matches: test requests and alerts. */

type SingleEvent = {
  entityId: string;
  eventId: string;
  event: string;
  networkId: number;
  body: string;
};

async function insertEvent(db: Database, queries: Queries, event: SingleEvent): Promise<void> {
  await queries.run(
    `insert into events (entity_id, id, event, network_id, body, deliveries, created_at_ms)
     values ($1, $2, $3, $4, $5, 1, ${db.dialect.nowMs})`,
    [event.entityId, event.eventId, event.event, event.networkId, event.body],
  );
}

/** Records a test request that was made: the delivery is completed, whatever the outcome. */
export function recordTest(db: Database, webhook: Webhook, made: AttemptRecord, delivered: boolean): Promise<void> {
  const { entityId, eventId, deliveryId, body } = made.delivery;
  const { nowMs } = db.dialect;
  return db.transaction(async (queries) => {
    const { event, networkId } = webhook;
    await insertEvent(db, queries, { entityId, eventId, event, networkId, body: body ?? '' });
    await queries.run(
      `insert into deliveries (entity_id, id, event_id, kind, webhook_id, destination, status, attempts, steps,
         created_at_ms, delivered_at_ms, last_status_code, last_error, event, network_id, post_url)
       values ($1, $2, $3, 'test', $4, $5, $6, 1, 1, ${nowMs}, case when $6 = 'delivered' then ${nowMs} else null end,
         $7, $8, $9, $10, $11)`,
      [
        entityId,
        deliveryId,
        eventId,
        webhook.webhookId,
        made.delivery.destination,
        delivered ? 'delivered' : 'failed',
        made.outcome.kind === 'response' ? made.outcome.statusCode : null,
        made.outcome.kind === 'error' ? made.outcome.error : null,
        event,
        networkId,
        made.delivery.postUrl,
      ],
    );
    await insertAttempts(queries, [made]);
  });
}

/** In the transaction that suspends: an entity with a notice URL gets an alert, delivered like any other event. */
export async function queueSuspendedAlert(
  db: Database,
  queries: Queries,
  entityId: string,
  webhook: { webhookId: string; networkId: number; event: string; postUrl: string },
  reason: SuspendReason,
  nowS: number,
): Promise<void> {
  const noticeUrl = await readNoticeUrl(queries, entityId);
  if (noticeUrl === null) return;
  const eventId = newId('evt');
  const body = JSON.stringify({ eventId, event: SUSPENDED_NOTICE, reason, webhook, dateSuspended: nowS });
  await insertEvent(db, queries, { entityId, eventId, event: SUSPENDED_NOTICE, networkId: webhook.networkId, body });
  const { nowMs } = db.dialect;
  await queries.run(
    `insert into deliveries (entity_id, id, event_id, kind, webhook_id, destination, status, due_ms, next_attempt_ms,
       created_at_ms, event, network_id, post_url)
     values ($1, $2, $3, 'alert', '${ALERT_WEBHOOK_ID}', $4, 'pending', ${nowMs}, ${nowMs}, ${nowMs}, $5, $6, $7)`,
    [
      entityId,
      newId('dlv'),
      eventId,
      destinationKey(entityId, noticeUrl),
      SUSPENDED_NOTICE,
      webhook.networkId,
      noticeUrl,
    ],
  );
}
