import type { DestinationKey } from '../../domain/post-url.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { continueFanOut, findFanOut } from '../../store/events/fan-out.ts';
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
  /** One step for each entity; returns whether any was made. */
  const runRound = async (signal: AbortSignal) => {
    let hasMade = false;
    let entity = await findFanOut(db, null);
    while (entity !== null && !signal.aborted) {
      try {
        const destinations = await continueFanOut(db, entity);
        if (destinations !== null) onDue(destinations);
        hasMade ||= destinations !== null;
      } catch (error) {
        // Those of the other entities go on. When the store is unavailable, so is the search for the next.
        log.warn({ err: error }, 'a fan-out failed; it goes on later');
      }
      entity = await findFanOut(db, entity);
    }
    return hasMade;
  };
  const run = async (signal: AbortSignal) => {
    while (!signal.aborted && (await runRound(signal)));
  };
  return new Job({ name: 'fan-out', log, workers, everyMs: EVERY_MS, firstAfterMs: 0, run });
}
