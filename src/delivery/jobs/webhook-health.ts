import { BoundedMap } from '../../bounded-map.ts';
import { isOwnFailure, isSuccess, SUSPEND_AFTER_MS, type SuspendReason } from '../../domain/attempt.ts';
import { ACTORS } from '../../domain/keys/actors.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { ROWS_PER_STATEMENT } from '../../store/database/sql.ts';
import type { Claimed } from '../../store/deliveries/claim/claimed.ts';
import { markHeads } from '../../store/deliveries/heads.ts';
import type { AttemptRecord } from '../../store/deliveries/record/attempt-log.ts';
import { RETRACTIONS_FROM } from '../../store/deliveries/retraction-heads.ts';
import { type HealthReport, recordHealth } from '../../store/webhooks/health.ts';
import { suspendWebhook } from '../../store/webhooks/suspension.ts';
import type { AttemptObserver } from '../delivery-metrics.ts';
import type { WorkerHealth } from '../worker-health.ts';
import { Job } from './job.ts';

const HEALTH_EVERY_MS = 2_000;

/** Collects the health of each webhook in memory and stores it every few seconds, so that no attempt waits for it. */
export class HealthRecorder implements AttemptObserver {
  #reports = new Map<string, HealthReport>();

  constructor(private readonly db: Database) {}

  note(record: AttemptRecord): void {
    const { delivery, outcome, startedAtMs } = record;
    if (delivery.webhookNo < 0 || isOwnFailure(outcome)) return;
    const key = webhookKey(record);
    const { entityId, webhookId } = delivery;
    const report: HealthReport = this.#reports.get(key) ?? {
      entityId,
      webhookId,
      failuresInARow: 0,
      lastSuccessMs: null,
      lastFailureMs: null,
    };
    this.#reports.set(key, report);
    const endedAtMs = startedAtMs + Math.round(outcome.durationMs);
    if (isSuccess(outcome)) {
      report.lastSuccessMs = endedAtMs;
      report.failuresInARow = 0;
    } else {
      report.lastFailureMs = endedAtMs;
      report.failuresInARow++;
    }
  }

  /**
   * Reports that cannot be stored are lost. They only inform people, and the next attempt brings the health up to date.
   */
  async flush(): Promise<void> {
    if (this.#reports.size === 0) return;
    const reports = [...this.#reports.values()];
    this.#reports = new Map();
    await recordHealth(this.db, reports);
  }
}

export function webhookHealthJob(recorder: HealthRecorder, log: Logger): Job {
  const run = () => recorder.flush();
  return new Job({ name: 'webhook health', log, everyMs: HEALTH_EVERY_MS, runAtStop: true, run });
}

/**
 * If this process forgets a webhook, one success may not end the webhook's failing period. The next success ends it.
 */
const MAX_FAILING_REMEMBERED = 10_000;

/**
 * Limit of one statement. Thousands of destinations may begin to fail at once, and their deliveries need the database
 * too.
 */
const MAX_WEBHOOKS_PER_TRANSACTION = ROWS_PER_STATEMENT;

/**
 * Marks webhooks as failing, and suspends webhooks that are gone or have failed for days. It runs after the attempts
 * are recorded, in its own transactions. A crash in between only delays the suspension until the next attempt. The
 * engine's loop does not wait for it.
 */
export class SuspensionMonitor {
  /** One record for each webhook: one that suspends it if there is any, else a success, else the latest. */
  readonly #pending = new Map<string, AttemptRecord>();
  /**
   * When this process marked each webhook as failing. An attempt that was claimed before that moment does not have the
   * mark.
   */
  readonly #failingSince = new BoundedMap<string, number>(MAX_FAILING_REMEMBERED);
  #working: Promise<void> | null = null;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly health: WorkerHealth,
  ) {}

  note(records: readonly AttemptRecord[]): void {
    for (const record of records) {
      if (record.delivery.webhookNo < 0 || isOwnFailure(record.outcome) || isOrdinaryRetraction(record)) continue;
      const key = webhookKey(record);
      const known = this.#pending.get(key);
      if (known === undefined || weightOf(record) >= weightOf(known)) this.#pending.set(key, record);
    }
    if (this.#pending.size > 0) this.#working ??= this.#work();
  }

  /** Resolves when everything noted so far is handled. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, MAX_WEBHOOKS_PER_TRANSACTION);
      for (const [key] of batch) this.#pending.delete(key);
      await this.#handle(batch.map(([, record]) => record));
    }
    this.#working = null;
  }

  /** If this fails, the next attempt repeats it. */
  async #handle(records: readonly AttemptRecord[]): Promise<void> {
    const marked = records.filter((record) => this.#changesMark(record));
    await this.#mark(marked).catch((error: unknown) => {
      this.health.noteFailure(error);
      this.log.warn({ err: error, webhooks: marked.length }, 'the health of webhooks could not be updated');
    });
    for (const record of records) {
      const { entityId, webhookId } = record.delivery;
      const reason = suspendReason(record);
      if (reason === null) continue;
      await this.#suspend(record.delivery, reason).catch((error: unknown) => {
        this.health.noteFailure(error);
        this.log.warn({ err: error, entityId, webhookId }, 'a webhook could not be suspended');
      });
    }
  }

  /** Whether the webhook begins or ceases to fail. */
  #changesMark(record: AttemptRecord): boolean {
    const { failingSinceMs } = record.delivery;
    const markedAtMs = this.#failingSince.get(webhookKey(record));
    if (isSuccess(record.outcome)) return markedAtMs !== undefined || failingSinceMs !== null;
    if (record.next.suspend !== null || failingSinceMs !== null) return false;
    // Marks the webhook only once, although many attempts may have started before the mark.
    return record.startedAtMs > (markedAtMs ?? 0);
  }

  async #mark(records: readonly AttemptRecord[]): Promise<void> {
    if (records.length === 0) return;
    await markHeads(
      this.db,
      records.map(({ delivery, outcome }) => ({
        entityId: delivery.entityId,
        webhookNo: delivery.webhookNo,
        endpointNo: delivery.endpointNo,
        isFailing: !isSuccess(outcome),
      })),
    );
    this.health.failuresInARow = 0;
    const nowMs = Date.now();
    for (const record of records) {
      if (isSuccess(record.outcome)) this.#failingSince.delete(webhookKey(record));
      else this.#failingSince.set(webhookKey(record), nowMs);
    }
  }

  async #suspend(attempt: Claimed, reason: SuspendReason): Promise<void> {
    const { entityId, webhookId } = attempt;
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    if (await suspendWebhook(this.db, entityId, webhookId, reason, change, attempt)) {
      this.log.warn({ entityId, webhookId, reason }, 'webhook suspended');
    }
    this.health.failuresInARow = 0;
  }
}

function webhookKey({ delivery }: AttemptRecord): string {
  return `${delivery.entityId} ${delivery.webhookId}`;
}

/**
 * Retractions are rare and have a separate head, so a success of the webhook's other deliveries does not reset its
 * failures. Two retractions that fail five days apart would suspend a webhook that works. Only a 410 counts, because it
 * is about the URL.
 */
function isOrdinaryRetraction({ delivery, next }: AttemptRecord): boolean {
  return delivery.webhookNo >= RETRACTIONS_FROM && next.suspend === null;
}

function suspendReason({ delivery, outcome, next, startedAtMs }: AttemptRecord): SuspendReason | null {
  if (isSuccess(outcome)) return null;
  if (next.suspend !== null) return next.suspend;
  const { failingSinceMs } = delivery;
  return failingSinceMs !== null && startedAtMs - failingSinceMs >= SUSPEND_AFTER_MS ? 'failing' : null;
}

function weightOf({ next, outcome }: AttemptRecord): number {
  if (next.suspend !== null) return 2;
  return isSuccess(outcome) ? 1 : 0;
}
