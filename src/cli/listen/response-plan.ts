import { BoundedMap } from '../../bounded-map.ts';

/** The failures that `listen` simulates, so that the retries of a sender can be watched. */
export type ResponsePlan = {
  /** How many attempts of each delivery fail. Null: none fails, or all fail if a status is given. */
  readonly fail: number | null;
  readonly status: number | null;
};

const DEFAULT_FAILURE_STATUS = 500;
const MAX_COUNTED_DELIVERIES = 10_000;

/** Counts the attempts of each delivery: a retry has the same `webhook-id`. */
export class AttemptCounts {
  readonly #counts = new BoundedMap<string, number>(MAX_COUNTED_DELIVERIES);

  /** The number of this attempt, from 1. */
  next(deliveryId: string): number {
    const count = (this.#counts.get(deliveryId) ?? 0) + 1;
    this.#counts.set(deliveryId, count);
    return count;
  }
}

/** The status of a simulated failure, or null if the request should be handled. */
export function plannedStatus({ fail, status }: ResponsePlan, attempt: number): number | null {
  if (fail === null) return status;
  return attempt <= fail ? (status ?? DEFAULT_FAILURE_STATUS) : null;
}
