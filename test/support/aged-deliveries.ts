import type { DeliveryStatus } from '../../src/domain/attempt.ts';
import type { Database, SqlValue } from '../../src/store/database/database.ts';
import { chunks, valuesList } from '../../src/store/database/sql.ts';

/** Events and deliveries as a long life leaves them behind: any age, any state, any number of attempts. */

export type AgedDelivery = {
  id: string;
  status: DeliveryStatus;
  createdAtMs: number;
  /** Set where something is still to be sent. */
  dueMs?: number | null;
  eventId?: string;
  attempts?: number;
  body?: string;
};

const IN_PROGRESS: readonly DeliveryStatus[] = ['pending', 'retrying'];

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
  await insert(
    db,
    `deliveries (entity_id, id, event_id, webhook_id, destination, status, due_ms, next_attempt_ms, created_at_ms,
       attempts, event, network_id, post_url)`,
    rows.map((row) => [
      entityId,
      row.id,
      row.eventId,
      'wh_aged',
      `${entityId} https://aged.example:443`,
      row.status,
      due(row),
      due(row),
      row.createdAtMs,
      row.attempts ?? 1,
      'LatePayment',
      1,
      'https://aged.example/',
    ]),
  );
  await insert(
    db,
    'attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, response)',
    rows.flatMap((row) =>
      Array.from({ length: row.attempts ?? 1 }, (_, index) => [
        entityId,
        row.id,
        index + 1,
        index === 0 ? 'first' : 'retry',
        'https://aged.example/',
        row.createdAtMs,
        12,
        200,
        'ok',
      ]),
    ),
  );
}

type AgedEvent = { id: string; createdAtMs: number; body?: string | undefined };

export function seedEvents(db: Database, entityId: string, events: readonly AgedEvent[]): Promise<void> {
  return insert(
    db,
    'events (entity_id, id, event, network_id, body, deliveries, created_at_ms)',
    events.map(({ id, createdAtMs, body = '{}' }) => [entityId, id, 'LatePayment', 1, body, 1, createdAtMs]),
  );
}

export function eventOf(deliveryId: string): string {
  return `evt_of_${deliveryId}`;
}

async function insert(db: Database, into: string, rows: readonly (readonly SqlValue[])[]): Promise<void> {
  for (const part of chunks(rows, 5_000)) {
    await db.transaction(async (queries) => {
      for (const chunk of chunks(part)) {
        await queries.run(
          `insert into ${into} values ${valuesList(chunk.length, chunk[0]?.length ?? 0)}`,
          chunk.flat(),
        );
      }
    });
  }
}
