import type { Logger } from '../../log.ts';
import type { Counter, Family } from '../../metrics/registry.ts';
import type { Database } from '../../store/database/database.ts';
import { PAUSE, PacedBatches } from '../../store/database/paced-batches.ts';
import { bringTasksForward, type Schedule } from '../../store/deliveries/clock-step.ts';
import { type AuditCursor, auditPage, FIRST_ROW } from '../../store/deliveries/queue-audit.ts';
import type { Workers } from '../worker-health.ts';
import { Job } from './job.ts';

/**
 * The time from the start of one pass to the start of the next. A delivery must also be overdue for a minute, so a hint
 * delays it by at most 5 minutes.
 */
const PASS_EVERY_MS = 240_000;
/** How often an instance checks whether a pass is due and whether it is the one that audits. */
const CHECK_EVERY_MS = 5_000;

export type AuditorOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly schedule: Schedule;
  readonly audited: Family<Counter>;
  /** Called when deliveries have become due. */
  readonly onWork: () => void;
  readonly monotonicMs?: () => number;
};

/**
 * Reads the whole queue every few minutes and repairs deliveries that hints hide, or that wait because the clock was
 * set back. The first of the instances that deliver audits for all. If it dies, the next one starts a pass as soon as
 * the heartbeats show it as the first.
 */
export class Auditor {
  readonly #monotonicMs: () => number;
  #isFirst = true;
  #nextPassMs = 0;

  constructor(private readonly options: AuditorOptions) {
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    for (const found of ['hidden', 'parked', 'late']) options.audited.of(found);
  }

  /** The ids of the instances that deliver, in the same order at every instance, and the id of this one. */
  setInstances(delivering: readonly string[], own: string): void {
    this.#isFirst = delivering.length === 0 || delivering[0] === own;
  }

  /** Makes a pass if one is due here. Every page is followed by a pause of four times its duration. */
  async run(signal?: AbortSignal): Promise<void> {
    const startedAtMs = this.#monotonicMs();
    if (!this.#isFirst || startedAtMs < this.#nextPassMs) return;
    const { db, schedule } = this.options;
    await bringTasksForward(db, schedule, 'start');
    const batches = new PacedBatches(db.engine, PAUSE.background, signal);
    let after: AuditCursor | null = FIRST_ROW;
    while (after !== null && !batches.isStopped) {
      const from: AuditCursor = after;
      after = await batches.run(() => this.#auditPage(from));
    }
    this.#nextPassMs = startedAtMs + PASS_EVERY_MS;
  }

  async #auditPage(after: AuditCursor): Promise<AuditCursor | null> {
    const { db, log, schedule, audited, onWork } = this.options;
    const { hidden, parked, late, next } = await auditPage(db, schedule, after);
    if (hidden + parked + late === 0) return next;
    audited.of('hidden').inc(hidden);
    audited.of('parked').inc(parked);
    audited.of('late').inc(late);
    log.warn({ hidden, parked, late }, 'the auditor found deliveries that claims could not find, or found too late');
    onWork();
    return next;
  }
}

export function auditorJob(auditor: Auditor, log: Logger, workers?: Workers): Job {
  return new Job({ name: 'auditor', log, workers, everyMs: CHECK_EVERY_MS, run: (signal) => auditor.run(signal) });
}
