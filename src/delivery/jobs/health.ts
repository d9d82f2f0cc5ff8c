import { isSuccess } from '../../domain/attempt.ts';
import type { Database } from '../../store/database/database.ts';
import type { AttemptRecord } from '../../store/deliveries/record-attempts.ts';
import { type HealthReport, recordHealth } from '../../store/webhooks/health.ts';

/** How each webhook fares, gathered in memory and written now and then: no settlement pays for it. */
export class HealthRecorder {
  #reports = new Map<string, HealthReport>();

  constructor(private readonly db: Database) {}

  note({ delivery, outcome, startedAtMs }: AttemptRecord): void {
    const { entityId, webhookId } = delivery;
    const report = this.#reportOn(entityId, webhookId);
    const endedAtMs = startedAtMs + Math.round(outcome.durationMs);
    if (isSuccess(outcome)) {
      report.lastSuccessMs = endedAtMs;
      report.failuresInARow = 0;
    } else {
      report.lastFailureMs = endedAtMs;
      report.failuresInARow++;
    }
  }

  /** What could not be written is lost: it is a view for people, and the next attempt brings it up to date. */
  async flush(): Promise<void> {
    if (this.#reports.size === 0) return;
    const reports = [...this.#reports.values()];
    this.#reports = new Map();
    await recordHealth(this.db, reports);
  }

  #reportOn(entityId: string, webhookId: string): HealthReport {
    const key = `${entityId} ${webhookId}`;
    const known = this.#reports.get(key);
    if (known !== undefined) return known;
    const report = { entityId, webhookId, failuresInARow: 0, lastSuccessMs: null, lastFailureMs: null };
    this.#reports.set(key, report);
    return report;
  }
}
