import { DRAIN_MS } from '../api/server.ts';
import type { Config } from '../config.ts';

/** The settings on which the length of a stop depends. */
type StopSettings = Pick<Config, 'DELIVERY_TIMEOUT' | 'DATABASE_TIMEOUT'>;

/** Long enough for a load balancer to see /readyz fail, short enough for a person at a terminal. */
export const READINESS_GRACE_MS = 250;
/** Time beyond the deadline of a statement, for which the last writes may wait. */
const LAST_WORK_MARGIN_MS = 3_000;
export const lastWorkMs = ({ DATABASE_TIMEOUT }: StopSettings) => DATABASE_TIMEOUT + LAST_WORK_MARGIN_MS;
/** Spans and metrics that the collector has not taken in this time are lost, because they must not delay the stop. */
export const LAST_TELEMETRY_MS = 2_000;
/** Attempts in flight end with their timeout. Then their results are written, and claims are returned. */
export const attemptsEndMs = (config: StopSettings) => config.DELIVERY_TIMEOUT + 2 * lastWorkMs(config);

/**
 * The longest that a stop can take: requests and attempts end concurrently, then the background work, then the
 * database. A supervisor has to wait longer than this before it kills the process; the unit and the compose file do.
 */
export function longestStopMs(config: StopSettings): number {
  return Math.max(READINESS_GRACE_MS + DRAIN_MS, attemptsEndMs(config)) + 2 * lastWorkMs(config);
}

/**
 * Returns whether the work ended in time, so that a stop always ends. Work that is cut off was not acknowledged, or
 * becomes due again.
 */
export async function endsWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const deadline = Promise.withResolvers<boolean>();
  const timer = setTimeout(deadline.resolve, ms, false);
  try {
    return await Promise.race([work.then(() => true), deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}
