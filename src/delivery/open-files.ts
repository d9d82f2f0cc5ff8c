import { readFileSync } from 'node:fs';
import type { Config } from '../config.ts';

/** Share of the files for API clients, the database, chain nodes and the process itself. */
const OTHER_SHARE = 1 / 4;
const MIN_OTHER_FILES = 96;
const MAX_OTHER_FILES = 1_024;
/** Share of the files for feeds, if FEED_LIMIT is not lower. */
const FEED_SHARE = 1 / 8;
const KEPT_SHARE = 1 / 5;
const MAX_KEPT = 1_024;

type FileSettings = Pick<Config, 'DELIVERY_CONCURRENCY' | 'FEED_LIMIT'>;

/** The open files that requests to receivers may use. */
export type FileBudget = {
  /** The limit of the process; null if the system does not show it. */
  readonly limit: number | null;
  /** Requests in flight: DELIVERY_CONCURRENCY, or fewer under a low limit. */
  readonly slots: number;
  /** Connections that are kept open between requests. */
  readonly kept: number;
};

/**
 * Divides the open files of the process. Without a bound, hanging receivers of one entity would use all of them.
 * Requests of other entities would then fail before they are sent, and the API would accept no connection.
 */
export function fileBudget(
  { DELIVERY_CONCURRENCY, FEED_LIMIT }: FileSettings,
  limit: number | null = readFileLimit(),
): FileBudget {
  if (limit === null) return { limit, slots: DELIVERY_CONCURRENCY, kept: MAX_KEPT };
  const others = Math.min(MAX_OTHER_FILES, Math.max(MIN_OTHER_FILES, Math.floor(limit * OTHER_SHARE)));
  const outgoing = Math.max(2, limit - others - Math.min(FEED_LIMIT, Math.floor(limit * FEED_SHARE)));
  const kept = Math.min(MAX_KEPT, Math.floor(outgoing * KEPT_SHARE));
  return { limit, slots: Math.min(DELIVERY_CONCURRENCY, outgoing - kept), kept };
}

/** Bun raises its own limit as far as the system allows, so every process of an installation reads the same number. */
function readFileLimit(): number | null {
  try {
    const limit = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? null : limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return null;
  }
}
