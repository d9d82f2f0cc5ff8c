import type { Database } from '../store/database.ts';
import { walkDestinations } from '../store/delivery-claims.ts';
import type { Destinations } from './destinations.ts';

/** Seeks for one read of the index; and how many such reads one plan may take. */
const WINDOW = 256;
const MAX_WINDOWS = 40;

/** Of one destination in one turn: enough to keep it busy, few enough that all get theirs. */
const MOST_PER_DESTINATION = 64;

export type Pick = { destination: string; most: number };

export type Plan = {
  picks: Pick[];
  /** It ended early or took a full share: worth another look at once, if what was claimed leaves room. */
  more: boolean;
  /** Something due may have been left where there is no room: worth another look as soon as an attempt ends. */
  leftBehind: boolean;
  /** How long until the first delivery that was seen to wait is due; null when none was seen. */
  nextDueInMs: number | null;
};

/**
 * Decides what to claim: the destinations in turn, from where the last turn ended, each as much as it has room for.
 * A destination without room costs one seek, however much waits there.
 */
export class ClaimPlanner {
  #cursor = '';

  constructor(
    private readonly db: Database,
    private readonly destinations: Destinations,
  ) {}

  async plan(room: number): Promise<Plan> {
    const plan: Plan = { picks: [], more: false, leftBehind: false, nextDueInMs: null };
    const startedAt = this.#cursor;
    let from = startedAt;
    let wrapped = startedAt === '';
    let free = room;
    for (let windows = 0; windows < MAX_WINDOWS; windows++) {
      const found = await walkDestinations(this.db, from, WINDOW);
      for (const waiting of found) {
        // Full circle: everything from here on has had its turn in this plan.
        if (wrapped && startedAt !== '' && waiting.destination > startedAt) return plan;
        const inMs = waiting.firstDueMs - waiting.nowMs;
        if (inMs > 0) plan.nextDueInMs = Math.min(inMs, plan.nextDueInMs ?? inMs);
        else free -= this.#pick(plan, waiting.destination, free);
        // Reserved is not yet taken: a destination may have less due than it has room for.
        if (free <= 0) return { ...plan, more: true };
      }
      if (found.length === WINDOW) from = found.at(-1)?.destination ?? '';
      else if (wrapped) return plan;
      else {
        wrapped = true;
        from = '';
      }
    }
    this.#cursor = from;
    return { ...plan, more: true };
  }

  #pick(plan: Plan, destination: string, free: number): number {
    const most = Math.min(this.destinations.roomAt(destination), MOST_PER_DESTINATION, free);
    // Whether there is more due than is taken is not known without reading it: taken as yes, which costs one look.
    plan.leftBehind = true;
    if (most <= 0) return 0;
    plan.picks.push({ destination, most });
    plan.more ||= most === MOST_PER_DESTINATION;
    this.#cursor = destination;
    return most;
  }
}
