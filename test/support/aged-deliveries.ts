import type { DeliveryStatus } from '../../src/domain/attempt.ts';
import { eventNumber } from '../../src/domain/ids.ts';
import type { Database, SqlUuid } from '../../src/store/database/database.ts';
import { chunks, entityKey, valuesList } from '../../src/store/database/sql.ts';
import { countStoredBytes } from './delivery-counters.ts';
import { seedDeliveries, seedEvents as seedEventRows } from './seed-deliveries.ts';

/** Events and deliveries of any age, state and number of attempts, each under a name that a test can tell it by. */

export type AgedDelivery = {
  name: string;
  status: DeliveryStatus;
  createdAtMs: number;
  /** The name of its event; one of its own where absent. */
  eventId?: string;
  attempts?: number;
  body?: string;
  /** Where a completed delivery is being sent again. */
  redeliver?: number;
};

export async function seedAged(db: Database, entityId: string, deliveries: readonly AgedDelivery[]): Promise<void> {
  const rows = deliveries.map((delivery) => ({ ...delivery, eventId: delivery.eventId ?? eventOf(delivery.name) }));
  const events = new Map(rows.map((row) => [row.eventId, row]));
  const numbers = await seedEvents(
    db,
    entityId,
    [...events].map(([eventId, { createdAtMs, body }]) => ({
      eventId,
      createdAtMs,
      ...(body !== undefined && { body }),
    })),
  );
  const noOf = new Map([...events.keys()].map((eventId, index) => [eventId, numbers[index] ?? '']));
  const ids = await seedDeliveries(
    db,
    entityId,
    rows.map(({ status, createdAtMs, eventId, attempts = 1, redeliver }) => ({
      status,
      createdAtMs,
      attempts,
      eventNo: noOf.get(eventId) ?? '',
      // Held deliveries belong to a webhook of their own, which is suspended.
      webhookId: status === 'held' ? 'wh_aged_held' : 'wh_aged',
      event: 'LatePayment',
      networkId: 1,
      postUrl: 'https://aged.example/',
      ...(redeliver !== undefined && { redeliver }),
    })),
  );
  await seedAttempts(db, entityId, rows, ids);
  await countStoredBytes(db);
}

async function seedAttempts(
  db: Database,
  entityId: string,
  rows: readonly AgedDelivery[],
  ids: readonly string[],
): Promise<void> {
  const entity = entityKey(db.dialect, entityId);
  const attempts = rows.flatMap(({ attempts = 1, createdAtMs }, index) =>
    Array.from({ length: attempts }, (_, attempt) => [
      entity,
      db.dialect.bindUuid((ids[index] ?? '').slice('dlv_'.length)),
      attempt + 1,
      attempt === 0 ? 'first' : 'retry',
      'https://aged.example/',
      createdAtMs,
      12,
      200,
      'ok',
    ]),
  );
  await db.transaction(async (queries) => {
    for (const chunk of chunks(attempts)) {
      await queries.run(
        `insert into attempts
           (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, response)
         values ${valuesList(chunk.length, 9)}`,
        chunk.flat(),
      );
    }
  });
}

type AgedEvent = { eventId?: string; event?: string; createdAtMs: number; body?: string };

export async function seedEvents(db: Database, entityId: string, events: readonly AgedEvent[]): Promise<string[]> {
  const numbers = await seedEventRows(db, entityId, events);
  await countStoredBytes(db);
  return numbers;
}

export function eventOf(name: string): string {
  return `evt_of_${name}`;
}

/** The names of the deliveries that are left, in the order of their ids. */
export async function namesLeft(db: Database): Promise<string[]> {
  const { hexOf } = db.dialect;
  const events = await db.all<{ no: SqlUuid; event_id: string | null }>('select no, event_id from events');
  const names = new Map(events.map(({ no, event_id }) => [hexOf(no), (event_id ?? '').replace(/^evt_of_/, '')]));
  const rows = await db.all<{ id: SqlUuid }>('select id from queue union all select id from deliveries');
  return rows
    .map(({ id }) => hexOf(id))
    .sort()
    .map((hex) => names.get(eventNumber(hex)) ?? hex);
}
