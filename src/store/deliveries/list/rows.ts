import type { Delivery } from '../../../contract/deliveries.ts';
import type { DeliveryKind } from '../../../domain/attempt.ts';
import { MAX_SUMMARY_BYTES, summaryOf } from '../../../domain/chain/payload-summary.ts';
import { endpointId, eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, seconds, text, uuid, valuesList } from '../../database/sql.ts';
import { RETRACTED_BY, RETRACTED_BY_ID } from '../../events/read.ts';
import { statusInQueue, statusOfCode } from '../states.ts';

const sharedShape = {
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  endpointNo: integer('endpoint_no'),
  /** The endpoint of the last attempt, if it differs from `endpointNo`. */
  sentToNo: nullable(integer('sent_to_no')),
  sequence: nullable(integer('sequence')),
  supersededBy: nullable(uuid('superseded_by')),
  dateCreated: seconds('created_at_ms'),
  dateDelivered: nullable(seconds('ended_at_ms')),
  attempts: integer('attempts'),
  lastStatusCode: nullable(integer('status_code')),
  lastError: nullable(text('error')),
  test: nullable(integer('test')),
};
const shared = new Columns(sharedShape);

/** A row of either table, in the same columns. `nextMs` and `generation` are null in the record. A delivery that waits for its turn has no `generation` either. */
export const deliveryColumns = new Columns({
  ...sharedShape,
  status: nullable(integer()),
  nextMs: nullable(integer()),
  generation: nullable(integer()),
});
export type DeliveryRow = RowOf<typeof deliveryColumns>;

export const IN_RECORD = `${shared.of('d.')}, d.status as status, cast(null as bigint) as "nextMs", cast(null as int) as generation`;
export const IN_QUEUE = `${shared.of('q.')}, q.recorded as status, coalesce(q.scheduled_ms, q.due_ms) as "nextMs", q.generation as generation`;

const headColumns = new Columns({
  webhookNo: integer('webhook_no'),
  webhookId: text('webhook_id'),
  networkId: integer('network_id'),
  event: text('event'),
  blocked: integer('blocked'),
  generation: integer('generation'),
});
type Head = RowOf<typeof headColumns>;

const urlColumns = new Columns({ endpointNo: integer('no'), postUrl: text('post_url') });

const eventColumns = new Columns({
  no: uuid('no'),
  eventId: nullable(text('event_id')),
  retractedByNo: nullable(uuid(RETRACTED_BY)),
  retractedById: nullable(text(RETRACTED_BY_ID)),
  body: nullable(text(`case when octet_length(body) <= ${MAX_SUMMARY_BYTES} then body end`)),
});
type EventOfRow = RowOf<typeof eventColumns>;

/** Without the reason why it waits, which takes more statements. */
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
  const heads = await readHeads(queries, entity, rows);
  const urls = await readUrls(queries, entity, rows);
  const events = await readEvents(queries, dialect, entity, rows);
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

/** Alerts have heads below zero. */
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
  const found = new Map<number, Head>();
  for (const chunk of chunks([...new Set(rows.map(({ webhookNo }) => webhookNo))])) {
    const heads = await headColumns.all(
      queries,
      `select ${headColumns.list} from queue_heads
       where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const head of heads) found.set(head.webhookNo, head);
  }
  return found;
}

function sentTo({ sentToNo, endpointNo }: DeliveryRow): number {
  return sentToNo ?? endpointNo;
}

async function readUrls(queries: Queries, entity: SqlUuid, rows: readonly DeliveryRow[]): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (const chunk of chunks([...new Set(rows.map(sentTo))])) {
    const urls = await urlColumns.all(
      queries,
      `select ${urlColumns.list} from endpoints where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const { endpointNo, postUrl } of urls) found.set(endpointNo, postUrl);
  }
  return found;
}

async function readEvents(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
): Promise<Map<string, EventOfRow>> {
  const found = new Map<string, EventOfRow>();
  const named = rows.flatMap(({ supersededBy }) => (supersededBy === null ? [] : dialect.hexOf(supersededBy)));
  for (const chunk of chunks([...new Set([...rows.map((row) => eventNoOf(dialect, row)), ...named])])) {
    const events = await eventColumns.all(
      queries,
      `select ${eventColumns.list} from events where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk.map((no): SqlValue => dialect.bindUuid(no))],
    );
    for (const event of events) found.set(dialect.hexOf(event.no), event);
  }
  return found;
}
