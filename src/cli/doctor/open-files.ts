import { readFileSync } from 'node:fs';
import type { Config } from '../../config.ts';
import { type Finding, ok, warning } from './finding.ts';

/** For clients of the API, kept connections to receivers, and the store. */
const OTHER_FILES = 1_024;

type OpenFileSettings = Pick<Config, 'DELIVERY_CONCURRENCY' | 'FEED_LIMIT'>;

/** Each attempt in flight, each open feed and each client is an open file. Where the limit is too low, attempts fail and clients wait. */
export function checkOpenFiles({ DELIVERY_CONCURRENCY, FEED_LIMIT }: OpenFileSettings, limit = readLimit()): Finding {
  if (limit === null) return ok('open files', 'not checked: this system does not tell the limit');
  const needed = DELIVERY_CONCURRENCY + FEED_LIMIT + OTHER_FILES;
  if (limit >= needed) return ok('open files', `at most ${limit}, and ${needed} may be needed`);
  const settings = `DELIVERY_CONCURRENCY=${DELIVERY_CONCURRENCY} and FEED_LIMIT=${FEED_LIMIT}`;
  const found = `at most ${limit}, but ${settings} may need ${needed}, and more if several entities read feeds`;
  const fix = 'Raise the limit of open files (LimitNOFILE of systemd, ulimit -n), or lower one of the two.';
  return warning('open files', found, fix);
}

/** Bun raises its own limit as far as the system allows, so this is the limit that the service would have too. */
function readLimit(): number | null {
  try {
    const limit = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? null : limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return null;
  }
}
