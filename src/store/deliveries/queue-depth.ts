import type { Registry } from '../../metrics/registry.ts';
import type { Database } from '../database/database.ts';
import { Columns, integer, nullable, type RowOf, readInteger, text } from '../database/sql.ts';

/** Index entries read by one statement: about a millisecond on SQLite, which runs on the thread of the event loop. */
const ENTRIES_PER_SLICE = 2_000;
const FRESH_MS = 3_000;
/** Counting a long queue takes time: at most about a fiftieth of the time goes into it. */
const COST_FACTOR = 50;
/** A scrape gets the previous figures rather than wait longer than this for a count. */
const LONGEST_WAIT_MS = 250;

export type Depth = {
  /** Deliveries with a next attempt, now or later. */
  waiting: number;
  /** Those of them that are due and not claimed. */
  due: number;
  /** How long the oldest of these has been due; 0 when none is. */
  oldestDueAgeMs: number;
  suspendedWebhooks: number;
};

/** The queue of the whole store, counted along the index when the metrics are scraped, and only as often as is cheap. */
export class QueueDepth {
  #known: Depth | null = null;
  #goodUntilMs = 0;
  #counting: Promise<void> | null = null;

  constructor(
    private readonly db: Database,
    private readonly entriesPerSlice = ENTRIES_PER_SLICE,
  ) {}

  /** Null before the first count. */
  get known(): Depth | null {
    return this.#known;
  }

  /** Never rejects: when the count fails, there are no figures until the next one succeeds. */
  async refresh(): Promise<void> {
    if (performance.now() < this.#goodUntilMs) return;
    this.#counting ??= this.#count();
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, LONGEST_WAIT_MS);
    await Promise.race([this.#counting, timeout.promise]);
    clearTimeout(timer);
  }

  async #count(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      this.#known = await countWaiting(this.db, this.entriesPerSlice);
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
  read('paybell_deliveries_waiting', 'Deliveries with a next attempt.', ({ waiting }) => waiting);
  read('paybell_deliveries_due', 'Deliveries that are due and not claimed.', ({ due }) => due);
  read(
    'paybell_oldest_due_age_seconds',
    'How long the oldest due delivery has been due.',
    ({ oldestDueAgeMs }) => oldestDueAgeMs / 1000,
  );
  read('paybell_webhooks_suspended', 'Suspended webhooks.', ({ suspendedWebhooks }) => suspendedWebhooks);
}

/** An entry of the index. */
type Place = { destination: string; dueMs: number };
const COUNT = new Columns({
  total: integer('count(*)'),
  due: nullable(integer()),
  firstDueMs: nullable(integer('min(due_ms)')),
  nowMs: integer(),
});
const PLACE = new Columns({ destination: text('destination'), dueMs: integer('due_ms') });

type Slice = RowOf<typeof COUNT> & { last: Place | undefined };

/** In slices, with other work in between: reading a million entries at once would block SQLite for most of a second. */
async function countWaiting(db: Database, entriesPerSlice: number): Promise<Depth> {
  const depth = { waiting: 0, due: 0, oldestDueAgeMs: 0 };
  let after: Place | undefined = { destination: '', dueMs: 0 };
  while (after !== undefined) {
    const slice: Slice = await countSlice(db, after, entriesPerSlice);
    depth.waiting += slice.total;
    const due = slice.due ?? 0;
    depth.due += due;
    if (slice.firstDueMs !== null && due > 0) {
      depth.oldestDueAgeMs = Math.max(depth.oldestDueAgeMs, slice.nowMs - slice.firstDueMs);
    }
    after = slice.last;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const suspendedWebhooks = await readInteger(db, 'count(*)', 'from webhooks where suspended_at is not null');
  return { ...depth, suspendedWebhooks };
}

/** From one entry of the index (excluded) to another (included, with all that share its place), or to the end. */
async function countSlice(db: Database, after: Place, size: number): Promise<Slice> {
  const last = await PLACE.get(
    db,
    `select ${PLACE.list} from deliveries
     where due_ms is not null and (destination, due_ms) > ($1, $2)
     order by destination, due_ms limit 1 offset $3`,
    [after.destination, after.dueMs, size - 1],
  );
  const { nowMs } = db.dialect;
  const end = last === undefined ? '' : 'and (destination, due_ms) <= ($3, $4)';
  const count = await COUNT.get(
    db,
    `select ${COUNT.list}, sum(case when due_ms <= ${nowMs} then 1 else 0 end) as due, ${nowMs} as "nowMs"
     from deliveries where due_ms is not null and (destination, due_ms) > ($1, $2) ${end}`,
    [after.destination, after.dueMs, ...(last === undefined ? [] : [last.destination, last.dueMs])],
  );
  return { total: 0, due: 0, firstDueMs: null, nowMs: 0, ...count, last };
}
