import type { Outcome } from '../../../domain/attempt.ts';
import { hexIn, timeOfHex } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { chunks, entityKey, textByRows, valuesList } from '../../database/sql.ts';

/**
 * The counters behind every total of deliveries, kept in the transaction that changes what they count. A process adds to
 * its own shard of a row: on PostgreSQL two writers of one row would wait for each other's commit.
 */

/**
 * The webhook number of the rows for a whole entity: for all its deliveries in `delivery_counts`, and for its stored bytes in
 * `queue_counts`.
 */
export const WHOLE_ENTITY = 0;

/** The time span of one row of `delivery_counts`: for a whole entity, and for one webhook. */
export const ENTITY_BUCKET_MS = 600_000;
export const WEBHOOK_BUCKET_MS = 86_400_000;

const SHARDS = 16;
const ownShard = Math.floor(Math.random() * (SHARDS / 2)) * 2;

/** Acceptance and completion run concurrently in one process, so each has its own shard. SQLite has one writer and needs one shard. */
export type CountsWriter = 'acceptance' | 'completion';

export function shardOf({ uuid }: Dialect, writer: CountsWriter): number {
  if (uuid === 'blob') return 0;
  return writer === 'acceptance' ? ownShard : ownShard + 1;
}

export const COMPLETED = ['delivered', 'failed', 'cancelled', 'superseded'] as const;
export type Completed = (typeof COMPLETED)[number];

/**
 * Size of a row without its texts, including its share of the indexes. `bench/store/storage.ts` measures about this on
 * SQLite: an event with its delivery takes 350 bytes more than its body. Without its response, a
 * completed delivery has as many bytes as a queued one.
 */
const EVENT_BYTES = 150;
const DELIVERY_BYTES = 200;
const ATTEMPT_BYTES = 100;

/** The bytes of a row, as the limit on an entity's storage counts them. */
export const STORED_BYTES = {
  event: `${EVENT_BYTES} + octet_length(body) + coalesce(octet_length(event_id), 0)`,
  queued: `${DELIVERY_BYTES}`,
  record: `${DELIVERY_BYTES} + coalesce(octet_length(response), 0)`,
  attempt: `${ATTEMPT_BYTES} + octet_length(post_url) + coalesce(octet_length(response), 0)
    + coalesce(octet_length(response_headers), 0)`,
} as const;

type Change = { created: number } & Record<Completed, number>;
type QueueChange = { waiting: number; retrying: number; storedBytes: number; undelivered: number };
type Counted = { readonly entityId: string; readonly deliveryId: string; readonly webhookNo: number };

type QueueRow = { readonly entity: SqlUuid; readonly webhookNo: number } & QueueChange;
type DeliveryRow = { readonly entity: SqlUuid; readonly webhookNo: number; readonly bucket: number } & Change;

/** The changes of one queue, of a webhook or of the whole entity. */
type ChangedQueue = {
  readonly row: QueueRow;
  /** Rows by bucket. `last` is the row that was changed last, because most deliveries of a transaction belong to one bucket. */
  readonly deliveries: Map<number, DeliveryRow>;
  last: DeliveryRow | null;
};

/** An entity by its key's digits, with its queues by number. */
type ChangedEntity = {
  readonly entity: SqlUuid;
  readonly hex: string;
  readonly queues: Map<number, ChangedQueue>;
  readonly whole: ChangedQueue;
};

/** Collects the changes of a transaction and writes them in a few statements, each row once and always in the same order. */
export class CountChanges {
  readonly #entities = new Map<string, ChangedEntity>();
  #last: ChangedEntity | null = null;

  constructor(
    private readonly dialect: Dialect,
    private readonly writer: CountsWriter,
  ) {}

  queue(entity: SqlUuid, webhookNo: number, change: Partial<QueueChange>): void {
    const { row } = this.#queueOf(entity, webhookNo);
    row.waiting += change.waiting ?? 0;
    row.retrying += change.retrying ?? 0;
    row.storedBytes += change.storedBytes ?? 0;
    row.undelivered += change.undelivered ?? 0;
  }

  event(entity: SqlUuid, { body, eventId }: { body: string; eventId: string | null }): void {
    this.stored(entity, EVENT_BYTES + Buffer.byteLength(body) + (eventId === null ? 0 : Buffer.byteLength(eventId)));
  }

  stored(entity: SqlUuid, bytes: number): void {
    this.#entityOf(entity).whole.row.storedBytes += bytes;
  }

  /** Events without deliveries, as `store/events/unmatched.ts` defines them. */
  undelivered(entity: SqlUuid, events: number): void {
    this.#entityOf(entity).whole.row.undelivered += events;
  }

  /** Counts deliveries by the time in their ids, which is the order of every list. */
  deliveries(entity: SqlUuid, webhookNo: number, deliveryHex: string, change: Partial<Change>): void {
    if (change.created !== undefined) this.stored(entity, change.created * DELIVERY_BYTES);
    const timeMs = timeOfHex(deliveryHex);
    const rows = [
      rowOf(this.#queueOf(entity, webhookNo), Math.floor(timeMs / WEBHOOK_BUCKET_MS)),
      rowOf(this.#entityOf(entity).whole, Math.floor(timeMs / ENTITY_BUCKET_MS)),
    ];
    for (const row of rows) for (const name of CHANGED) row[name] += change[name] ?? 0;
  }

  /** Counts a waiting delivery as completed. `attempts` is the number of its earlier attempts. */
  completed({ entityId, deliveryId, webhookNo, attempts }: Counted & { attempts: number }, status: Completed): void {
    const entity = entityKey(this.dialect, entityId);
    this.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });
    this.deliveries(entity, webhookNo, hexIn(deliveryId), { [status]: 1 });
  }

  /** Counts the response in the row of a delivery. Responses in `attempts` are counted when they are inserted. */
  response({ entityId }: Counted, outcome: Outcome): void {
    if (outcome.kind !== 'response') return;
    this.stored(entityKey(this.dialect, entityId), Buffer.byteLength(outcome.body ?? ''));
  }

  /** Counts a completed delivery that was sent again, if its status has changed. */
  completedAgain({ entityId, deliveryId, webhookNo }: Counted, before: Completed, status: Completed): void {
    if (before === status) return;
    const change = { [before]: -1, [status]: 1 };
    this.deliveries(entityKey(this.dialect, entityId), webhookNo, hexIn(deliveryId), change);
  }

  /** Changes of one entity often follow each other, so the last entity is remembered. */
  #entityOf(entity: SqlUuid): ChangedEntity {
    if (this.#last?.entity === entity) return this.#last;
    const hex = this.dialect.hexOf(entity);
    let found = this.#entities.get(hex);
    if (found === undefined) {
      const whole = unchanged(entity, WHOLE_ENTITY);
      found = { entity, hex, whole, queues: new Map([[WHOLE_ENTITY, whole]]) };
      this.#entities.set(hex, found);
    }
    this.#last = found;
    return found;
  }

  #queueOf(entity: SqlUuid, webhookNo: number): ChangedQueue {
    const { queues } = this.#entityOf(entity);
    let queue = queues.get(webhookNo);
    if (queue === undefined) {
      queue = unchanged(entity, webhookNo);
      queues.set(webhookNo, queue);
    }
    return queue;
  }

  async write(queries: Queries): Promise<void> {
    const shard = shardOf(this.dialect, this.writer);
    const queues = new Map<string, QueueRow>();
    const deliveries = new Map<string, DeliveryRow>();
    for (const { hex, queues: changed } of this.#entities.values()) {
      for (const { row, deliveries: buckets } of changed.values()) {
        if (QUEUE_CHANGED.some((name) => row[name] !== 0)) queues.set(`${hex} ${row.webhookNo}`, row);
        for (const one of buckets.values()) {
          if (CHANGED.some((name) => one[name] !== 0)) deliveries.set(`${hex} ${one.webhookNo} ${one.bucket}`, one);
        }
      }
    }
    for (const chunk of chunks(inOrder(queues))) {
      const values: SqlValue[] = [];
      for (const row of chunk) {
        values.push(row.entity, row.webhookNo, shard);
        for (const name of QUEUE_CHANGED) values.push(row[name]);
      }
      await queries.send(queueCountsText(chunk.length), values);
    }
    for (const chunk of chunks(inOrder(deliveries))) {
      const values: SqlValue[] = [];
      for (const row of chunk) {
        values.push(row.entity, row.webhookNo, row.bucket, shard);
        for (const name of CHANGED) values.push(row[name]);
      }
      await queries.send(deliveryCountsText(chunk.length), values);
    }
  }
}

const CHANGED = ['created', ...COMPLETED] as const;
const NO_CHANGE: Change = { created: 0, delivered: 0, failed: 0, cancelled: 0, superseded: 0 };
/** In the order of the columns. */
const QUEUE_CHANGED = ['waiting', 'retrying', 'storedBytes', 'undelivered'] as const;
const NO_QUEUE_CHANGE: QueueChange = { waiting: 0, retrying: 0, storedBytes: 0, undelivered: 0 };

function unchanged(entity: SqlUuid, webhookNo: number): ChangedQueue {
  return { row: { entity, webhookNo, ...NO_QUEUE_CHANGE }, deliveries: new Map(), last: null };
}

function rowOf(queue: ChangedQueue, bucket: number): DeliveryRow {
  if (queue.last?.bucket === bucket) return queue.last;
  const { entity, webhookNo } = queue.row;
  const row = queue.deliveries.get(bucket) ?? { entity, webhookNo, bucket, ...NO_CHANGE };
  queue.deliveries.set(bucket, row);
  queue.last = row;
  return row;
}

/** Sorts rows by key. Two transactions that lock rows in different orders could wait for each other for ever. */
export function inOrder<Row>(rows: ReadonlyMap<string, Row>): Row[] {
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

const queueCountsText = textByRows(
  (rows) => `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, stored_bytes, undelivered)
    values ${valuesList(rows, 7)}
    on conflict (entity_id, webhook_no, shard) do update set
      waiting = queue_counts.waiting + excluded.waiting, retrying = queue_counts.retrying + excluded.retrying,
      stored_bytes = queue_counts.stored_bytes + excluded.stored_bytes,
      undelivered = queue_counts.undelivered + excluded.undelivered`,
);

const deliveryCountsText = textByRows(
  (rows) => `insert into delivery_counts (entity_id, webhook_no, bucket, shard, ${CHANGED.join(', ')})
    values ${valuesList(rows, 4 + CHANGED.length)}
    on conflict (entity_id, webhook_no, bucket, shard) do update set
      ${CHANGED.map((name) => `${name} = delivery_counts.${name} + excluded.${name}`).join(', ')}`,
);
