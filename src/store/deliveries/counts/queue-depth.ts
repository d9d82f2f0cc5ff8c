import type { Registry } from '../../../metrics/registry.ts';
import type { Database, SqlInteger, SqlUuid } from '../../database/database.ts';
import { readReachable } from '../../database/reachable-shards.ts';
import { FIRST_HEAD, findDueHeads, type HeadCursor, type Look } from '../claim/due-heads.ts';

/** One statement reads this many entries of the index: about a millisecond on SQLite. */
const ENTRIES_PER_LOOK = 2_000;
const FRESH_MS = 3_000;
/** Counting takes at most about a fiftieth of the time: after a count, the next one waits for this many times as long. */
const COST_FACTOR = 50;
/** A scrape waits for a count no longer than this, and then gets the last figures. */
const LONGEST_WAIT_MS = 250;

export type Depth = {
  /** Deliveries that have an attempt to come, now or later. */
  waiting: number;
  /** Waiting deliveries that are due and that no instance has claimed. */
  due: number;
  /** How long the first due delivery has been due; 0 if none is due. */
  oldestDueAgeMs: number;
  suspendedWebhooks: number;
  /** Bytes stored by all entities, and by the largest entity. */
  storedBytes: number;
  largestEntityBytes: number;
};

export type QueueDepthOptions = {
  readonly entriesPerLook?: number;
  readonly longestWaitMs?: number;
  readonly nowMs?: () => number;
};

/** The depth of all queues. It is counted when the metrics are read, but only so often that counting takes little time. */
export class QueueDepth {
  #known: Depth | null = null;
  #measuredAtMs = 0;
  #goodUntilMs = 0;
  #counting: Promise<void> | null = null;

  readonly #entriesPerLook: number;
  readonly #longestWaitMs: number;
  readonly #nowMs: () => number;

  constructor(
    private readonly db: Database,
    {
      entriesPerLook = ENTRIES_PER_LOOK,
      longestWaitMs = LONGEST_WAIT_MS,
      nowMs = () => performance.now(),
    }: QueueDepthOptions = {},
  ) {
    this.#entriesPerLook = entriesPerLook;
    this.#longestWaitMs = longestWaitMs;
    this.#nowMs = nowMs;
  }

  /** The figures of the last count that succeeded; null before the first. */
  get known(): Depth | null {
    return this.#known;
  }

  /** The time since the count of the known figures began. */
  get measuredAgeMs(): number {
    return this.#nowMs() - this.#measuredAtMs;
  }

  /** Counts again. Never fails: while the database does not respond, the last figures stay, and their age grows. */
  async refresh(): Promise<void> {
    if (this.#nowMs() < this.#goodUntilMs) return;
    this.#counting ??= this.#count();
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, this.#longestWaitMs);
    await Promise.race([this.#counting, patience.promise]);
    clearTimeout(timer);
  }

  async #count(): Promise<void> {
    const startedAtMs = this.#nowMs();
    try {
      this.#known = await countWaiting(this.db, this.#entriesPerLook);
      this.#measuredAtMs = startedAtMs;
    } catch {
      // Keeps the last figures, because an autoscaler needs them most while the database is slow.
    }
    const nowMs = this.#nowMs();
    this.#goodUntilMs = nowMs + Math.max(FRESH_MS, (nowMs - startedAtMs) * COST_FACTOR);
    this.#counting = null;
  }
}

export function observeQueue(registry: Registry, queue: QueueDepth): void {
  registry.beforeScrape(() => queue.refresh());
  const read = (name: string, help: string, value: (depth: Depth) => number) =>
    registry.read(name, help, () => (queue.known === null ? null : value(queue.known)));
  read('paybell_deliveries_waiting', 'Deliveries with an attempt to come.', ({ waiting }) => waiting);
  read('paybell_deliveries_due', 'Due deliveries that no instance has claimed.', ({ due }) => due);
  read(
    'paybell_oldest_due_age_seconds',
    'How long the first of the due deliveries has been due.',
    ({ oldestDueAgeMs }) => oldestDueAgeMs / 1000,
  );
  read(
    'paybell_oldest_due_measured_age_seconds',
    'Time since the queue was counted for paybell_oldest_due_age_seconds and the other figures of the queue.',
    () => queue.measuredAgeMs / 1000,
  );
  read(
    'paybell_stored_bytes',
    'Bytes of events, deliveries and attempts, of all entities.',
    (depth) => depth.storedBytes,
  );
  read(
    'paybell_largest_entity_bytes',
    'Bytes stored by the largest entity. ENTITY_STORAGE_LIMIT limits them.',
    ({ largestEntityBytes }) => largestEntityBytes,
  );
  read('paybell_webhooks_suspended', 'Suspended webhooks.', ({ suspendedWebhooks }) => suspendedWebhooks);
}

/**
 * The total comes from the counters. Rows are counted only if some are due, head by head, so that other long reads of SQLite can
 * run in between. A count of 1 M rows would block these reads for a good part of a second.
 */
export async function countWaiting(db: Database, entriesPerLook = ENTRIES_PER_LOOK): Promise<Depth> {
  const depth = { waiting: await sumWaiting(db), due: 0, oldestDueAgeMs: 0 };
  let after: HeadCursor | null = FIRST_HEAD;
  while (after !== null) {
    const { due }: Look = await findDueHeads(db, after, HEADS_PER_LOOK);
    for (const { cursor } of due) {
      const counted = await countDue(db, cursor, entriesPerLook);
      depth.due += counted.due;
      depth.oldestDueAgeMs = Math.max(depth.oldestDueAgeMs, counted.oldestDueAgeMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
    after = due.length < HEADS_PER_LOOK ? null : (due.at(-1)?.cursor ?? null);
  }
  const suspended = await db.longReads.get<{ total: SqlInteger }>(
    'select count(*) as total from webhooks where suspended_at is not null',
  );
  return { ...depth, suspendedWebhooks: Number(suspended?.total ?? 0), ...(await sumStored(db)) };
}

/** Sums over the entities that can be reached, like all figures here. */
async function sumWaiting(db: Database): Promise<number> {
  const text = (counts: string, heads: string) => `select sum(c.waiting) as total from ${counts} c
     join ${heads} h on h.entity_id = c.entity_id and h.webhook_no = c.webhook_no where h.blocked = 0`;
  const sums = await readReachable<{ total: SqlInteger | null }>(
    db,
    () => db.longReads.all(text('queue_counts', 'queue_heads')),
    { tables: ['queue_counts', 'queue_heads'], select: (counts = '', heads = '') => text(counts, heads) },
  );
  return sums.reduce((sum, { total }) => sum + Number(total ?? 0), 0);
}

async function sumStored(db: Database): Promise<Pick<Depth, 'storedBytes' | 'largestEntityBytes'>> {
  const text = (counts: string) => `select sum(bytes) as total, max(bytes) as largest
     from (select sum(stored_bytes) as bytes from ${counts} group by entity_id) stored`;
  const sums = await readReachable<{ total: SqlInteger | null; largest: SqlInteger | null }>(
    db,
    () => db.longReads.all(text('queue_counts')),
    { tables: ['queue_counts'], select: (counts = '') => text(counts) },
  );
  return {
    storedBytes: sums.reduce((sum, { total }) => sum + Number(total ?? 0), 0),
    largestEntityBytes: Math.max(0, ...sums.map(({ largest }) => Number(largest ?? 0))),
  };
}

const HEADS_PER_LOOK = 100;

type DueRow = { due_ms: SqlInteger; id: SqlUuid; generation: SqlInteger; lease_ms: SqlInteger; now_ms: SqlInteger };

/** Counts the due rows of a head, from the first to the last, a slice of the index at a time. */
async function countDue(
  db: Database,
  { entity, webhookNo }: Pick<HeadCursor, 'entity' | 'webhookNo'>,
  entriesPerLook = ENTRIES_PER_LOOK,
): Promise<{ due: number; oldestDueAgeMs: number }> {
  const { bindUuid, nowMs } = db.dialect;
  const counted = { due: 0, oldestDueAgeMs: 0 };
  let after: { generation: number; dueMs: number; id: SqlUuid } | null = {
    generation: -1,
    dueMs: 0,
    id: bindUuid('0'.repeat(32)),
  };
  while (after !== null) {
    const { generation, dueMs, id }: { generation: number; dueMs: number; id: SqlUuid } = after;
    const rows: DueRow[] = await db.longReads.all<DueRow>(
      `select q.due_ms, q.id, q.generation, q.lease_ms, ${nowMs} as now_ms from queue_heads h cross join queue q
       where h.entity_id = $1 and h.webhook_no = $2 and q.entity_id = $1 and q.webhook_no = $2
         and (q.generation, q.due_ms, q.id) > ($3, $4, $5) and q.generation <= h.generation
         and (q.generation < h.generation or q.due_ms <= ${nowMs})
       order by q.generation, q.due_ms, q.id limit ${entriesPerLook}`,
      [bindUuid(entity), webhookNo, generation, dueMs, id],
    );
    for (const row of rows) {
      if (Number(row.lease_ms) > Number(row.now_ms)) continue;
      counted.due++;
      counted.oldestDueAgeMs = Math.max(counted.oldestDueAgeMs, Number(row.now_ms) - Number(row.due_ms));
    }
    const last: DueRow | undefined = rows.length < entriesPerLook ? undefined : rows.at(-1);
    after =
      last === undefined ? null : { generation: Number(last.generation), dueMs: Number(last.due_ms), id: last.id };
    await new Promise((resolve) => setImmediate(resolve));
  }
  return counted;
}
