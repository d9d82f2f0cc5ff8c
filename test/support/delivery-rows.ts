import type { Delivery, DeliveryListQuery, Event, EventListQuery } from '../../src/contract/deliveries.ts';
import type { AttemptError, DeliveryStatus } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/destination.ts';
import type { Database } from '../../src/store/database/database.ts';
import { chunks, type Insertion } from '../../src/store/database/sql.ts';
import { deliveryTable, eventTable } from '../../src/store/tables.ts';

/** Events and deliveries as rows, and the result of any list over a plain array of them. */

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
  lastError: AttemptError | null;
};

const NEW_EVENT = eventTable.insertion([
  'entityId',
  'eventId',
  'event',
  'networkId',
  'body',
  'deliveries',
  'createdAtMs',
]);

export function seedEventRows(db: Database, entityId: string, events: readonly EventSeed[]): Promise<void> {
  const rows = events.map(({ id, ...event }) => ({ entityId, eventId: id, ...event, deliveries: 1 }));
  return insertRows(db, NEW_EVENT, rows);
}

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
  'createdAtMs',
  'nextAttemptMs',
  'deliveredAtMs',
  'lastStatusCode',
  'lastError',
]);

/** Without a due time, so that no engine claims them. */
export function seedDeliveryRows(db: Database, entityId: string, deliveries: readonly DeliverySeed[]): Promise<void> {
  const destination = destinationKey(entityId, 'https://example.com');
  const rows = deliveries.map(({ id, ...delivery }) => ({ entityId, deliveryId: id, destination, ...delivery }));
  return insertRows(db, NEW_DELIVERY, rows);
}

/** In transactions of a bounded size. */
export async function insertRows<Row>(db: Database, insertion: Insertion<Row>, rows: readonly Row[]): Promise<void> {
  for (const part of chunks(rows, 5_000)) {
    await db.transaction(async (queries) => {
      for (const chunk of chunks(part)) await queries.run(insertion.text(chunk.length), insertion.parameters(chunk));
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

/** Ties are ordered by id, byte by byte. */
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
