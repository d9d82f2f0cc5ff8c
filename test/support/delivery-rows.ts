import type { Delivery, DeliveryListQuery } from '../../src/contract/deliveries.ts';
import type { Event, EventListQuery } from '../../src/contract/events/accepted-event.ts';
import type { DeliveryKind, DeliveryStatus } from '../../src/domain/attempt.ts';
import type { Database } from '../../src/store/database/database.ts';
import { seedDeliveries, seedEvents } from './seed-deliveries.ts';

/** Events and deliveries as rows, and what a plain array gives for any list of them. */

export type EventSeed = { id: string; event: string; networkId: number; body: string; createdAtMs: number };

export type DeliverySeed = {
  /** One of the events that are seeded with it. */
  eventId: string;
  /** An event, if it is left out. */
  kind?: DeliveryKind;
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

/** A row with the id that it got. */
export type DeliveryRow = DeliverySeed & { id: string };

export async function seedEventRows(db: Database, entityId: string, events: readonly EventSeed[]): Promise<void> {
  await seedEvents(
    db,
    entityId,
    events.map(({ id, ...event }) => ({ ...event, eventId: id })),
  );
}

/** With an event for each id that they name, whose date they get. Returns them in the order of their ids. */
export async function seedDeliveryRows(
  db: Database,
  entityId: string,
  given: readonly DeliverySeed[],
): Promise<DeliveryRow[]> {
  const dates = new Map(given.map(({ eventId, createdAtMs }) => [eventId, createdAtMs]));
  const eventIds = [...dates.keys()];
  const numbers = await seedEvents(
    db,
    entityId,
    [...dates].map(([eventId, createdAtMs]) => ({ eventId, createdAtMs })),
  );
  const deliveries = given.map((row) => ({ ...row, createdAtMs: dates.get(row.eventId) ?? 0 }));
  const ids = await seedDeliveries(
    db,
    entityId,
    deliveries.map((row) => ({
      ...row,
      eventNo: numbers[eventIds.indexOf(row.eventId)] ?? '',
      ...(row.nextAttemptMs !== null && { dueMs: row.nextAttemptMs }),
      endedAtMs: row.deliveredAtMs,
      statusCode: row.lastStatusCode,
      error: row.lastError,
    })),
  );
  const rows = deliveries.map((row, index) => ({ ...row, id: ids[index] ?? '' }));
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function eventsInModel(events: readonly EventSeed[], query: EventListQuery): Event[] {
  const matches = events.filter((row) => isMatch(row, row.id, query));
  // A stable sort: of two in one millisecond the first that was accepted is the first.
  return inDirection(
    matches.sort((a, b) => a.createdAtMs - b.createdAtMs),
    query,
  ).map(eventView);
}

/** A model knows neither payloads nor the requests of others. */
export type ModelDelivery = Omit<Delivery, 'waitsFor' | 'summary'>;

export function inModel({ waitsFor: _, summary: __, ...delivery }: Delivery): ModelDelivery {
  return delivery;
}

export function deliveriesInModel(deliveries: readonly DeliveryRow[], query: DeliveryListQuery): ModelDelivery[] {
  const matches = deliveries.filter(
    (row) =>
      isMatch(row, row.eventId, query) &&
      (query.webhookId === undefined || row.webhookId === query.webhookId) &&
      (query.status === undefined || row.status === query.status),
  );
  const key = (row: DeliveryRow) =>
    query.sortBy === 'dateCreated' ? 0 : (row.nextAttemptMs ?? Number.POSITIVE_INFINITY);
  const compare = (a: DeliveryRow, b: DeliveryRow) => {
    const [keyA, keyB] = [key(a), key(b)];
    if (keyA !== keyB) return keyA < keyB ? -1 : 1;
    return a.id < b.id ? -1 : 1;
  };
  return inDirection(matches.sort(compare), query).map(deliveryView);
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

function inDirection<Row>(rows: Row[], { sortDir }: { sortDir: 'asc' | 'desc' }): Row[] {
  return sortDir === 'asc' ? rows : rows.reverse();
}

function eventView({ id, event, networkId, body, createdAtMs }: EventSeed): Event {
  const dateCreated = Math.floor(createdAtMs / 1000);
  return { eventId: id, event, networkId, body, dateCreated, deliveries: 1, matched: true, retractedBy: null };
}

/** Of deliveries that no endpoint has numbered. */
const UNNUMBERED = { endpointId: null, sequence: null, supersededBy: null } as const;

function deliveryView(row: DeliveryRow): ModelDelivery {
  const { eventId, webhookId, event, networkId, postUrl, status, attempts, lastStatusCode, lastError } = row;
  const seconds = (ms: number | null) => (ms === null ? null : Math.floor(ms / 1000));
  return {
    deliveryId: row.id,
    kind: row.kind ?? 'event',
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
    ...UNNUMBERED,
    retractedBy: null,
  };
}
