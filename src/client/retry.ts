import { PaybellError, ProblemError } from './errors.ts';

const FIRST_WAIT_MS = 250;
/** A service that asks for a longer wait gets no retry: the caller decides what to do in the meantime. */
const MAX_WAIT_MS = 30_000;

/** A proxy responds with these when it lost the service's response, so the request may have been processed. */
const LOST_RESPONSE_STATUSES = [502, 503, 504];

/**
 * How long to wait before the next attempt, or null when there must be none. A request that is not idempotent is
 * repeated only when the service has refused it.
 */
export function waitBeforeRetryMs(error: unknown, attempt: number, isIdempotent: boolean): number | null {
  if (!(error instanceof PaybellError)) return null;
  if (!(error instanceof ProblemError)) return isIdempotent ? backOffMs(attempt) : null;
  const isSafe = isRefusal(error) || (isIdempotent && LOST_RESPONSE_STATUSES.includes(error.status));
  if (!isSafe) return null;
  const waitMs = error.retryAfterS === null ? backOffMs(attempt) : error.retryAfterS * 1000;
  return waitMs > MAX_WAIT_MS ? null : waitMs;
}

/** Whether the service refused the request before it processed anything. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 429;
}

/** Exponential, with jitter so that many clients do not return at the same moment. */
function backOffMs(attempt: number): number {
  return FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random());
}
