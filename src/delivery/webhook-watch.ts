import { ACTORS } from '../domain/audit.ts';
import { isSuccess, SUSPEND_AFTER_MS, type SuspendReason } from '../domain/deliveries.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import type { MadeAttempt } from '../store/delivery-settlements.ts';
import { markFailing, suspendWebhook } from '../store/delivery-states.ts';

/**
 * Watches how each webhook fares and takes it out of service when nobody is there any more. After the settlement and
 * in transactions of its own: a crash in between only puts it off to the next attempt.
 */
export class WebhookWatch {
  constructor(
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  async note(made: readonly MadeAttempt[]): Promise<void> {
    // One attempt of a batch speaks for its webhook: one that suspends before any other, then a success.
    const telling = new Map<string, MadeAttempt>();
    for (const attempt of made) {
      const key = `${attempt.claimed.entityId} ${attempt.claimed.webhookId}`;
      const known = telling.get(key);
      if (known === undefined || weightOf(attempt) >= weightOf(known)) telling.set(key, attempt);
    }
    for (const attempt of telling.values()) {
      try {
        await this.#noteOne(attempt);
      } catch (error) {
        const { entityId, webhookId } = attempt.claimed;
        this.log.warn({ err: error, entityId, webhookId }, 'could not note how the webhook fares');
      }
    }
  }

  async #noteOne({ claimed, outcome, settlement, startedAtMs }: MadeAttempt): Promise<void> {
    const { entityId, webhookId, failingSinceMs } = claimed;
    if (isSuccess(outcome)) {
      if (failingSinceMs !== null) await markFailing(this.db, entityId, webhookId, false);
      return;
    }
    if (settlement.suspend !== null) await this.#suspend(entityId, webhookId, settlement.suspend);
    else if (failingSinceMs === null) await markFailing(this.db, entityId, webhookId, true);
    else if (startedAtMs - failingSinceMs >= SUSPEND_AFTER_MS) await this.#suspend(entityId, webhookId, 'failing');
  }

  async #suspend(entityId: string, webhookId: string, reason: SuspendReason): Promise<void> {
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    if (await suspendWebhook(this.db, entityId, webhookId, reason, change)) {
      this.log.warn({ entityId, webhookId, reason }, 'webhook suspended');
    }
  }
}

function weightOf({ settlement, outcome }: MadeAttempt): number {
  if (settlement.suspend !== null) return 2;
  return isSuccess(outcome) ? 1 : 0;
}
