import type { Config } from '../../config.ts';
import { fileBudget } from '../../delivery/open-files.ts';
import { type Finding, ok, warning } from './finding.ts';

type OpenFileSettings = Pick<Config, 'DELIVERY_CONCURRENCY' | 'FEED_LIMIT'>;

/** Each attempt in flight, each open feed and each client is an open file. A process with a low limit sends fewer requests at a time. */
export function checkOpenFiles(settings: OpenFileSettings, given?: number | null): Finding {
  const { limit, slots } = fileBudget(settings, given);
  const { DELIVERY_CONCURRENCY } = settings;
  if (limit === null) return ok('open files', 'not checked: this system does not show the limit');
  if (slots === DELIVERY_CONCURRENCY)
    return ok('open files', `at most ${limit}, enough for ${slots} requests at a time`);
  const found = `at most ${limit}, enough for ${slots} requests at a time instead of DELIVERY_CONCURRENCY=${DELIVERY_CONCURRENCY}`;
  const fix = 'Raise the limit of open files (LimitNOFILE of systemd, ulimit -n), or lower DELIVERY_CONCURRENCY.';
  return warning('open files', found, fix);
}
