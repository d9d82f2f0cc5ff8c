import { BoundedMap } from '../../../bounded-map.ts';
import { DomainError } from '../../../domain/errors.ts';
import { type Database, longReadsOf, type Reads, type SqlInteger } from '../../database/database.ts';
import { entityKey } from '../../database/sql.ts';

/**
 * A sum older than this is read again. A sum that has reached a limit is read again sooner, because deliveries leave the queue
 * all the time.
 */
const FRESH_MS = 1_000;
const FULL_FRESH_MS = 100;
const MAX_ENTITIES = 10_000;
/** Counters that are summed up within a millisecond. */
const FEW_COUNTERS = 1_000;
const ALL_COUNTERS = Number.MAX_SAFE_INTEGER;

/** `hasAdded` means that something was accepted after the sums were read. Deliveries may have been completed since then. */
type Count = { waiting: number; storedBytes: number; hasAdded: boolean; goodUntilMs: number };

/**
 * How many deliveries of each entity wait, and how many bytes it stores, at most a second old: the sums of its counters, plus
 * everything that was accepted since then. Deliveries of suspended or paused webhooks do not count, because one forgotten webhook
 * must not stop its entity.
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

  /**
   * Throws if the entity has reached a limit. Reads a fresh sum first, because most deliveries accepted since the last sum are
   * usually complete by now.
   */
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
