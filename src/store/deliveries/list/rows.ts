import type { Delivery } from '../../../contract/deliveries.ts';
import { endpointId, eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../../database/database.ts';
import { chunks, valuesList } from '../../database/sql.ts';
import { statusInQueue, statusOfCode } from '../states.ts';

/** A row of either table, in the same columns. `due_ms` and `generation` are null in the record. */
export type DeliveryRow = {
  id: SqlUuid;
  webhook_no: SqlInteger;
  endpoint_no: SqlInteger;
  /** The endpoint that the last attempt went to, where it is another one. */
  sent_to_no: SqlInteger | null;
  sequence: SqlInteger | null;
  superseded_by: SqlUuid | null;
  event_no: SqlUuid | null;
  created_at_ms: SqlInteger;
  ended_at_ms: SqlInteger | null;
  due_ms: SqlInteger | null;
  generation: SqlInteger | null;
  attempts: SqlInteger;
  status: SqlInteger | null;
  status_code: SqlInteger | null;
  error: string | null;
};

const SHARED =
  'id, webhook_no, endpoint_no, sent_to_no, sequence, superseded_by, event_no, created_at_ms, ended_at_ms, attempts, ' +
  'status_code, error';
const prefixed = (alias: string) => SHARED.replace(/\w+/g, (column) => `${alias}.${column}`);

export const RECORD_COLUMNS = `${prefixed('d')}, d.status as status, cast(null as bigint) as due_ms, cast(null as int) as generation`;
export const QUEUE_COLUMNS = `${prefixed('q')}, q.recorded as status, coalesce(q.scheduled_ms, q.due_ms) as due_ms, q.generation as generation`;

type HeadRow = {
  webhook_no: SqlInteger;
  webhook_id: string;
  network_id: SqlInteger;
  event: string;
  blocked: SqlInteger;
  generation: SqlInteger;
};

/** Adds what the rows name by number: the webhook, the URL and the event's id. */
export async function toDeliveries(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
  nowMs: number,
): Promise<Delivery[]> {
  if (rows.length === 0) return [];
  const heads = await readHeads(queries, entity, rows);
  const urls = await readUrls(queries, entity, rows);
  const eventIds = await readEventIds(queries, dialect, entity, rows);
  const idOfEvent = (no: string) => eventIds.get(no) ?? `evt_${no}`;
  return rows.map((row) => {
    const head = heads.get(Number(row.webhook_no));
    const inQueue = row.due_ms !== null;
    const recorded = row.status === null ? null : Number(row.status);
    const status = inQueue
      ? statusInQueue(recorded, Number(row.attempts), Number(head?.blocked ?? 0))
      : statusOfCode(recorded ?? 0);
    const eventNo = eventNoOf(dialect, row);
    const isReleased = Number(row.generation ?? 0) < Number(head?.generation ?? 0);
    const nextMs = isReleased ? Math.min(Number(row.due_ms), nowMs) : Number(row.due_ms);
    return {
      deliveryId: `dlv_${dialect.hexOf(row.id)}`,
      eventId: idOfEvent(eventNo),
      webhookId: head?.webhook_id ?? '',
      event: head?.event ?? '',
      networkId: Number(head?.network_id ?? 0),
      postUrl: urls.get(Number(row.sent_to_no ?? row.endpoint_no)) ?? '',
      status,
      attempts: Number(row.attempts),
      dateCreated: Math.floor(Number(row.created_at_ms) / 1000),
      dateNextAttempt: status === 'pending' || status === 'retrying' ? Math.floor(nextMs / 1000) : null,
      dateDelivered: row.ended_at_ms === null ? null : Math.floor(Number(row.ended_at_ms) / 1000),
      lastStatusCode: row.status_code === null ? null : Number(row.status_code),
      lastError: row.error,
      endpointId: row.sequence === null ? null : endpointId(Number(row.endpoint_no)),
      sequence: row.sequence === null ? null : Number(row.sequence),
      supersededBy: row.superseded_by === null ? null : idOfEvent(dialect.hexOf(row.superseded_by)),
    };
  });
}

export function eventNoOf({ hexOf }: Dialect, row: Pick<DeliveryRow, 'id' | 'event_no'>): string {
  return row.event_no === null ? eventNumber(hexOf(row.id)) : hexOf(row.event_no);
}

async function readHeads(
  queries: Queries,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
): Promise<Map<number, HeadRow>> {
  const found = new Map<number, HeadRow>();
  for (const chunk of chunks([...new Set(rows.map((row) => Number(row.webhook_no)))])) {
    const heads = await queries.all<HeadRow>(
      `select webhook_no, webhook_id, network_id, event, blocked, generation from queue_heads
       where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const head of heads) found.set(Number(head.webhook_no), head);
  }
  return found;
}

async function readUrls(queries: Queries, entity: SqlUuid, rows: readonly DeliveryRow[]): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (const chunk of chunks([...new Set(rows.map((row) => Number(row.sent_to_no ?? row.endpoint_no)))])) {
    const urls = await queries.all<{ no: SqlInteger; post_url: string }>(
      `select no, post_url from endpoints where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const { no, post_url } of urls) found.set(Number(no), post_url);
  }
  return found;
}

/** Only the ids that senders chose: the others are the number itself. */
async function readEventIds(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  rows: readonly DeliveryRow[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const named = rows.flatMap(({ superseded_by }) => (superseded_by === null ? [] : dialect.hexOf(superseded_by)));
  for (const chunk of chunks([...new Set([...rows.map((row) => eventNoOf(dialect, row)), ...named])])) {
    const events = await queries.all<{ no: SqlUuid; event_id: string | null }>(
      `select no, event_id from events where entity_id = $1 and no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk.map((no): SqlValue => dialect.bindUuid(no))],
    );
    for (const { no, event_id } of events) if (event_id !== null) found.set(dialect.hexOf(no), event_id);
  }
  return found;
}
