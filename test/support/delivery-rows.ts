import type { Delivery, DeliveryListQuery, Event, EventListQuery } from '../../src/contract/deliveries.ts';
import type { DeliveryStatus } from '../../src/domain/attempt.ts';
import type { Database, SqlValue } from '../../src/store/database/database.ts';
import { chunks, valuesList } from '../../src/store/database/sql.ts';

/** Events and deliveries as rows, and what a plain array gives for any list of them. */

export type EventSeed = { id: string; event: string; networkId: number; body: string; createdAtMs: number };

export type DeliverySeed = {
  id: string;
  eventId: string;
  webhookId: string;
  event: string;
  networkId: number;
  postUrl: string;
  status: DeliveryStatus;
  attempts: number;
  createdAtMs: number;
  nextAttemptMs: number | null;
  deliveredAtMs: number | null;
  lastStatusCode: number | null;
  lastError: string | null;
};

export function seedEventRows(db: Database, entityId: string, events: readonly EventSeed[]): Promise<void> {
  return insert(
    db,
    'events (entity_id, id, event, network_id, body, deliveries, created_at_ms)',
    events.map(({ id, event, networkId, body, createdAtMs }) => [entityId, id, event, networkId, body, 1, createdAtMs]),
  );
}

/** Nothing is due: what the engine would do with them is another matter. */
export function seedDeliveryRows(db: Database, entityId: string, deliveries: readonly DeliverySeed[]): Promise<void> {
  return insert(
    db,
    `deliveries (entity_id, id, event_id, webhook_id, destination, event, network_id, post_url, status, attempts,
       created_at_ms, next_attempt_ms, delivered_at_ms, last_status_code, last_error)`,
    deliveries.map((row) => [
      entityId,
      row.id,
      row.eventId,
      row.webhookId,
      `${entityId} https://example.com:443`,
      row.event,
      row.networkId,
      row.postUrl,
      row.status,
      row.attempts,
      row.createdAtMs,
      row.nextAttemptMs,
      row.deliveredAtMs,
      row.lastStatusCode,
      row.lastError,
    ]),
  );
}

async function insert(db: Database, into: string, rows: readonly (readonly SqlValue[])[]): Promise<void> {
  for (const part of chunks(rows, 10_000)) {
    await db.transaction(async (queries) => {
      for (const chunk of chunks(part)) {
        const values = valuesList(chunk.length, chunk[0]?.length ?? 0);
        await queries.run(`insert into ${into} values ${values}`, chunk.flat());
      }
    });
  }
}

export function eventsInModel(events: readonly EventSeed[], query: EventListQuery): Event[] {
  const matches = events.filter((row) => isMatch(row, row.id, query));
  return inDirection(matches.sort(byNumber((row) => row.createdAtMs)), query).map(toEvent);
}

export function deliveriesInModel(deliveries: readonly DeliverySeed[], query: DeliveryListQuery): Delivery[] {
  const matches = deliveries.filter(
    (row) =>
      isMatch(row, row.eventId, query) &&
      (query.webhookId === undefined || row.webhookId === query.webhookId) &&
      (query.status === undefined || row.status === query.status),
  );
  const key =
    query.sortBy === 'dateCreated'
      ? (row: DeliverySeed) => row.createdAtMs
      : (row: DeliverySeed) => row.nextAttemptMs ?? Number.POSITIVE_INFINITY;
  return inDirection(matches.sort(byNumber(key)), query).map(toDelivery);
}

type Filterable = { event: string; networkId: number; createdAtMs: number };

function isMatch(row: Filterable, eventId: string, query: EventListQuery | DeliveryListQuery): boolean {
  return (
    (query.eventId === undefined || eventId === query.eventId) &&
    (query.event === undefined || row.event === query.event) &&
    (query.networkId === undefined || row.networkId === query.networkId) &&
    (query.since === undefined || row.createdAtMs >= query.since * 1000) &&
    (query.until === undefined || row.createdAtMs < query.until * 1000)
  );
}

/** Equal ones by their ids, byte by byte. */
function byNumber<Row extends { id: string }>(key: (row: Row) => number): (a: Row, b: Row) => number {
  return (a, b) => {
    const [keyA, keyB] = [key(a), key(b)];
    if (keyA !== keyB) return keyA < keyB ? -1 : 1;
    return Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
  };
}

function inDirection<Row>(rows: Row[], { sortDir }: { sortDir: 'asc' | 'desc' }): Row[] {
  return sortDir === 'asc' ? rows : rows.reverse();
}

function toEvent({ id, event, networkId, body, createdAtMs }: EventSeed): Event {
  return { eventId: id, event, networkId, body, dateCreated: Math.floor(createdAtMs / 1000), deliveries: 1 };
}

function toDelivery(row: DeliverySeed): Delivery {
  const { eventId, webhookId, event, networkId, postUrl, status, attempts, lastStatusCode, lastError } = row;
  const seconds = (ms: number | null) => (ms === null ? null : Math.floor(ms / 1000));
  return {
    deliveryId: row.id,
    eventId,
    webhookId,
    event,
    networkId,
    postUrl,
    status,
    attempts,
    dateCreated: Math.floor(row.createdAtMs / 1000),
    dateNextAttempt: seconds(row.nextAttemptMs),
    dateDelivered: seconds(row.deliveredAtMs),
    lastStatusCode,
    lastError,
  };
}
