import type { Config } from '../../config.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { removeInstance, renewInstance } from '../../store/instances.ts';
import { newId } from '../../store/new-id.ts';
import type { FailingWorker, Workers } from '../worker-health.ts';
import { Job } from './job.ts';

const EVERY_MS = 5_000;
const RETRY_AFTER_MS = 1_000;

export type HeartbeatOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly role: Config['ROLE'];
  readonly host: string;
  readonly workers: Workers;
  /** Called with the ids of the delivering instances, and of this one, whenever they change. */
  readonly onInstances: (delivering: readonly string[], own: string) => void;
};

/** Tells the other instances that this one runs and which of its workers fail, and counts those that deliver. */
export class Heartbeat {
  readonly #instanceId = newId('ins');
  readonly #job: Job;
  #delivering: readonly string[];

  constructor(private readonly options: HeartbeatOptions) {
    const { log, role, workers } = options;
    this.#delivering = role === 'all' || role === 'delivery' ? [this.#instanceId] : [];
    const run = () => this.beat();
    this.#job = new Job({ name: 'heartbeat', log, workers, everyMs: EVERY_MS, retryAfterMs: RETRY_AFTER_MS, run });
  }

  /** How many instances deliver. */
  get delivering(): number {
    return this.#delivering.length;
  }

  start(): void {
    this.#job.start();
  }

  /** Call this before the first attempt. Running instances then give up a part of their limits for this instance. */
  async join(): Promise<void> {
    const { db } = this.options;
    await db.onWork((what) => {
      if (what === 'instances') this.#job.wake();
    });
    await this.beat();
    await db.announceWork('instances');
  }

  async beat(): Promise<void> {
    const { db, role, host, workers, onInstances } = this.options;
    const problem = problemOf(workers.failing());
    const delivering = await renewInstance(db, { instanceId: this.#instanceId, role, host, problem });
    if (delivering.join() === this.#delivering.join()) return;
    this.#delivering = delivering;
    onInstances(delivering, this.#instanceId);
  }

  /** Call this after the last attempt. If its row cannot be removed, the instance stops counting after a while. */
  async stop(): Promise<void> {
    const { db, log } = this.options;
    await this.#job.stop();
    const leave = async () => {
      await removeInstance(db, this.#instanceId);
      await db.announceWork('instances');
    };
    await leave().catch((error: unknown) => {
      log.warn({ err: error }, 'this instance could not be signed off; others count it for some more seconds');
    });
  }
}

function problemOf(failing: readonly FailingWorker[]): string | null {
  if (failing.length === 0) return null;
  return failing
    .map(({ worker, failuresInARow, lastError }) => `${worker} (${failuresInARow} failures): ${lastError}`)
    .join('; ');
}
