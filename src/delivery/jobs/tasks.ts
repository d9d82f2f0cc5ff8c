import type { Logger } from '../../log.ts';
import type { Database, SqlUuid } from '../../store/database/database.ts';
import { findDueEntities, type Stepped, stepNext } from '../../store/tasks/run.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

/** Finds tasks of other instances; new work in this process wakes the job at once. */
const EVERY_MS = 1_000;

/** Runs the tasks of all entities. Entities take turns, so that an entity with many tasks delays another entity by one step. */
export function tasksJob(db: Database, log: Logger, onStep: (stepped: Stepped) => void, workers?: Workers): Job {
  const step = async (entity: SqlUuid) => {
    const stepped = await stepNext(db, entity);
    if (stepped === null) return false;
    const { task, failure } = stepped;
    if (failure !== null) {
      const { kind, entityId, failures } = task;
      const about = { err: failure.error, kind, entityId, failures: failures + 1, retryInMs: failure.retryInMs };
      log.warn(about, 'a step of a task failed; the task continues later');
    }
    onStep(stepped);
    return true;
  };
  /** Returns whether a task was stepped. */
  const runRound = async (signal: AbortSignal) => {
    let hasStepped = false;
    for (const entity of await findDueEntities(db)) {
      if (signal.aborted) return false;
      try {
        hasStepped = (await step(entity)) || hasStepped;
      } catch (error) {
        // The other entities continue. If the whole database is unavailable, the next round fails with the job.
        log.warn({ err: error }, 'the tasks of an entity cannot be read; they continue later');
      }
    }
    return hasStepped;
  };
  const run = async (signal: AbortSignal) => {
    while (!signal.aborted && (await runRound(signal)));
  };
  return new Job({ name: 'tasks', log, workers, everyMs: EVERY_MS, firstAfterMs: 0, run });
}
