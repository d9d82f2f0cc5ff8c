import { BoundedMap } from '../../bounded-map.ts';

/** How `listen` answers when it is told to misbehave, so that a sender's retries can be watched. */
export type AnswerPlan = {
  /** How many posts of each delivery to fail; null fails none, unless a status is given, which then fails all. */
  readonly fail: number | null;
  readonly status: number | null;
};

const FAILING_STATUS = 500;
/** Deliveries whose posts are counted; beyond that the one seen longest ago is forgotten. */
const MAX_COUNTED = 10_000;

/** Counts the posts of each delivery: a retry carries the same `webhook-id`. */
export class PostCounts {
  readonly #counts = new BoundedMap<string, number>(MAX_COUNTED);

  /** Which post of its delivery this is, from 1. */
  next(deliveryId: string): number {
    const count = (this.#counts.get(deliveryId) ?? 0) + 1;
    this.#counts.set(deliveryId, count);
    return count;
  }
}

/** The status to answer with on purpose, or null to answer in earnest. */
export function plannedStatus({ fail, status }: AnswerPlan, post: number): number | null {
  if (fail === null) return status;
  return post <= fail ? (status ?? FAILING_STATUS) : null;
}
