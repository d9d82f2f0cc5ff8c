import {
  attemptSchema,
  type Delivery,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryListQuery,
  deliverySchema,
  type Event,
  type EventListQuery,
  eventSchema,
  MAX_ATTEMPTS_SHOWN,
} from '../../contract/deliveries.ts';
import { MAX_EVENT_BYTES } from '../../contract/events.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { countMatches, type ListSource, readPage } from '../database/paginate.ts';
import { Columns, nullable, Parameters, readInteger, text } from '../database/sql.ts';
import { attemptTable, deliveryTable, eventTable } from '../tables.ts';

/** Reading accepted events and the state of their deliveries. Totals are counted along an index. */

const SHOWN_EVENT = eventTable.pick(eventSchema.keyof().options);
const SHOWN_DELIVERY = deliveryTable.pick(deliverySchema.keyof().options);
const SHOWN_ATTEMPT = attemptTable.pick(attemptSchema.keyof().options);

const BY_DATE = ['created_at_ms', 'id'];

export async function listEvents(
  db: Database,
  entityId: string,
  query: EventListQuery,
): Promise<{ totalResults: number; events: Event[] }> {
  const { eventId, event, networkId, limit } = query;
  const parameters = new Parameters();
  const where = eventTable.where(parameters, { entityId, eventId, event, networkId, createdAtMs: periodOf(query) });
  const source = {
    table: 'events',
    columns: SHOWN_EVENT,
    where,
    order: BY_DATE,
    parameters: parameters.values,
    keysFirst: true,
    checkSize: limit <= DEFAULT_LIMIT ? undefined : requireSmallPage(entityId),
  };
  const { totalResults, rows: events } = await readPage(db, source, query);
  return { totalResults, events };
}

/** A page of the default length always fits, however large its events are. */
const MAX_PAGE_BYTES = DEFAULT_LIMIT * MAX_EVENT_BYTES;

/** Thirty responses of a hundred large events each took 800 MB and delayed all other requests for seconds. */
function requireSmallPage(entityId: string) {
  return async (queries: Queries, eventIds: readonly string[]): Promise<void> => {
    const parameters = new Parameters();
    const from = `from events where ${eventTable.where(parameters, { entityId, eventId: eventIds })}`;
    const bytes = await readInteger(queries, 'sum(octet_length(body))', from, parameters.values);
    if (bytes > MAX_PAGE_BYTES) throw new DomainError('event_page_too_large', { bytes, limitBytes: MAX_PAGE_BYTES });
  };
}

export async function readEvent(db: Database, entityId: string, eventId: string): Promise<Event | null> {
  const sql = `select ${SHOWN_EVENT.list} from events where entity_id = $1 and id = $2`;
  return (await SHOWN_EVENT.get(db, sql, [entityId, eventId])) ?? null;
}

/** The plus keeps SQLite from walking all deliveries by date: an event has few, found by its id and then sorted. */
const BY_DATE_SORTED = ['+created_at_ms', 'id'];
/** Deliveries without a next attempt come last when ascending. */
const BY_NEXT_ATTEMPT = ['coalesce(next_attempt_ms, 9007199254740991)', 'id'];

export async function listDeliveries(
  db: Database,
  entityId: string,
  query: DeliveryListQuery,
): Promise<{ totalResults: number; deliveries: Delivery[] }> {
  const { totalResults, rows: deliveries } = await readPage(db, pageSource(entityId, query), query);
  return { totalResults, deliveries };
}

type DeliverySource = ListSource<typeof SHOWN_DELIVERY.shape>;

function pageSource(entityId: string, query: DeliveryListQuery): DeliverySource {
  const byDate = query.eventId === undefined ? BY_DATE : BY_DATE_SORTED;
  const source = deliverySource(entityId, query, query.sortBy === 'dateCreated' ? byDate : BY_NEXT_ATTEMPT);
  const few = query.eventId !== undefined || (query.status !== undefined && query.status !== 'delivered');
  if (query.sortBy === 'dateCreated' || few) return source;
  // Among very many, only the unfinished have a next attempt. They are sorted; the others follow in the order of ids.
  return {
    ...source,
    sections: [
      {
        where: `${source.where} and ${UNFINISHED} and next_attempt_ms is not null`,
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

const BODY = new Columns({ ...SHOWN_DELIVERY.shape, body: nullable(text()) });

export function readDelivery(db: Database, entityId: string, deliveryId: string): Promise<DeliveryDetail | null> {
  return db.snapshot(async (queries) => {
    const delivery = await BODY.get(
      queries,
      `select ${BODY.list},
         (select e.body from events e where e.entity_id = d.entity_id and e.id = d.event_id) as body
       from deliveries d where entity_id = $1 and id = $2`,
      [entityId, deliveryId],
    );
    if (delivery === undefined) return null;
    const attempts = await SHOWN_ATTEMPT.all(
      queries,
      `select ${SHOWN_ATTEMPT.list} from attempts
       where entity_id = $1 and delivery_id = $2 order by attempt desc limit ${MAX_ATTEMPTS_SHOWN}`,
      [entityId, deliveryId],
    );
    return { ...delivery, body: delivery.body ?? '', attemptLog: attempts.reverse() };
  });
}

/** The condition of the index of states. SQLite uses that index only where a statement repeats it word for word. */
const NOT_DELIVERED = `status <> 'delivered'`;
const UNFINISHED = `status in ('pending', 'retrying') and ${NOT_DELIVERED}`;

export function deliverySource(entityId: string, filter: DeliveryFilter, order: readonly string[]): DeliverySource {
  const { eventId, event, networkId, webhookId, status } = filter;
  const parameters = new Parameters();
  const conditions = { entityId, eventId, event, networkId, createdAtMs: periodOf(filter), webhookId };
  const all = deliveryTable.where(parameters, conditions);
  const source = {
    table: 'deliveries',
    columns: SHOWN_DELIVERY,
    order,
    parameters: parameters.values,
    keysFirst: true,
  };
  if (status === undefined) return { ...source, where: all };
  // A literal and no parameter: the planner chooses the index by the value.
  const where = `${all} and status = '${status}'`;
  if (status !== 'delivered') return { ...source, where: `${where} and ${NOT_DELIVERED}` };
  // Nearly all are delivered, and no index has them: all minus the others is two short counts.
  const count = (matching: string) => `(select count(*) from deliveries where ${matching})`;
  return { ...source, where, count: `${count(all)} - ${count(`${all} and ${NOT_DELIVERED}`)}` };
}

function periodOf({ since, until }: Pick<DeliveryFilter, 'since' | 'until'>) {
  return { from: toMs(since), before: toMs(until) };
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
}
