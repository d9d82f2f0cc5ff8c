import { BoundedMap } from '../../bounded-map.ts';
import { ACTORS } from '../../contract/audit.ts';
import { isSuccess, SUSPEND_AFTER_MS, type SuspendReason } from '../../domain/attempt.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import type { AttemptRecord } from '../../store/deliveries/record-attempts.ts';
import { markFailing, suspendWebhook } from '../../store/deliveries/states.ts';

/** Forgetting one costs no more than a success that does not end its time of failures; the next one does. */
const MAX_FAILING_REMEMBERED = 10_000;

/**
 * Watches how each webhook fares and takes it out of service when nobody is there any more. After the settlement and
 * in transactions of its own: a crash in between only puts it off to the next attempt. Beside the engine's loop, since
 * holding a backlog of a million takes its time and is nobody else's concern.
 */
export class SuspensionJob {
  /** One attempt speaks for its webhook: one that suspends before any other, then a success, then the latest. */
  readonly #telling = new Map<string, AttemptRecord>();
  /** When each was marked here: an attempt that began before does not know. */
  readonly #failingSince = new BoundedMap<string, number>(MAX_FAILING_REMEMBERED);
  #working: Promise<void> | null = null;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  note(made: readonly AttemptRecord[]): void {
    for (const attempt of made) {
      const key = keyOf(attempt);
      const known = this.#telling.get(key);
      if (known === undefined || weightOf(attempt) >= weightOf(known)) this.#telling.set(key, attempt);
    }
    if (this.#telling.size > 0) this.#working ??= this.#work();
  }

  /** Resolves when all that was noted is done with. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    for (const [key, attempt] of this.#telling) {
      this.#telling.delete(key);
      try {
        await this.#noteOne(attempt);
      } catch (error) {
        const { entityId, webhookId } = attempt.delivery;
        this.log.warn({ err: error, entityId, webhookId }, 'could not note how the webhook fares');
      }
    }
    this.#working = null;
  }

  async #noteOne(attempt: AttemptRecord): Promise<void> {
    const { delivery, outcome, next, startedAtMs } = attempt;
    const { entityId, webhookId, failingSinceMs } = delivery;
    if (isSuccess(outcome)) {
      const marked = this.#failingSince.delete(keyOf(attempt));
      if (marked || failingSinceMs !== null) await markFailing(this.db, entityId, webhookId, false);
      return;
    }
    if (next.suspend !== null) await this.#suspend(entityId, webhookId, next.suspend);
    else if (failingSinceMs === null) await this.#markFailing(attempt);
    else if (startedAtMs - failingSinceMs >= SUSPEND_AFTER_MS) await this.#suspend(entityId, webhookId, 'failing');
  }

  async #markFailing(attempt: AttemptRecord): Promise<void> {
    const { entityId, webhookId } = attempt.delivery;
    // Written once, though many attempts had begun before it was.
    if (attempt.startedAtMs <= (this.#failingSince.get(keyOf(attempt)) ?? 0)) return;
    await markFailing(this.db, entityId, webhookId, true);
    this.#failingSince.set(keyOf(attempt), Date.now());
  }

  async #suspend(entityId: string, webhookId: string, reason: SuspendReason): Promise<void> {
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    if (await suspendWebhook(this.db, entityId, webhookId, reason, change)) {
      this.log.warn({ entityId, webhookId, reason }, 'webhook suspended');
    }
  }
}

function keyOf({ delivery }: AttemptRecord): string {
  return `${delivery.entityId} ${delivery.webhookId}`;
}

function weightOf({ next, outcome }: AttemptRecord): number {
  if (next.suspend !== null) return 2;
  return isSuccess(outcome) ? 1 : 0;
}
