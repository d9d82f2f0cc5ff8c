import type { DeliveryStatus } from '../../src/domain/attempt.ts';
import { deliveryHex, eventNumber } from '../../src/domain/ids.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import type { Database, Queries, SqlInteger, SqlValue } from '../../src/store/database/database.ts';
import { chunks, entityKey, eventIdKey, valuesList } from '../../src/store/database/sql.ts';
import { CountChanges } from '../../src/store/deliveries/counts/counts.ts';
import { countEvents } from '../../src/store/deliveries/counts/event-counts.ts';
import { ensureEndpoints, urlKey } from '../../src/store/deliveries/head-endpoints.ts';
import { alertHeadNo, BLOCKED } from '../../src/store/deliveries/heads.ts';
import { STATUS_CODES } from '../../src/store/deliveries/states.ts';

/**
 * Events and deliveries as a life of the service leaves them behind, written straight into the tables with everything that
 * goes with them: heads, endpoints and counters. Ids carry the time of creation, as they do in real life.
 */

export type SeededEvent = {
  createdAtMs: number;
  event?: string;
  networkId?: number;
  eventId?: string | null;
  body?: string;
  deliveries?: number;
};

export type SeededDelivery = {
  createdAtMs: number;
  status: DeliveryStatus;
  /** Of the entity's webhooks, or any text for one that is gone. */
  webhookId: string;
  event: string;
  networkId: number;
  postUrl: string;
  /** The number of an event that is seeded too; one of its own where absent. */
  eventNo?: string;
  attempts?: number;
  dueMs?: number;
  leaseMs?: number;
  redeliver?: number;
  endedAtMs?: number | null;
  statusCode?: number | null;
  error?: string | null;
};

let counter = 0;

/** A UUIDv7 of that millisecond; each is later than the one before it. */
function hexAt(createdAtMs: number): string {
  counter = (counter + 1) % 2 ** 32;
  const time = createdAtMs.toString(16).padStart(12, '0');
  const count = counter.toString(16).padStart(8, '0');
  return `${time}7${count.slice(0, 3)}8${count.slice(3)}${'0'.repeat(10)}`;
}

/** Returns the number of each, in their order. */
export async function seedEvents(db: Database, entityId: string, events: readonly SeededEvent[]): Promise<string[]> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  const rows = events.map((event) => ({ ...event, no: eventNumber(hexAt(event.createdAtMs)) }));
  await inParts(db, rows, async (queries, chunk) => {
    await insert(
      queries,
      'events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)',
      chunk.map((row) => [
        entity,
        dialect.bindUuid(row.no),
        row.networkId ?? 1,
        row.createdAtMs,
        row.deliveries ?? 1,
        row.event ?? 'LatePayment',
        row.eventId ?? null,
        row.body ?? '{}',
      ]),
    );
    await insert(
      queries,
      'event_ids (entity_id, hash, no)',
      chunk.flatMap(({ eventId, no }) =>
        eventId == null ? [] : [[entity, eventIdKey(dialect, eventId), dialect.bindUuid(no)]],
      ),
    );
    await countEvents(
      queries,
      dialect,
      chunk.map((row) => ({
        entity,
        networkId: row.networkId ?? 1,
        event: row.event ?? 'LatePayment',
        createdAtMs: row.createdAtMs,
        events: 1,
      })),
    );
  });
  return rows.map(({ no }) => no);
}

const IN_RECORD: readonly DeliveryStatus[] = ['delivered', 'failed', 'cancelled', 'superseded'];

/** Returns the id of each, in their order. A delivery that waits is due when it was created, unless it says otherwise. */
export async function seedDeliveries(
  db: Database,
  entityId: string,
  deliveries: readonly SeededDelivery[],
): Promise<string[]> {
  const { dialect } = db;
  const entity = entityKey(dialect, entityId);
  const rows = deliveries.map((row, index) => ({ ...row, hex: deliveryHexOf(row, index) }));
  const webhookNos = await seedHeads(db, entityId, deliveries);
  const endpoints = await db.transaction((queries) =>
    ensureEndpoints(
      queries,
      dialect,
      deliveries.map(({ postUrl }) => ({ entityId, postUrl })),
      0,
    ),
  );
  await inParts(db, rows, async (queries, chunk) => {
    const shared = (row: (typeof chunk)[number]): SqlValue[] => [
      entity,
      dialect.bindUuid(row.hex),
      webhookNos.get(headKey(row)) ?? 0,
      endpoints.get(urlKey({ entityId, postUrl: row.postUrl }))?.no ?? 0,
      row.createdAtMs,
      row.endedAtMs ?? null,
      row.attempts ?? 0,
      row.statusCode ?? null,
      row.error ?? null,
    ];
    const columns = 'entity_id, id, webhook_no, endpoint_no, created_at_ms, ended_at_ms, attempts, status_code, error';
    const isRecorded = (row: (typeof chunk)[number]) => IN_RECORD.includes(row.status) && !row.redeliver;
    await insert(
      queries,
      `deliveries (${columns}, status)`,
      chunk.filter(isRecorded).map((row) => [...shared(row), codeOf(row.status)]),
    );
    await insert(
      queries,
      `queue (${columns}, due_ms, lease_ms, generation, redeliver, recorded)`,
      chunk
        .filter((row) => !isRecorded(row))
        .map((row) => [
          ...shared(row),
          row.dueMs ?? row.createdAtMs,
          row.leaseMs ?? 0,
          0,
          row.redeliver ?? 0,
          codeOf(row.status),
        ]),
    );
    const counts = new CountChanges(dialect, 'acceptance');
    for (const row of chunk) {
      const webhookNo = webhookNos.get(headKey(row)) ?? 0;
      const isComplete = IN_RECORD.includes(row.status);
      counts.deliveries(entity, webhookNo, row.hex, { created: 1, ...(isComplete && { [row.status]: 1 }) });
      if (!isComplete) counts.queue(entity, webhookNo, { waiting: 1, retrying: (row.attempts ?? 0) > 0 ? 1 : 0 });
    }
    await counts.write(queries);
  });
  return rows.map(({ hex }) => `dlv_${hex}`);
}

function codeOf(status: DeliveryStatus): number | null {
  return status in STATUS_CODES ? STATUS_CODES[status as keyof typeof STATUS_CODES] : null;
}

function deliveryHexOf({ createdAtMs, eventNo }: SeededDelivery, index: number): string {
  return deliveryHex(eventNo ?? eventNumber(hexAt(createdAtMs)), index + 1);
}

type HeadSeed = Pick<SeededDelivery, 'webhookId' | 'networkId' | 'event' | 'postUrl' | 'status'>;

function headKey({ webhookId, networkId, event }: Pick<HeadSeed, 'webhookId' | 'networkId' | 'event'>): string {
  return `${webhookId} ${networkId} ${event}`;
}

const FIRST_GONE_NO = 2 ** 50;

async function seedHeads(db: Database, entityId: string, seeds: readonly HeadSeed[]): Promise<Map<string, number>> {
  const { dialect } = db;
  const numbers = new Map<string, number>();
  const distinct = new Map(seeds.map((seed) => [headKey(seed), seed]));
  const held = new Set(seeds.filter(({ status }) => status === 'held').map(headKey));
  await db.transaction(async (queries) => {
    for (const [key, seed] of distinct) {
      const row = await queries.get<{ created_seq: SqlInteger }>(
        'select created_seq from webhooks where entity_id = $1 and id = $2',
        [entityId, seed.webhookId],
      );
      const isAlert = seed.webhookId === 'notice';
      const goneNo = FIRST_GONE_NO + ++counter;
      const no = isAlert ? alertHeadNo(seed.networkId) : row === undefined ? goneNo : Number(row.created_seq);
      numbers.set(key, no);
      const { networkId, event, postUrl, webhookId } = seed;
      const endpoints = await ensureEndpoints(queries, dialect, [{ entityId, postUrl }], 0);
      await queries.run(
        `insert into queue_heads (entity_id, webhook_no, webhook_id, network_id, event, endpoint_no, destination, post_url,
           next_due_ms, blocked) values ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)
         on conflict (entity_id, webhook_no) do update set next_due_ms = 0`,
        [
          entityKey(dialect, entityId),
          no,
          webhookId,
          networkId,
          event,
          endpoints.get(urlKey({ entityId, postUrl }))?.no ?? 0,
          destinationKey(entityId, postUrl),
          postUrl,
          held.has(key) ? BLOCKED.suspended : 0,
        ],
      );
    }
  });
  return numbers;
}

async function inParts<Row>(
  db: Database,
  rows: readonly Row[],
  write: (queries: Queries, chunk: readonly Row[]) => Promise<void>,
): Promise<void> {
  for (const part of chunks(rows, 5_000)) {
    await db.transaction(async (queries) => {
      for (const chunk of chunks(part)) await write(queries, chunk);
    });
  }
}

async function insert(queries: Queries, into: string, rows: readonly (readonly SqlValue[])[]): Promise<void> {
  if (rows.length === 0) return;
  await queries.run(`insert into ${into} values ${valuesList(rows.length, rows[0]?.length ?? 0)}`, rows.flat());
}
