import type { Outcome } from '../domain/attempt.ts';
import { isSuccess } from '../domain/attempt.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import type { Registry } from '../metrics/registry.ts';
import type { AttemptRecord } from '../store/deliveries/record-attempts.ts';
import { NOTICE } from '../store/events/accept.ts';
import type { StatsRecorder } from '../store/stats/recorder.ts';

/** Counts what the attempts came to, once it is settled; in memory, so that no delivery waits for it. */
export class AttemptMetrics {
  constructor(
    private readonly metrics: Metrics,
    private readonly stats: StatsRecorder,
  ) {}

  note({ delivery, next, outcome, startedAtMs }: AttemptRecord): void {
    const { metrics, stats } = this;
    metrics.attempts.of(delivery.kind, resultOf(outcome)).inc();
    metrics.attemptSeconds.observe(outcome.durationMs / 1000);
    // A redelivery of what was delivered or given up already is no second end of it.
    if (next.status === delivery.status) return;
    // Notices are ours and not the entity's: they are no part of what it sees of its own.
    const isOwn = delivery.webhookId !== NOTICE;
    if (next.status === 'failed') {
      metrics.deliveries.of('failed').inc();
      if (isOwn) stats.failed(delivery.destination);
    }
    if (next.status !== 'delivered' || !isSuccess(outcome)) return;
    const timeToReceiptMs = Math.max(0, startedAtMs + outcome.durationMs - delivery.acceptedAtMs);
    metrics.deliveries.of('delivered').inc();
    metrics.receiptSeconds.observe(timeToReceiptMs / 1000);
    if (isOwn) stats.delivered(delivery.destination, timeToReceiptMs);
  }
}

/** What can be seen of the engine from outside at any moment. */
export type EngineView = { readonly inFlight: number; readonly breakersOpen: number };

export function observeEngine(registry: Registry, engine: EngineView): void {
  registry.read('paybell_attempts_in_flight', 'Posts under way.', () => engine.inFlight);
  registry.read(
    'paybell_breakers_open',
    'Destinations taken for unwell, with one post at a time until one succeeds.',
    () => engine.breakersOpen,
  );
}

function resultOf(outcome: Outcome): string {
  return outcome.kind === 'error' ? outcome.error : `${Math.floor(outcome.statusCode / 100)}xx`;
}
