import type { Delivery } from '../../../contract/deliveries.ts';
import type { DeliveryKind } from '../../../domain/attempt.ts';
import { MAX_SUMMARY_BYTES, summaryOf } from '../../../domain/chain/payload-summary.ts';
import { endpointId, eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, nullable, type RowOf, seconds, text, uuid } from '../../database/sql.ts';
import { RETRACTED_BY, RETRACTED_BY_ID } from '../../events/read.ts';
import { endpointTable } from '../../tables.ts';
import { statusInQueue, statusOfCode } from '../states.ts';
import { headTable } from '../tables.ts';

/**
 * Columns of a row of `queue` or `deliveries`. In `deliveries`, `nextMs` and `generation` are null. A row of `queue` has no
 * `generation` while the delivery waits for an earlier one of its order key.
 */
function columnsOf(
  table: string,
  own: { readonly status: string; readonly nextMs: string; readonly generation: string },
) {
  return new Columns({
    id: uuid(`${table}.id`),
    webhookNo: integer(`${table}.webhook_no`),
    endpointNo: integer(`${table}.endpoint_no`),
    /** The endpoint of the last attempt, or the one that acknowledged the delivery, if it differs from `endpointNo`. */
    sentToNo: nullable(integer(`${table}.sent_to_no`)),
    sequence: nullable(integer(`${table}.sequence`)),
    supersededBy: nullable(uuid(`${table}.superseded_by`)),
    dateCreated: seconds(`${table}.created_at_ms`),
    dateDelivered: nullable(seconds(`${table}.ended_at_ms`)),
    attempts: integer(`${table}.attempts`),
    lastStatusCode: nullable(integer(`${table}.status_code`)),
    lastError: nullable(text(`${table}.error`)),
    test: nullable(integer(`${table}.test`)),
    status: nullable(integer(own.status)),
    nextMs: nullable(integer(own.nextMs)),
    generation: nullable(integer(own.generation)),
  });
}

export const recordColumns = columnsOf('d', {
  status: 'd.status',
  nextMs: 'cast(null as bigint)',
  generation: 'cast(null as int)',
});
export const queueColumns = columnsOf('q', {
  status: 'q.recorded',
  nextMs: 'coalesce(q.scheduled_ms, q.due_ms)',
  generation: 'q.generation',
});
export type DeliveryRow = RowOf<typeof queueColumns>;

const headColumns = headTable.pick(['webhookNo', 'webhookId', 'networkId', 'event', 'blocked', 'generation']);
type Head = RowOf<typeof headColumns>;

const urlColumns = endpointTable.pick(['endpointNo', 'postUrl']);

const eventColumns = new Columns({
  no: uuid('no'),
  eventId: nullable(text('event_id')),
  retractedByNo: nullable(uuid(RETRACTED_BY)),
  retractedById: nullable(text(RETRACTED_BY_ID)),
  body: nullable(text(`case when octet_length(body) <= ${MAX_SUMMARY_BYTES} then body end`)),
});
type EventOfRow = RowOf<typeof eventColumns>;

/** A delivery without the reason why it waits, which takes more statements. */
export type ResolvedDelivery = Omit<Delivery, 'waitsFor'>;

/** Resolves the numbers in the rows: adds the webhook, the URL, and the id and the summary of the event. */
export async function toDeliveries(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
  nowMs: number,
): Promise<ResolvedDelivery[]> {
  if (rows.length === 0) return [];
  const superseding = rows.flatMap(({ supersededBy }) => supersededBy ?? []).map(dialect.hexOf);
  const nos = new Set([...rows.map((row) => eventNoOf(dialect, row)), ...superseding]);
  const [heads, urls, events] = await Promise.all([
    readHeads(queries, entity, rows),
    readUrls(queries, entity, rows),
    readEvents(queries, dialect, entity, nos),
  ]);
  const idOfEvent = (no: string) => events.get(no)?.eventId ?? `evt_${no}`;
  return rows.map((row) => {
    const { attempts, dateCreated, dateDelivered, lastStatusCode, lastError } = row;
    const head = heads.get(row.webhookNo);
    const status =
      row.nextMs === null ? statusOfCode(row.status ?? 0) : statusInQueue(row.status, attempts, head?.blocked ?? 0);
    const eventNo = eventNoOf(dialect, row);
    const isReleased = row.generation !== null && row.generation < (head?.generation ?? 0);
    const nextMs = Math.min(row.nextMs ?? 0, isReleased ? nowMs : Number.POSITIVE_INFINITY);
    return {
      deliveryId: `dlv_${dialect.hexOf(row.id)}`,
      kind: kindOf(row),
      eventId: idOfEvent(eventNo),
      webhookId: head?.webhookId ?? '',
      event: head?.event ?? '',
      networkId: head?.networkId ?? 0,
      postUrl: urls.get(sentTo(row)) ?? '',
      status,
      attempts,
      dateCreated,
      dateNextAttempt: status === 'pending' || status === 'retrying' ? Math.floor(nextMs / 1000) : null,
      dateDelivered,
      lastStatusCode,
      lastError,
      endpointId: row.sequence === null ? null : endpointId(row.endpointNo),
      sequence: row.sequence,
      supersededBy: row.supersededBy === null ? null : idOfEvent(dialect.hexOf(row.supersededBy)),
      retractedBy: nameOfRetraction(dialect, events.get(eventNo)),
      summary: summaryOf(events.get(eventNo)?.body ?? null, head?.networkId ?? 0),
    };
  });
}

/** Alerts have head numbers below zero. */
export function kindOf({ webhookNo, test }: { webhookNo: number; test: number | null }): DeliveryKind {
  if (webhookNo < 0) return 'alert';
  return test === null ? 'event' : 'test';
}

function nameOfRetraction({ hexOf }: Dialect, event: EventOfRow | undefined): string | null {
  if (event === undefined || event.retractedByNo === null) return null;
  return event.retractedById ?? `evt_${hexOf(event.retractedByNo)}`;
}

export function eventNoOf({ hexOf }: Dialect, { id }: Pick<DeliveryRow, 'id'>): string {
  return eventNumber(hexOf(id));
}

async function readHeads(queries: Queries, entity: SqlUuid, rows: readonly DeliveryRow[]): Promise<Map<number, Head>> {
  const from = 'from queue_heads where entity_id = $1 and webhook_no in';
  const numbers = rows.map(({ webhookNo }) => webhookNo);
  const heads = await headColumns.allIn(queries, from, [entity], numbers);
  return new Map(heads.map((head) => [head.webhookNo, head]));
}

function sentTo({ sentToNo, endpointNo }: DeliveryRow): number {
  return sentToNo ?? endpointNo;
}

async function readUrls(queries: Queries, entity: SqlUuid, rows: readonly DeliveryRow[]): Promise<Map<number, string>> {
  const from = 'from endpoints where entity_id = $1 and no in';
  const urls = await urlColumns.allIn(queries, from, [entity], rows.map(sentTo));
  return new Map(urls.map(({ endpointNo, postUrl }) => [endpointNo, postUrl]));
}

async function readEvents(
  queries: Queries,
  { bindUuid, hexOf }: Dialect,
  entity: SqlUuid,
  nos: ReadonlySet<string>,
): Promise<Map<string, EventOfRow>> {
  const from = 'from events where entity_id = $1 and no in';
  const events = await eventColumns.allIn(queries, from, [entity], [...nos].map(bindUuid));
  return new Map(events.map((event) => [hexOf(event.no), event]));
}

/** Reads the rows in the order of the ids. Outside of a snapshot, a delivery may be completed between the two statements. */
export async function readRows(
  queries: Queries,
  { bindUuid, hexOf }: Dialect,
  entity: SqlUuid,
  ids: readonly string[],
): Promise<DeliveryRow[]> {
  const keys = ids.map(bindUuid);
  const found = await Promise.all([
    recordColumns.allIn(queries, 'from deliveries d where d.entity_id = $1 and d.id in', [entity], keys),
    queueColumns.allIn(queries, 'from queue q where q.entity_id = $1 and q.id in', [entity], keys),
  ]);
  const byId = new Map(found.flat().map((row) => [hexOf(row.id), row]));
  return ids.flatMap((hex) => byId.get(hex) ?? []);
}
