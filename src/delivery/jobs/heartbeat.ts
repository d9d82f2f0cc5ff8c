import type { Config } from '../../config.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { removeInstance, renewInstance } from '../../store/instances.ts';
import { newId } from '../../store/new-id.ts';
import type { FailingWorker, Workers } from '../worker-health.ts';
import { Job } from './job.ts';

const EVERY_MS = 5_000;
const RETRY_AFTER_MS = 1_000;

/**
 * The share of DESTINATION_CONCURRENCY that each of several instances has, so that a receiver gets no more requests at a
 * time than with one. Each has at least one, or its deliveries would wait for the others.
 */
export function shareOfCap(cap: number, instances: number): number {
  return Math.max(1, Math.floor(cap / Math.max(1, instances)));
}

export type HeartbeatOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly role: Config['ROLE'];
  readonly host: string;
  readonly workers: Workers;
  /** So many instances deliver, this one included; told when the number changes. */
  readonly onInstances: (delivering: number) => void;
};

/** Tells the other instances that this one runs and which of its workers fail, and counts those that deliver. */
export class Heartbeat {
  readonly #instanceId = newId('ins');
  readonly #job: Job;
  #delivering: number;

  constructor(private readonly options: HeartbeatOptions) {
    const { log, role, workers } = options;
    this.#delivering = role === 'api' ? 0 : 1;
    const run = () => this.beat();
    this.#job = new Job({ name: 'heartbeat', log, workers, everyMs: EVERY_MS, retryAfterMs: RETRY_AFTER_MS, run });
  }

  /** How many instances deliver. */
  get delivering(): number {
    return this.#delivering;
  }

  start(): void {
    this.#job.start();
  }

  async beat(): Promise<void> {
    const { db, role, host, workers, onInstances } = this.options;
    const problem = problemOf(workers.failing());
    const delivering = await renewInstance(db, { instanceId: this.#instanceId, role, host, problem });
    if (delivering === this.#delivering) return;
    this.#delivering = delivering;
    onInstances(delivering);
  }

  /** To be called after the last attempt. Where the row cannot be removed, it stops counting after a while. */
  async stop(): Promise<void> {
    const { db, log } = this.options;
    await this.#job.stop();
    await removeInstance(db, this.#instanceId).catch((error: unknown) => {
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
