import type { DeliveryStatus } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/destination.ts';
import type { Database } from '../../src/store/database/database.ts';
import { attemptTable, deliveryTable } from '../../src/store/tables.ts';
import { LATE_ON_1 } from './deliveries.ts';
import { insertRows, seedEventRows } from './delivery-rows.ts';

/** Events and deliveries of any age, in any state, with any number of attempts. */

export type AgedDelivery = {
  id: string;
  status: DeliveryStatus;
  createdAtMs: number;
  /** Not null where an attempt follows. */
  dueMs?: number | null;
  eventId?: string;
  attempts?: number;
  body?: string;
};

const IN_PROGRESS: readonly DeliveryStatus[] = ['pending', 'retrying'];

const POST_URL = 'https://aged.example/';

const NEW_DELIVERY = deliveryTable.insertion([
  'entityId',
  'deliveryId',
  'eventId',
  'webhookId',
  'destination',
  'event',
  'networkId',
  'postUrl',
  'status',
  'attempts',
  'dueMs',
  'nextAttemptMs',
  'createdAtMs',
]);

const NEW_ATTEMPT = attemptTable.insertion([
  'entityId',
  'deliveryId',
  'attempt',
  'kind',
  'postUrl',
  'startedAtMs',
  'durationMs',
  'statusCode',
  'response',
]);

/** Each with an event of its own, unless it names one. */
export async function seedAged(db: Database, entityId: string, deliveries: readonly AgedDelivery[]): Promise<void> {
  const rows = deliveries.map((delivery) => ({ ...delivery, eventId: delivery.eventId ?? eventOf(delivery.id) }));
  const events = new Map(rows.map((row) => [row.eventId, row]));
  await seedEvents(
    db,
    entityId,
    [...events].map(([id, { createdAtMs, body }]) => ({ id, createdAtMs, body })),
  );
  const due = ({ status, dueMs, createdAtMs }: AgedDelivery) =>
    dueMs === undefined ? (IN_PROGRESS.includes(status) ? createdAtMs : null) : dueMs;
  await insertRows(
    db,
    NEW_DELIVERY,
    rows.map((row) => ({
      entityId,
      deliveryId: row.id,
      eventId: row.eventId,
      webhookId: 'wh_aged',
      destination: destinationKey(entityId, POST_URL),
      event: 'LatePayment',
      networkId: 1,
      postUrl: POST_URL,
      status: row.status,
      attempts: row.attempts ?? 1,
      dueMs: due(row),
      nextAttemptMs: due(row),
      createdAtMs: row.createdAtMs,
    })),
  );
  await insertRows(
    db,
    NEW_ATTEMPT,
    rows.flatMap(({ id, attempts = 1, createdAtMs }) =>
      Array.from({ length: attempts }, (_, index) => ({
        entityId,
        deliveryId: id,
        attempt: index + 1,
        kind: index === 0 ? ('first' as const) : ('retry' as const),
        postUrl: POST_URL,
        startedAtMs: createdAtMs,
        durationMs: 12,
        statusCode: 200,
        response: 'ok',
      })),
    ),
  );
}

type AgedEvent = { id: string; createdAtMs: number; body?: string | undefined };

export function seedEvents(db: Database, entityId: string, events: readonly AgedEvent[]): Promise<void> {
  const rows = events.map(({ id, createdAtMs, body = '{}' }) => ({ id, createdAtMs, body, ...LATE_ON_1 }));
  return seedEventRows(db, entityId, rows);
}

export function eventOf(deliveryId: string): string {
  return `evt_of_${deliveryId}`;
}
