import { config } from '../../fleet/settings.ts';
import type { Law } from '../law.ts';

const SLACK_MS = 1_000;

/** A lease that ends later than after its own length was taken before the clock was set back, by an instance that may be dead. */
const LONGEST = {
  networkLease: 6_000,
  lease: config.DELIVERY_TIMEOUT + 15_000,
  /** The longest step of the schedule, with its jitter. */
  due: 1.2 * Math.max(...config.RETRY_SCHEDULE),
};

export const clock: Law = {
  id: 'L14',
  says: 'A step of the clock changes when things happen and nothing else: no lease exceeds its length, and no wait its schedule.',
  check: ({ findings: { timesAhead }, model }, verdict) => {
    if (model.clockSteps.length === 0) return;
    for (const name of ['networkLease', 'lease', 'due'] as const) {
      const aheadMs = timesAhead[name];
      verdict.require(
        aheadMs <= LONGEST[name] + SLACK_MS,
        () => `${name} is ${Math.round(aheadMs / 1_000)} s ahead, after the last fault`,
      );
    }
  },
};
