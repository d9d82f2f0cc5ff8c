import { BoundedMap } from '../../bounded-map.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, SqlInteger } from '../database/database.ts';

/** A count older than this is taken again. */
const FRESH_MS = 1_000;
/** Counting a long backlog takes its time, in which nothing else is read: a five-hundredth at most goes into that. */
const COST_FACTOR = 500;
const MAX_ENTITIES = 10_000;

type Count = { waiting: number; goodUntilMs: number };

/**
 * How much of each entity waits to be delivered, to within a second or so. There is no counter on the road of a
 * delivery: the rows are counted along their index now and then, and what is accepted in between is added.
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
    if (waiting < this.limit) return;
    throw new DomainError('backlog_full', { waiting, limit: this.limit });
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
    const startedAtMs = performance.now();
    const row = await this.db.get<{ total: SqlInteger }>(
      `select count(*) as total from deliveries
       where entity_id = $1 and status in ('pending', 'retrying', 'held')`,
      [entityId],
    );
    const nowMs = performance.now();
    const goodForMs = Math.max(FRESH_MS, (nowMs - startedAtMs) * COST_FACTOR);
    const count = { waiting: Number(row?.total ?? 0), goodUntilMs: nowMs + goodForMs };
    this.#counts.set(entityId, count);
    return count;
  }
}
