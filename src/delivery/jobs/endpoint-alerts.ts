import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { alertFailingEndpoints, alertRecoveredEndpoints } from '../../store/endpoints/alerts.ts';
import { Job } from './job.ts';

const EVERY_MS = 60_000;
/** Limit of one run. The remaining alerts follow with the next run. */
const MAX_STEPS = 20;

/** Alerts entities about endpoints that keep failing or have recovered. Any instance that delivers may run this job. */
export function endpointAlertsJob(db: Database, log: Logger, onAlert: () => void): Job {
  const run = async (signal: AbortSignal) => {
    for (const step of [alertRecoveredEndpoints, alertFailingEndpoints]) {
      for (let steps = 0; steps < MAX_STEPS && !signal.aborted; steps++) {
        if ((await step(db)) === 0) break;
        onAlert();
      }
    }
  };
  return new Job({ name: 'endpoint alerts', log, everyMs: EVERY_MS, jitter: 0.2, run });
}
