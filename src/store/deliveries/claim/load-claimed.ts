import type { AttemptKind, DeliveryStatus } from '../../../domain/attempt.ts';
import { eventNumber } from '../../../domain/ids.ts';
import { type DestinationKey, entityOfDestination } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlValue } from '../../database/database.ts';
import {
  awaitedChunks,
  Columns,
  chunks,
  integer,
  nullable,
  type RowOf,
  text,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { REVISION } from '../../tenants/tables.ts';
import { statusOfCode } from '../states.ts';
import type { Head } from './claim-heads.ts';
import type { Claimed } from './claimed.ts';

/** Loads the data that an attempt needs in addition to the claimed row. */

export const claimedColumns = new Columns({
  entity: uuid('entity_id'),
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  createdAtMs: integer('created_at_ms'),
  dueMs: integer('due_ms'),
  token: integer('token'),
  generation: integer('generation'),
  attempts: integer('attempts'),
  steps: integer('steps'),
  redeliver: integer('redeliver'),
  sequenceEndpointNo: integer('endpoint_no'),
  sequence: nullable(integer('sequence')),
  orderKey: nullable(uuid('order_key')),
  recorded: nullable(integer('recorded')),
});

/** A claimed row, with the destination that it was claimed for, and whether a receiver may have had it before this claim. */
export type ClaimedRow = RowOf<typeof claimedColumns> & { destination: DestinationKey; mayBeReceived: number };

const eventColumns = new Columns({
  entity: uuid('entity_id'),
  eventNo: uuid('no'),
  eventId: nullable(text('event_id')),
  body: text('body'),
  trace: nullable(text('trace')),
});
type EventRow = RowOf<typeof eventColumns>;

/** A row with its head, the digits of its id, the number of its event, and the event's key in maps. */
type Found = {
  readonly row: ClaimedRow;
  readonly head: Head;
  readonly hex: string;
  readonly eventNo: string;
  readonly eventName: string;
};

/** Adds the event's body and trace, and the entity's revision, to each claimed row. */
export async function loadClaimed(
  queries: Queries,
  dialect: Dialect,
  heads: readonly Head[],
  rows: readonly ClaimedRow[],
  { nowMs, leaseEndsMs }: { readonly nowMs: number; readonly leaseEndsMs: number },
): Promise<Claimed[]> {
  if (rows.length === 0) return [];
  const { hexOf } = dialect;
  const headOf = new Map(heads.map((head) => [`${hexOf(head.entity)} ${head.webhookNo}`, head]));
  const found: Found[] = [];
  for (const row of rows) {
    const entityHex = hexOf(row.entity);
    const head = headOf.get(`${entityHex} ${row.webhookNo}`);
    const hex = hexOf(row.id);
    const eventNo = eventNumber(hex);
    if (head?.destination === row.destination) {
      found.push({ row, head, hex, eventNo, eventName: `${entityHex} ${eventNo}` });
    }
    // The webhook was suspended, moved or deleted between the claim and the read of its head. If it moved to another
    // destination of the same claim, that destination has no slot reserved for it.
    else {
      const sql = 'update queue set lease_ms = 0, may_be_received = $3 where entity_id = $1 and id = $2';
      await queries.run(sql, [row.entity, row.id, row.mayBeReceived]);
    }
  }
  const events = await readEvents(queries, dialect, found);
  const revisions = await readRevisions(queries, heads);
  return found.map(({ row, head, hex, eventNo, eventName }) => {
    const event = events.get(eventName);
    const entityId = entityOfDestination(head.destination);
    const isReleased = row.generation < head.generation;
    return {
      entityId,
      deliveryId: `dlv_${hex}`,
      token: row.token,
      destination: head.destination,
      eventId: event?.eventId ?? `evt_${eventNo}`,
      webhookNo: head.webhookNo,
      webhookId: head.webhookId,
      endpointNo: head.endpointNo,
      sequence: row.sequence,
      sequenceEndpointNo: row.sequenceEndpointNo,
      orderKey: row.orderKey === null ? null : hexOf(row.orderKey),
      postUrl: head.postUrl,
      kind: kindOf(row),
      status: statusBefore(row),
      attempts: row.attempts,
      mayBeReceived: row.mayBeReceived === 1,
      // After a resume the schedule starts again, because earlier failures say nothing about the receiver now.
      steps: isReleased ? 0 : row.steps,
      generation: head.generation,
      failingSinceMs: head.failingSinceMs,
      body: event?.body ?? null,
      trace: event?.trace ?? null,
      revision: revisions.get(entityId) ?? 0,
      createdAtMs: row.createdAtMs,
      acceptedAtMs: Date.now() - (nowMs - row.createdAtMs),
      leaseEndsMs,
    };
  });
}

async function readEvents(queries: Queries, dialect: Dialect, found: readonly Found[]): Promise<Map<string, EventRow>> {
  const { hexOf, bindUuid, rowList } = dialect;
  const types = [dialect.uuid, dialect.uuid];
  const events = new Map<string, EventRow>();
  const keys = new Map(found.map((one) => [one.eventName, one]));
  for (const chunk of awaitedChunks(dialect, [...keys.values()])) {
    const rows = await eventColumns.all(
      queries,
      `with wanted (entity_id, no) as (${rowList.text(types, chunk.length)})
       select ${eventColumns.of('e.')} from wanted w
       ${dialect.lookUp('cross join', 'events', 'e', { entity_id: 'w.entity_id', no: 'w.no' })}`,
      rowList.bind(
        types,
        chunk.flatMap(({ row, eventNo }): SqlValue[] => [row.entity, bindUuid(eventNo)]),
      ),
    );
    for (const row of rows) events.set(`${hexOf(row.entity)} ${hexOf(row.eventNo)}`, row);
  }
  return events;
}

const revisionColumns = new Columns({ entityId: text('id'), revision: integer(REVISION) });

async function readRevisions(queries: Queries, heads: readonly Head[]): Promise<Map<string, number>> {
  const revisions = new Map<string, number>();
  const entityIds = [...new Set(heads.map(({ destination }) => entityOfDestination(destination)))];
  for (const chunk of chunks(entityIds)) {
    const rows = await revisionColumns.all(
      queries,
      `select ${revisionColumns.list} from entities where id in ${valuesList(1, chunk.length)}`,
      chunk,
    );
    for (const { entityId, revision } of rows) revisions.set(entityId, revision);
  }
  return revisions;
}

function kindOf({ redeliver, attempts }: ClaimedRow): AttemptKind {
  if (redeliver > 0) return 'redelivery';
  return attempts > 0 ? 'retry' : 'first';
}

function statusBefore({ recorded, attempts }: ClaimedRow): DeliveryStatus {
  if (recorded !== null) return statusOfCode(recorded);
  return attempts > 0 ? 'retrying' : 'pending';
}
