import type { Registry } from '../../metrics/registry.ts';
import type { Database, SqlInteger } from '../database/database.ts';

/** One look at the index reads this many of its entries: about a millisecond on SQLite, which works on our own thread. */
const ENTRIES_PER_LOOK = 2_000;
const FRESH_MS = 3_000;
/** A long queue takes its time to count: never more than about a fiftieth of it goes into counting. */
const COST_FACTOR = 50;
/** Whoever scrapes gets the last figures rather than wait for a long count. */
const LONGEST_WAIT_MS = 250;

export type Depth = {
  /** Deliveries that have an attempt to come, now or later. */
  waiting: number;
  /** Those of them whose time has come and that nobody holds. */
  due: number;
  /** How long the first of these has been due; 0 when none is. */
  oldestDueAgeMs: number;
  suspendedWebhooks: number;
};

/** How much waits in the whole store, counted along the index when somebody asks, and not more often than it is worth. */
export class QueueDepth {
  #known: Depth | null = null;
  #goodUntilMs = 0;
  #counting: Promise<void> | null = null;

  constructor(
    private readonly db: Database,
    private readonly entriesPerLook = ENTRIES_PER_LOOK,
  ) {}

  /** Null before the first count. */
  get known(): Depth | null {
    return this.#known;
  }

  /** Never fails: without the store the last figures stay until they are too old to tell anything. */
  async refresh(): Promise<void> {
    if (performance.now() < this.#goodUntilMs) return;
    this.#counting ??= this.#count();
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, LONGEST_WAIT_MS);
    await Promise.race([this.#counting, patience.promise]);
    clearTimeout(timer);
  }

  async #count(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      this.#known = await countWaiting(this.db, this.entriesPerLook);
    } catch {
      this.#known = null;
    }
    const nowMs = performance.now();
    this.#goodUntilMs = nowMs + Math.max(FRESH_MS, (nowMs - startedAtMs) * COST_FACTOR);
    this.#counting = null;
  }
}

export function observeQueue(registry: Registry, queue: QueueDepth): void {
  registry.beforeScrape(() => queue.refresh());
  const read = (name: string, help: string, value: (depth: Depth) => number) =>
    registry.read(name, help, () => (queue.known === null ? null : value(queue.known)));
  read('paybell_deliveries_waiting', 'Deliveries with an attempt to come.', ({ waiting }) => waiting);
  read('paybell_deliveries_due', 'Deliveries whose time has come and that nobody has taken.', ({ due }) => due);
  read(
    'paybell_oldest_due_age_seconds',
    'How long the first of the due deliveries has been due.',
    ({ oldestDueAgeMs }) => oldestDueAgeMs / 1000,
  );
  read('paybell_webhooks_suspended', 'Webhooks out of service.', ({ suspendedWebhooks }) => suspendedWebhooks);
}

type Place = { destination: string; dueMs: number };
type Slice = { total: number; due: number; firstDueMs: number | null; nowMs: number; last: Place | null };

/** In slices, and everybody else has a turn in between: 1 M entries at a time would stop SQLite for a good part of a second. */
async function countWaiting(db: Database, entriesPerLook: number): Promise<Depth> {
  const depth = { waiting: 0, due: 0, oldestDueAgeMs: 0 };
  let after: Place | null = { destination: '', dueMs: 0 };
  while (after !== null) {
    const slice: Slice = await countSlice(db, after, entriesPerLook);
    depth.waiting += slice.total;
    depth.due += slice.due;
    if (slice.firstDueMs !== null && slice.due > 0) {
      depth.oldestDueAgeMs = Math.max(depth.oldestDueAgeMs, slice.nowMs - slice.firstDueMs);
    }
    after = slice.last;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const suspended = await db.get<{ total: SqlInteger }>(
    'select count(*) as total from webhooks where suspended_at is not null',
  );
  return { ...depth, suspendedWebhooks: Number(suspended?.total ?? 0) };
}

type SliceRow = { total: SqlInteger; due: SqlInteger | null; first_due_ms: SqlInteger | null; now_ms: SqlInteger };

/** From one place of the index (not included) to another (included, with all that share it), or to the end. */
async function countSlice(db: Database, after: Place, size: number): Promise<Slice> {
  const last = await db.get<{ destination: string; due_ms: SqlInteger }>(
    `select destination, due_ms from deliveries
     where due_ms is not null and (destination, due_ms) > ($1, $2)
     order by destination, due_ms limit 1 offset $3`,
    [after.destination, after.dueMs, size - 1],
  );
  const end = last === undefined ? '' : 'and (destination, due_ms) <= ($3, $4)';
  const row = await db.get<SliceRow>(
    `select count(*) as total, sum(case when due_ms <= ${db.dialect.nowMs} then 1 else 0 end) as due,
       min(due_ms) as first_due_ms, ${db.dialect.nowMs} as now_ms
     from deliveries where due_ms is not null and (destination, due_ms) > ($1, $2) ${end}`,
    [after.destination, after.dueMs, ...(last === undefined ? [] : [last.destination, last.due_ms])],
  );
  return {
    total: Number(row?.total ?? 0),
    due: Number(row?.due ?? 0),
    firstDueMs: row?.first_due_ms == null ? null : Number(row.first_due_ms),
    nowMs: Number(row?.now_ms ?? 0),
    last: last === undefined ? null : { destination: last.destination, dueMs: Number(last.due_ms) },
  };
}
