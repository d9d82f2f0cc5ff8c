import { BoundedMap } from '../../../bounded-map.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Database, SqlInteger } from '../../database/database.ts';
import { entityKey } from '../keys.ts';

/** A sum older than this is read again. */
const FRESH_MS = 1_000;
const MAX_ENTITIES = 10_000;

type Count = { waiting: number; goodUntilMs: number };

/**
 * How much of each entity waits to be delivered, to within a second: the counters' sum, and what was accepted since.
 * Deliveries of webhooks that are suspended or paused do not count: one forgotten webhook must not stop its entity.
 */
export class Backlog {
  readonly #counts = new BoundedMap<string, Count>(MAX_ENTITIES);
  /** Shared by all who ask meanwhile, such as the thousand lines of a batch. */
  readonly #counting = new Map<string, Promise<Count>>();

  constructor(
    private readonly db: Database,
    private readonly limit: number,
  ) {}

  async waiting(entityId: string): Promise<number> {
    let count = this.#counts.get(entityId);
    if (count === undefined || performance.now() > count.goodUntilMs) count = await this.#countOnce(entityId);
    return count.waiting;
  }

  async requireRoom(entityId: string): Promise<void> {
    const waiting = await this.waiting(entityId);
    if (waiting >= this.limit) throw new DomainError('backlog_full', { waiting, limit: this.limit });
  }

  add(entityId: string, deliveries: number): void {
    const count = this.#counts.get(entityId);
    if (count !== undefined) count.waiting += deliveries;
  }

  #countOnce(entityId: string): Promise<Count> {
    const known = this.#counting.get(entityId);
    if (known !== undefined) return known;
    const counting = this.#count(entityId).finally(() => this.#counting.delete(entityId));
    this.#counting.set(entityId, counting);
    return counting;
  }

  async #count(entityId: string): Promise<Count> {
    const row = await this.db.get<{ total: SqlInteger | null }>(
      `select sum(c.waiting) as total from queue_counts c
       join queue_heads h on h.entity_id = c.entity_id and h.webhook_no = c.webhook_no
       where c.entity_id = $1 and h.blocked = 0`,
      [entityKey(this.db.dialect, entityId)],
    );
    const count = { waiting: Number(row?.total ?? 0), goodUntilMs: performance.now() + FRESH_MS };
    this.#counts.set(entityId, count);
    return count;
  }
}
