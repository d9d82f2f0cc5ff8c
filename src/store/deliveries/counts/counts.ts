import { BoundedMap } from '../../../bounded-map.ts';
import type { Outcome } from '../../../domain/attempt.ts';
import { DomainError } from '../../../domain/errors.ts';
import { hexIn, timeOfHex } from '../../../domain/ids.ts';
import {
  type Database,
  type Dialect,
  longReadsOf,
  type Queries,
  type Reads,
  type SqlInteger,
  type SqlUuid,
  type SqlValue,
} from '../../database/database.ts';
import { chunks, entityKey, textByRows, valuesList } from '../../database/sql.ts';

/**
 * The counters behind every total of deliveries, kept in the transaction that changes what they count. A process adds to
 * its own shard of a row: on PostgreSQL two writers of one row would wait for each other's commit.
 */

/** Stands for all webhooks of the entity in `delivery_counts`, and in `queue_counts` for what the entity stores. */
export const WHOLE_ENTITY = 0;

/** How much time one row of `delivery_counts` sums up: of a whole entity, and of one webhook. */
export const ENTITY_BUCKET_MS = 600_000;
export const WEBHOOK_BUCKET_MS = 86_400_000;
export const EVENT_BUCKET_MS = 3_600_000;

const SHARDS = 16;
const ownShard = Math.floor(Math.random() * (SHARDS / 2)) * 2;

/** Acceptance and completion run side by side in one process, so each has a shard. SQLite has one writer. */
export type CountsWriter = 'acceptance' | 'completion';

function shardOf({ uuid }: Dialect, writer: CountsWriter): number {
  if (uuid === 'blob') return 0;
  return writer === 'acceptance' ? ownShard : ownShard + 1;
}

export const COMPLETED = ['delivered', 'failed', 'cancelled', 'superseded'] as const;
export type Completed = (typeof COMPLETED)[number];

/**
 * Size of a row without its texts, including its share of the indexes. `bench/store/storage.ts` measures about this on
 * SQLite: an event with its delivery takes 350 bytes more than its body. A queued delivery and a completed one count
 * the same.
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

/**
 * Collects the changes of a transaction and writes them in a few statements, each row once and in one order everywhere.
 */
export class CountChanges {
  readonly #queue = new Map<string, { entity: SqlUuid; webhookNo: number } & QueueChange>();
  readonly #deliveries = new Map<string, { entity: SqlUuid; webhookNo: number; bucket: number } & Change>();

  #lastEntity: SqlUuid | null = null;
  #lastHex = '';

  constructor(
    private readonly dialect: Dialect,
    private readonly writer: CountsWriter,
  ) {}

  queue(entity: SqlUuid, webhookNo: number, change: Partial<QueueChange>): void {
    const key = `${this.#hexOf(entity)} ${webhookNo}`;
    const row = this.#queue.get(key) ?? { entity, webhookNo, ...NO_QUEUE_CHANGE };
    row.waiting += change.waiting ?? 0;
    row.retrying += change.retrying ?? 0;
    row.storedBytes += change.storedBytes ?? 0;
    row.undelivered += change.undelivered ?? 0;
    this.#queue.set(key, row);
  }

  event(entity: SqlUuid, { body, eventId }: { body: string; eventId: string | null }): void {
    this.stored(entity, EVENT_BYTES + Buffer.byteLength(body) + Buffer.byteLength(eventId ?? ''));
  }

  stored(entity: SqlUuid, bytes: number): void {
    this.queue(entity, WHOLE_ENTITY, { storedBytes: bytes });
  }

  /** Events without deliveries, as `store/events/unmatched.ts` defines them. */
  undelivered(entity: SqlUuid, events: number): void {
    this.queue(entity, WHOLE_ENTITY, { undelivered: events });
  }

  /** By the time in the delivery's id, which is the order of every list. */
  deliveries(entity: SqlUuid, webhookNo: number, deliveryHex: string, change: Partial<Change>): void {
    if (change.created !== undefined) this.stored(entity, change.created * DELIVERY_BYTES);
    const timeMs = timeOfHex(deliveryHex);
    this.#add(entity, webhookNo, Math.floor(timeMs / WEBHOOK_BUCKET_MS), change);
    this.#add(entity, WHOLE_ENTITY, Math.floor(timeMs / ENTITY_BUCKET_MS), change);
  }

  /** A delivery that waited has ended; `attempts` is how many it had before. */
  completed({ entityId, deliveryId, webhookNo, attempts }: Counted & { attempts: number }, status: Completed): void {
    const entity = entityKey(this.dialect, entityId);
    this.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });
    this.deliveries(entity, webhookNo, hexIn(deliveryId), { [status]: 1 });
  }

  /** The response in the row of a delivery. Responses in `attempts` are counted when they are inserted. */
  response({ entityId }: Counted, outcome: Outcome): void {
    if (outcome.kind !== 'response') return;
    this.stored(entityKey(this.dialect, entityId), Buffer.byteLength(outcome.body ?? ''));
  }

  /** A delivery that had ended before was sent again. */
  completedAgain({ entityId, deliveryId, webhookNo }: Counted, before: Completed, status: Completed): void {
    if (before === status) return;
    const change = { [before]: -1, [status]: 1 };
    this.deliveries(entityKey(this.dialect, entityId), webhookNo, hexIn(deliveryId), change);
  }

  #add(entity: SqlUuid, webhookNo: number, bucket: number, change: Partial<Change>): void {
    const key = `${this.#hexOf(entity)} ${webhookNo} ${bucket}`;
    let row = this.#deliveries.get(key);
    if (row === undefined) {
      row = { entity, webhookNo, bucket, ...NO_CHANGE };
      this.#deliveries.set(key, row);
    }
    for (const name in change) row[name as keyof Change] += change[name as keyof Change] ?? 0;
  }

  /** Most changes of a transaction are of one entity, and many in a row. */
  #hexOf(entity: SqlUuid): string {
    if (entity !== this.#lastEntity) this.#lastHex = this.dialect.hexOf(entity);
    this.#lastEntity = entity;
    return this.#lastHex;
  }

  async write(queries: Queries): Promise<void> {
    const shard = shardOf(this.dialect, this.writer);
    const isChanged = ({ waiting, retrying, storedBytes, undelivered }: QueueChange) =>
      waiting !== 0 || retrying !== 0 || storedBytes !== 0 || undelivered !== 0;
    for (const chunk of chunks(inOrder(this.#queue).filter(isChanged))) {
      const values = chunk.flatMap((row): SqlValue[] => [
        row.entity,
        row.webhookNo,
        shard,
        row.waiting,
        row.retrying,
        row.storedBytes,
        row.undelivered,
      ]);
      await queries.send(queueCountsText(chunk.length), values);
    }
    const deliveries = inOrder(this.#deliveries).filter((row) => CHANGED.some((name) => row[name] !== 0));
    for (const chunk of chunks(deliveries)) {
      const values = chunk.flatMap((row): SqlValue[] => [
        row.entity,
        row.webhookNo,
        row.bucket,
        shard,
        ...CHANGED.map((name) => row[name]),
      ]);
      await queries.send(deliveryCountsText(chunk.length), values);
    }
  }
}

const CHANGED = ['created', ...COMPLETED] as const;
const NO_QUEUE_CHANGE: QueueChange = { waiting: 0, retrying: 0, storedBytes: 0, undelivered: 0 };
const NO_CHANGE: Change = { created: 0, delivered: 0, failed: 0, cancelled: 0, superseded: 0 };

/** Two transactions that take rows in different orders could wait for each other for ever. */
function inOrder<Row>(rows: ReadonlyMap<string, Row>): Row[] {
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

type EventCount = { entity: SqlUuid; networkId: number; event: string; createdAtMs: number; events: number };

const eventCountsText = textByRows(
  (
    rows,
  ) => `insert into event_counts (entity_id, network_id, event, bucket, shard, events) values ${valuesList(rows, 6)}
    on conflict (entity_id, network_id, event, bucket, shard) do update set events = event_counts.events + excluded.events`,
);

/** Adds to the number of events accepted, or takes from it when they are removed. */
export async function countEvents(
  queries: Queries,
  dialect: Dialect,
  changes: readonly EventCount[],
  writer: CountsWriter = 'acceptance',
): Promise<void> {
  const rows = new Map<string, SqlValue[]>();
  const shard = shardOf(dialect, writer);
  for (const { entity, networkId, event, createdAtMs, events } of changes) {
    const bucket = Math.floor(createdAtMs / EVENT_BUCKET_MS);
    const key = `${dialect.hexOf(entity)} ${networkId} ${event} ${bucket}`;
    const row = rows.get(key) ?? [entity, networkId, event, bucket, shard, 0];
    row[5] = Number(row[5]) + events;
    rows.set(key, row);
  }
  for (const chunk of chunks(inOrder(rows))) await queries.send(eventCountsText(chunk.length), chunk.flat());
}

/** A sum older than this is read again; one that leaves no room sooner, because deliveries go out all the while. */
const FRESH_MS = 1_000;
const FULL_FRESH_MS = 100;
const MAX_ENTITIES = 10_000;
/** Counters that are summed up within a millisecond. */
const FEW_COUNTERS = 1_000;
const ALL_COUNTERS = Number.MAX_SAFE_INTEGER;

/** `hasAdded` says that a part was accepted after the sums were read; deliveries may have gone out since. */
type Count = { waiting: number; storedBytes: number; hasAdded: boolean; goodUntilMs: number };

/**
 * How much of each entity waits to be delivered, and how much it stores, to within a second: the counters' sums, and what
 * was accepted since. Deliveries of webhooks that are suspended or paused do not wait: one forgotten webhook must not stop
 * its entity.
 */
export class EntityUsage {
  readonly #counts = new BoundedMap<string, Count>(MAX_ENTITIES);
  /** Shared by all concurrent callers, such as the thousand lines of a batch. */
  readonly #counting = new Map<string, Promise<Count>>();

  constructor(
    private readonly db: Database,
    private readonly limit: number,
    private readonly limitBytes = Number.POSITIVE_INFINITY,
  ) {}

  async read(entityId: string): Promise<{ waiting: number; storedBytes: number }> {
    const { waiting, storedBytes } = await this.#current(entityId);
    return { waiting, storedBytes };
  }

  /** Rejects only by a fresh sum: usually most deliveries accepted since the last sum are already complete. */
  async requireRoom(entityId: string): Promise<void> {
    let count = await this.#current(entityId);
    if (count.hasAdded && this.#isFull(count)) count = await this.#countOnce(entityId);
    const { waiting, storedBytes } = count;
    if (waiting >= this.limit) throw new DomainError('backlog_full', { waiting, limit: this.limit });
    if (storedBytes >= this.limitBytes) {
      throw new DomainError('storage_full', { storedBytes, limitBytes: this.limitBytes });
    }
  }

  add(entityId: string, deliveries: number, bytes: number): void {
    const count = this.#counts.get(entityId);
    if (count === undefined) return;
    count.waiting += deliveries;
    count.storedBytes += bytes;
    count.hasAdded = true;
  }

  #isFull({ waiting, storedBytes }: Pick<Count, 'waiting' | 'storedBytes'>): boolean {
    return waiting >= this.limit || storedBytes >= this.limitBytes;
  }

  async #current(entityId: string): Promise<Count> {
    const count = this.#counts.get(entityId);
    return count === undefined || performance.now() > count.goodUntilMs ? this.#countOnce(entityId) : count;
  }

  #countOnce(entityId: string): Promise<Count> {
    const known = this.#counting.get(entityId);
    if (known !== undefined) return known;
    const counting = this.#count(entityId).finally(() => this.#counting.delete(entityId));
    this.#counting.set(entityId, counting);
    return counting;
  }

  async #count(entityId: string): Promise<Count> {
    // Most entities have few counters. With many, their sum is a long read.
    const few = await this.#sum(this.db, entityId, FEW_COUNTERS);
    const sums =
      few.counters < FEW_COUNTERS ? few : await this.#sum(longReadsOf(this.db, entityId), entityId, ALL_COUNTERS);
    const { waiting, storedBytes } = sums;
    const freshMs = this.#isFull(sums) ? FULL_FRESH_MS : FRESH_MS;
    const count = { waiting, storedBytes, hasAdded: false, goodUntilMs: performance.now() + freshMs };
    this.#counts.set(entityId, count);
    return count;
  }

  async #sum(
    reads: Reads,
    entityId: string,
    most: number,
  ): Promise<{ waiting: number; storedBytes: number; counters: number }> {
    const row = await reads.get<Record<'waiting' | 'stored_bytes', SqlInteger | null> & { counters: SqlInteger }>(
      `select sum(case when h.blocked = 0 then c.waiting end) as waiting, sum(c.stored_bytes) as stored_bytes,
         count(*) as counters
       from (select webhook_no, waiting, stored_bytes from queue_counts where entity_id = $1 limit $2) c
       left join queue_heads h on h.entity_id = $1 and h.webhook_no = c.webhook_no`,
      [entityKey(this.db.dialect, entityId), most],
    );
    return {
      waiting: Number(row?.waiting ?? 0),
      storedBytes: Number(row?.stored_bytes ?? 0),
      counters: Number(row?.counters ?? 0),
    };
  }
}
