import { readFileSync } from 'node:fs';
import type { Config } from '../../config.ts';
import { type Finding, ok, warning } from './finding.ts';

/** For clients of the API, kept connections to receivers, and the store. */
const OTHER_FILES = 1_024;

/** Each attempt in flight and each client is an open file. Where the limit is too low, attempts fail and clients wait. */
export function checkOpenFiles({ DELIVERY_CONCURRENCY }: Config, limit = readLimit()): Finding {
  if (limit === null) return ok('open files', 'not checked: this system does not tell the limit');
  const needed = DELIVERY_CONCURRENCY + OTHER_FILES;
  if (limit >= needed) return ok('open files', `at most ${limit}, and ${needed} may be needed`);
  const found = `at most ${limit}, but DELIVERY_CONCURRENCY=${DELIVERY_CONCURRENCY} may need ${needed}`;
  const fix = 'Raise the limit of open files (LimitNOFILE of systemd, ulimit -n), or lower DELIVERY_CONCURRENCY.';
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
