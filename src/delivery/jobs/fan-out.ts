import type { DestinationKey } from '../../domain/post-url.ts';
import type { Logger } from '../../log.ts';
import type { Database, SqlUuid } from '../../store/database/database.ts';
import { continueFanOut } from '../../store/events/fan-out.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

/** Finds what another instance has left; an acceptance in this process wakes the job at once. */
const EVERY_MS = 1_000;

/** Makes the deliveries of events that are for more webhooks than one transaction has room for. */
export function fanOutJob(
  db: Database,
  log: Logger,
  onDue: (destinations: readonly DestinationKey[]) => void,
  workers?: Workers,
): Job {
  const run = async (signal: AbortSignal) => {
    let after: SqlUuid | null = null;
    while (!signal.aborted) {
      const step = await continueFanOut(db, after);
      if (step !== null) onDue(step.destinations);
      // Behind the last entity, the next turn begins with the first.
      else if (after === null) return;
      after = step?.entity ?? null;
    }
  };
  return new Job({ name: 'fan-out', log, workers, everyMs: EVERY_MS, firstAfterMs: 0, run });
}
