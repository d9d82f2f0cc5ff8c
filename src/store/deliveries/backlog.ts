import { BoundedMap } from '../../bounded-map.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database } from '../database/database.ts';
import { readInteger } from '../database/sql.ts';
import { WAITING } from './states.ts';

/** A count is used for at least this long. */
const FRESH_MS = 1_000;
/** Counting a long backlog blocks other reads on SQLite, so at most a five-hundredth of the time goes into it. */
const COST_FACTOR = 500;
const MAX_ENTITIES = 10_000;

type Count = { waiting: number; goodUntilMs: number };

/**
 * The number of waiting deliveries of each entity, to within a second or so. No delivery pays for a counter: the rows
 * are counted along their index now and then, and what is accepted in between is added.
 */
export class Backlog {
  readonly #counts = new BoundedMap<string, Count>(MAX_ENTITIES);
  /** Shared by all requests during a count, such as the thousand lines of a batch. */
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
    const from = `from deliveries where entity_id = $1 and ${WAITING}`;
    const waiting = await readInteger(this.db, 'count(*)', from, [entityId]);
    const nowMs = performance.now();
    const goodForMs = Math.max(FRESH_MS, (nowMs - startedAtMs) * COST_FACTOR);
    const count = { waiting, goodUntilMs: nowMs + goodForMs };
    this.#counts.set(entityId, count);
    return count;
  }
}
