import {
  type AttemptView,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryListQuery,
  type DeliveryView,
  type EventListQuery,
  type EventView,
  MAX_ATTEMPTS_SHOWN,
} from '../../contract/deliveries.ts';
import { MAX_EVENT_BYTES } from '../../contract/events.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { countMatches, type ListSource, readPage } from '../database/paginate.ts';
import { Parameters } from '../database/sql.ts';

/** Reading what was accepted and where each delivery stands. Totals are counted along an index. */

type EventRow = {
  id: string;
  event: string;
  network_id: SqlInteger;
  body: string;
  deliveries: SqlInteger;
  created_at_ms: SqlInteger;
};

const BY_DATE = ['created_at_ms', 'id'];

const EVENT_COLUMNS = 'id, event, network_id, body, deliveries, created_at_ms';

export async function listEvents(
  db: Database,
  entityId: string,
  query: EventListQuery,
): Promise<{ totalResults: number; events: EventView[] }> {
  const parameters = new Parameters();
  const where = whereOf(parameters, entityId, 'id', query);
  const source = {
    table: 'events',
    columns: EVENT_COLUMNS,
    where,
    order: BY_DATE,
    parameters: parameters.values,
    keysFirst: true,
    weigh: query.limit <= DEFAULT_LIMIT ? undefined : requireLight(entityId),
  };
  const { totalResults, rows } = await readPage<EventRow>(db, source, query);
  return { totalResults, events: rows.map(toEvent) };
}

/** A page of the default length always fits, whatever its events are like. */
const MAX_PAGE_BYTES = DEFAULT_LIMIT * MAX_EVENT_BYTES;

/** Thirty answers of a hundred large events each took 800 MB and kept everybody else waiting for seconds. */
function requireLight(entityId: string) {
  return async (queries: Queries, keys: readonly string[]): Promise<void> => {
    const row = await queries.get<{ bytes: SqlInteger | null }>(
      `select sum(octet_length(body)) as bytes from events
       where entity_id = $1 and id in (${keys.map((_, index) => `$${index + 2}`).join(', ')})`,
      [entityId, ...keys],
    );
    const bytes = Number(row?.bytes ?? 0);
    if (bytes > MAX_PAGE_BYTES) throw new DomainError('event_page_too_large', { bytes, limitBytes: MAX_PAGE_BYTES });
  };
}

export async function readEvent(db: Database, entityId: string, eventId: string): Promise<EventView | null> {
  const row = await db.get<EventRow>(`select ${EVENT_COLUMNS} from events where entity_id = $1 and id = $2`, [
    entityId,
    eventId,
  ]);
  return row === undefined ? null : toEvent(row);
}

type DeliveryRow = {
  id: string;
  event_id: string;
  webhook_id: string;
  event: string;
  network_id: SqlInteger;
  post_url: string;
  status: DeliveryView['status'];
  attempts: SqlInteger;
  created_at_ms: SqlInteger;
  next_attempt_ms: SqlInteger | null;
  delivered_at_ms: SqlInteger | null;
  last_status_code: SqlInteger | null;
  last_error: string | null;
};

const DELIVERY_COLUMNS =
  'id, event_id, webhook_id, event, network_id, post_url, status, attempts, created_at_ms, next_attempt_ms, ' +
  'delivered_at_ms, last_status_code, last_error';

/** The plus keeps SQLite from walking the dates of all: an event has few deliveries, found by it and then sorted. */
const BY_DATE_SORTED = ['+created_at_ms', 'id'];
/** Those with no attempt to come have no place in that order: they come after all that have, or before them. */
const BY_NEXT_ATTEMPT = ['coalesce(next_attempt_ms, 9007199254740991)', 'id'];

export async function listDeliveries(
  db: Database,
  entityId: string,
  query: DeliveryListQuery,
): Promise<{ totalResults: number; deliveries: DeliveryView[] }> {
  const { totalResults, rows } = await readPage<DeliveryRow>(db, pageSource(entityId, query), query);
  return { totalResults, deliveries: rows.map(toDelivery) };
}

function pageSource(entityId: string, query: DeliveryListQuery): ListSource {
  const byDate = query.eventId === undefined ? BY_DATE : BY_DATE_SORTED;
  const source = deliverySource(entityId, query, query.sortBy === 'dateCreated' ? byDate : BY_NEXT_ATTEMPT);
  const few = query.eventId !== undefined || (query.status !== undefined && query.status !== 'delivered');
  if (query.sortBy === 'dateCreated' || few) return source;
  // Of very many only those still on their way have a next attempt: they are sorted, the others stand by their ids.
  return {
    ...source,
    lots: [
      {
        where: `${source.where} and ${ON_THEIR_WAY} and next_attempt_ms is not null`,
        order: ['next_attempt_ms', 'id'],
      },
      { where: `${source.where} and next_attempt_ms is null`, order: ['id'] },
    ],
  };
}

export function countDeliveries(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  filter: DeliveryFilter,
): Promise<number> {
  return countMatches(queries, deliverySource(entityId, filter, []));
}

export function readDelivery(db: Database, entityId: string, deliveryId: string): Promise<DeliveryDetail | null> {
  return db.snapshot(async (queries) => {
    const row = await queries.get<DeliveryRow & { body: string | null }>(
      `select ${DELIVERY_COLUMNS},
         (select e.body from events e where e.entity_id = d.entity_id and e.id = d.event_id) as body
       from deliveries d where entity_id = $1 and id = $2`,
      [entityId, deliveryId],
    );
    if (row === undefined) return null;
    const attempts = await queries.all<AttemptRow>(
      `select attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response from attempts
       where entity_id = $1 and delivery_id = $2 order by attempt desc limit ${MAX_ATTEMPTS_SHOWN}`,
      [entityId, deliveryId],
    );
    return { ...toDelivery(row), body: row.body ?? '', attemptLog: attempts.reverse().map(toAttempt) };
  });
}

/** The second condition is what the index of states is made for, and SQLite wants to read it in those words. */
const NOT_DELIVERED = `status <> 'delivered'`;
const ON_THEIR_WAY = `status in ('pending', 'retrying') and ${NOT_DELIVERED}`;

export function deliverySource(entityId: string, filter: DeliveryFilter, order: readonly string[]): ListSource {
  const parameters = new Parameters();
  const all = [
    whereOf(parameters, entityId, 'event_id', filter),
    ...(filter.webhookId === undefined ? [] : [`webhook_id = ${parameters.bind(filter.webhookId)}`]),
  ].join(' and ');
  const table = 'deliveries';
  const source = { table, columns: DELIVERY_COLUMNS, order, parameters: parameters.values, keysFirst: true };
  if (filter.status === undefined) return { ...source, where: all };
  // Written out, not bound: a planner has to see which is meant.
  const where = `${all} and status = '${filter.status}'`;
  if (filter.status !== 'delivered') return { ...source, where: `${where} and ${NOT_DELIVERED}` };
  // Nearly all are, and no index has them: all less the others is two short counts.
  const count = (matching: string) => `(select count(*) from ${table} where ${matching})`;
  return { ...source, where, count: `select ${count(all)} - ${count(`${all} and ${NOT_DELIVERED}`)} as total` };
}

function whereOf(
  parameters: Parameters,
  entityId: string,
  eventIdColumn: 'id' | 'event_id',
  { eventId, event, networkId, since, until }: Omit<DeliveryFilter, 'webhookId' | 'status'>,
): string {
  return [
    `entity_id = ${parameters.bind(entityId)}`,
    ...(eventId === undefined ? [] : [`${eventIdColumn} = ${parameters.bind(eventId)}`]),
    ...(event === undefined ? [] : [`event = ${parameters.bind(event)}`]),
    ...(networkId === undefined ? [] : [`network_id = ${parameters.bind(networkId)}`]),
    ...(since === undefined ? [] : [`created_at_ms >= ${parameters.bind(toMs(since))}`]),
    ...(until === undefined ? [] : [`created_at_ms < ${parameters.bind(toMs(until))}`]),
  ].join(' and ');
}

function toMs(seconds: number): number {
  return Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
}

function toSeconds(ms: SqlInteger | null): number | null {
  return ms === null ? null : Math.floor(Number(ms) / 1000);
}

function toEvent(row: EventRow): EventView {
  return {
    eventId: row.id,
    event: row.event,
    networkId: Number(row.network_id),
    body: row.body,
    dateCreated: Math.floor(Number(row.created_at_ms) / 1000),
    deliveries: Number(row.deliveries),
  };
}

function toDelivery(row: DeliveryRow): DeliveryView {
  return {
    deliveryId: row.id,
    eventId: row.event_id,
    webhookId: row.webhook_id,
    event: row.event,
    networkId: Number(row.network_id),
    postUrl: row.post_url,
    status: row.status,
    attempts: Number(row.attempts),
    dateCreated: Math.floor(Number(row.created_at_ms) / 1000),
    dateNextAttempt: toSeconds(row.next_attempt_ms),
    dateDelivered: toSeconds(row.delivered_at_ms),
    lastStatusCode: row.last_status_code === null ? null : Number(row.last_status_code),
    lastError: row.last_error,
  };
}

type AttemptRow = {
  attempt: SqlInteger;
  kind: AttemptView['kind'];
  post_url: string;
  started_at_ms: SqlInteger;
  duration_ms: SqlInteger;
  status_code: SqlInteger | null;
  error: AttemptView['error'];
  response: string | null;
};

function toAttempt(row: AttemptRow): AttemptView {
  return {
    attempt: Number(row.attempt),
    kind: row.kind,
    postUrl: row.post_url,
    startedAtMs: Number(row.started_at_ms),
    durationMs: Number(row.duration_ms),
    statusCode: row.status_code === null ? null : Number(row.status_code),
    error: row.error,
    response: row.response,
  };
}
