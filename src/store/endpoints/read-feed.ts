import type { Feed, FeedEntry } from '../../contract/endpoints/feed.ts';
import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import {
  byEntity,
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  planForClaims,
  type RowOf,
  text,
  valuesList,
} from '../database/sql.ts';
import { type DeliveryRow, eventNoOf, readRows, toDeliveries } from '../deliveries/list/rows.ts';
import { markShown, readUnmarked } from '../deliveries/shown.ts';
import { eventTable, sequenceTable } from '../tables.ts';
import { ID_DIGITS } from './sequences.ts';

/** Reads an endpoint's deliveries by their sequence numbers. */

/** One URL of one entity. */
export type EndpointKey = { readonly entityId: string; readonly endpointNo: number };

export type FeedPosition = { readonly after: number; readonly limit: number };

/** If the endpoint has no sequence numbers yet, all columns but the URL are null. */
const counterColumns = new Columns({
  postUrl: text('e.post_url'),
  firstSequence: nullable(integer('s.first_sequence')),
  lastSequence: nullable(integer('s.last_sequence')),
  recent: nullable(text('s.recent')),
});
type Counter = RowOf<typeof counterColumns>;

const blockColumns = new Columns({ first: integer('first_sequence'), digits: text('ids') });
const bodyColumns = eventTable.pick(['no', 'body']);
const lastColumns = sequenceTable.pick(['entity', 'endpointNo', 'lastSequence']);

export type FeedPage = { readonly postUrl: string; readonly feed: Feed };

/** Limit on the characters of the bodies in one response. The response has no further entry after reaching it. */
const MAX_BODY_LENGTH = 2_000_000;
/** Bodies that are read at a time. The limit is exceeded by these at most. */
const BODIES_PER_READ = 10;

/**
 * Reads a page of the feed. Returns null if the entity has no such endpoint. Deliveries without an attempt are marked first,
 * because the reader of the feed may have them from then on, and a retraction must follow.
 */
export async function readFeed(db: Database, endpoint: EndpointKey, position: FeedPosition): Promise<FeedPage | null> {
  const found = await readPage(db, endpoint, { ...position, last: Number.MAX_SAFE_INTEGER });
  if (found === null || found.unmarked.length === 0) return found;
  await markShown(db, endpoint.entityId, found.unmarked);
  // Reads the page again, because a delivery may have been retracted before the mark. Later deliveries are not marked.
  return readPage(db, endpoint, { ...position, last: found.feed.deliveries.at(-1)?.sequence ?? 0 });
}

type FoundPage = FeedPage & {
  /** Deliveries without an attempt that the feed has not shown before. */
  readonly unmarked: readonly SqlUuid[];
};

function readPage(
  db: Database,
  endpoint: EndpointKey,
  position: FeedPosition & { readonly last: number },
): Promise<FoundPage | null> {
  const { dialect } = db;
  const entity = entityKey(dialect, endpoint.entityId);
  const key: SqlValue[] = [entity, endpoint.endpointNo];
  // Reads in one snapshot: a delivery that is completed between two reads would be in neither table.
  return db.snapshot(async (queries) => {
    const nowMs = await planForClaims(queries, dialect);
    const counter = await counterColumns.get(
      queries,
      `select ${counterColumns.list} from endpoints e
       left join endpoint_sequences s on s.entity_id = e.entity_id and s.endpoint_no = e.no
       where e.entity_id = $1 and e.no = $2`,
      key,
    );
    if (counter === undefined) return null;
    const firstSequence = counter.firstSequence ?? 1;
    const lastSequence = counter.lastSequence ?? 0;
    const from = Math.max(position.after + 1, firstSequence);
    const until = Math.min(lastSequence, position.last, from + position.limit - 1);
    const ids = from > until ? [] : await readIds(queries, key, counter, { from, until, lastSequence });
    const deliveries = await readEntries(queries, dialect, endpoint.entityId, from, ids, nowMs);
    const waiting = deliveries.flatMap(({ status }, index) => (mayWaitForFirst(status) ? (ids[index] ?? []) : []));
    const unmarked = await readUnmarked(queries, dialect, entity, waiting);
    return { postUrl: counter.postUrl, feed: { firstSequence, lastSequence, deliveries }, unmarked };
  }, endpoint.entityId);
}

function mayWaitForFirst(status: FeedEntry['status']): boolean {
  return status === 'pending' || status === 'held';
}

type Range = { readonly from: number; readonly until: number; readonly lastSequence: number };

/** The ids of the deliveries with these sequence numbers, in order. */
async function readIds(
  queries: Queries,
  key: readonly SqlValue[],
  { recent }: Counter,
  { from, until, lastSequence }: Range,
): Promise<string[]> {
  const blocks = await blockColumns.all(
    queries,
    `select ${blockColumns.list} from endpoint_numbers
     where entity_id = $1 and endpoint_no = $2 and first_sequence <= $4
       and first_sequence >= coalesce((select max(b.first_sequence) from endpoint_numbers b
         where b.entity_id = $1 and b.endpoint_no = $2 and b.first_sequence <= $3), 0)
     order by first_sequence`,
    [...key, from, until],
  );
  const tail = recent ?? '';
  const ids: string[] = [];
  for (const { first, digits } of [...blocks, { first: lastSequence - tail.length / ID_DIGITS + 1, digits: tail }]) {
    for (let at = 0; at < digits.length; at += ID_DIGITS) {
      const number = first + at / ID_DIGITS;
      if (number >= from && number <= until) ids.push(digits.slice(at, at + ID_DIGITS));
    }
  }
  return ids;
}

async function readEntries(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  from: number,
  ids: readonly string[],
  nowMs: number,
): Promise<FeedEntry[]> {
  const entity = entityKey(dialect, entityId);
  const entries: FeedEntry[] = [];
  let length = 0;
  for (const chunk of chunks(ids, BODIES_PER_READ)) {
    const rows = await readRows(queries, dialect, entity, chunk);
    const deliveries = await toDeliveries(queries, dialect, entity, rows, nowMs);
    const bodies = await readBodies(queries, dialect, entity, rows);
    const byId = new Map(rows.map((row, index) => [dialect.hexOf(row.id), { row, delivery: deliveries[index] }]));
    for (const id of chunk) {
      const { row, delivery } = byId.get(id) ?? {};
      const sequence = from + entries.length;
      if (row === undefined || delivery === undefined) {
        entries.push({ ...REMOVED, sequence });
        continue;
      }
      const { deliveryId, eventId, event, networkId, status, dateCreated } = delivery;
      const body = bodies.get(eventNoOf(dialect, row)) ?? '';
      length += body.length;
      entries.push({ sequence, deliveryId, eventId, event, networkId, status, dateCreated, body });
    }
    if (length >= MAX_BODY_LENGTH) break;
  }
  return entries;
}

/** A delivery that retention has deleted. */
const REMOVED = {
  deliveryId: null,
  eventId: null,
  event: null,
  networkId: null,
  status: 'removed',
  dateCreated: null,
  body: null,
} as const;

async function readBodies(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
): Promise<Map<string, string>> {
  const numbers = new Set(rows.map((row) => eventNoOf(dialect, row)));
  const from = 'from events where entity_id = $1 and no in';
  const events = await bodyColumns.allIn(queries, from, [entity], [...numbers].map(dialect.bindUuid));
  return new Map(events.map(({ no, body }) => [dialect.hexOf(no), body]));
}

/** The highest sequence number of each endpoint, in the order given; 0 for an endpoint without numbers. */
export async function readLastSequences(db: Database, endpoints: readonly EndpointKey[]): Promise<number[]> {
  const { dialect } = db;
  const last = new Map<string, number>();
  const keyOf = (entity: SqlUuid, no: number) => `${dialect.hexOf(entity)} ${no}`;
  for (const chunk of byEntity(dialect, endpoints).flatMap((some) => [...chunks(some)])) {
    const rows = await lastColumns.all(
      db,
      `with wanted (entity_id, endpoint_no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, 'bigint'])})
       select ${lastColumns.of('s.')} from wanted w
       ${dialect.lookUp('cross join', 'endpoint_sequences', 's', { entity_id: 'w.entity_id', endpoint_no: 'w.endpoint_no' })}`,
      chunk.flatMap(({ entityId, endpointNo }): SqlValue[] => [entityKey(dialect, entityId), endpointNo]),
    );
    for (const { entity, endpointNo, lastSequence } of rows) last.set(keyOf(entity, endpointNo), lastSequence);
  }
  return endpoints.map(({ entityId, endpointNo }) => last.get(keyOf(entityKey(dialect, entityId), endpointNo)) ?? 0);
}
