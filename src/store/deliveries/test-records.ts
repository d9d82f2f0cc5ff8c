import type { Webhook } from '../../contract/webhooks.ts';
import { fitsRecord, isSuccess } from '../../domain/attempt.ts';
import { deliveryHex, timeOfHex } from '../../domain/ids.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { entityKey } from '../database/sql.ts';
import { eventNumbers } from '../new-id.ts';
import { CountChanges } from './counts/counts.ts';
import { countEvents } from './counts/event-counts.ts';
import { urlKey } from './head-endpoints.ts';
import { makeHeads } from './heads.ts';
import { type AttemptRecord, insertAttempts } from './record/attempt-log.ts';
import { STATUS_CODES } from './states.ts';

/** Test requests: events with one delivery that was complete before it was stored. */

/** The ids of a test request, made before it is sent. */
export async function newTestIds(db: Database): Promise<{ eventId: string; deliveryId: string }> {
  const eventNo = eventNumbers.next(await readNowMs(db, db.dialect));
  return { eventId: `evt_${eventNo}`, deliveryId: `dlv_${deliveryHex(eventNo, 1)}` };
}

/** Records the request and its result, unless the webhook was deleted during the request. */
export function recordTest(db: Database, webhook: Webhook, attempt: AttemptRecord): Promise<void> {
  const { dialect } = db;
  const { delivery, outcome, startedAtMs } = attempt;
  const { entityId, eventId, deliveryId, body } = delivery;
  return db.transaction(async (queries) => {
    const webhookNo = await readWebhookNo(queries, entityId, webhook.webhookId);
    if (webhookNo === null) return;
    const createdAtMs = timeOfHex(deliveryId.slice('dlv_'.length));
    const nowMs = await readNowMs(queries, dialect);
    const target = { ...webhook, entityId, webhookNo };
    const endpoints = await makeHeads(queries, dialect, [target], nowMs);
    const entity = entityKey(dialect, entityId);
    const { networkId, event } = webhook;
    await queries.run(
      `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, body)
       values ($1, $2, $3, $4, 1, $5, $6)`,
      [entity, dialect.bindUuid(eventId.slice('evt_'.length)), networkId, createdAtMs, event, body ?? ''],
    );
    const status = isSuccess(outcome) ? 'delivered' : 'failed';
    const response = outcome.kind === 'response' ? outcome : null;
    const isOnly = fitsRecord(delivery, outcome);
    await queries.run(
      `insert into deliveries (entity_id, id, webhook_no, endpoint_no, created_at_ms, ended_at_ms, started_at_ms,
         duration_ms, attempts, status, status_code, test, error, response)
       values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10, 1, $11, $12)`,
      [
        entity,
        dialect.bindUuid(deliveryId.slice('dlv_'.length)),
        webhookNo,
        endpoints.get(urlKey({ entityId, postUrl: webhook.postUrl }))?.no ?? 0,
        createdAtMs,
        status === 'delivered' ? nowMs : null,
        isOnly ? startedAtMs : null,
        isOnly ? Math.round(outcome.durationMs) : null,
        STATUS_CODES[status],
        response?.statusCode ?? null,
        outcome.kind === 'error' ? outcome.error : null,
        isOnly ? (response?.body ?? null) : null,
      ],
    );
    const counts = new CountChanges(dialect, 'completion');
    counts.event(entity, { body: body ?? '', eventId: null });
    counts.deliveries(entity, webhookNo, deliveryId.slice('dlv_'.length), { created: 1, [status]: 1 });
    if (isOnly) counts.stored(entity, Buffer.byteLength(response?.body ?? ''));
    else await insertAttempts({ queries, dialect, counts }, [attempt]);
    await counts.write(queries);
    await countEvents(queries, dialect, [{ entity, networkId, event, createdAtMs, events: 1 }], 'completion');
  });
}

async function readWebhookNo(queries: Queries, entityId: string, webhookId: string): Promise<number | null> {
  const row = await queries.get<{ created_seq: SqlInteger }>(
    'select created_seq from webhooks where entity_id = $1 and id = $2',
    [entityId, webhookId],
  );
  return row === undefined ? null : Number(row.created_seq);
}
