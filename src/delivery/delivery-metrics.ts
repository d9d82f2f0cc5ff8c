import { isSuccess, type Outcome } from '../domain/attempt.ts';
import type { DestinationKey } from '../domain/post-url.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import type { StatsRecorder } from '../store/stats/recorder.ts';

/** Called with every attempt once it is recorded. */
export type AttemptObserver = { note(record: AttemptRecord): void };

/** Counts accepted events and recorded attempts, for operators in the metrics and for each entity in its stats. */
export class DeliveryMetrics implements AttemptObserver {
  constructor(
    private readonly metrics: Metrics,
    private readonly stats: StatsRecorder,
  ) {}

  /** `destinations` has one entry for each delivery of the event. */
  readonly noteAccepted = (entityId: string, destinations: readonly DestinationKey[]): void => {
    this.metrics.eventsAccepted.inc();
    this.stats.accepted(entityId, destinations);
  };

  /** Counts more deliveries of an event that was noted before. */
  noteFannedOut(destinations: readonly DestinationKey[]): void {
    this.stats.fannedOut(destinations);
  }

  note({ delivery, startedAtMs, outcome, next }: AttemptRecord): void {
    const { metrics, stats } = this;
    metrics.attempts.of(delivery.kind, resultOf(outcome)).inc();
    metrics.attemptSeconds.observe(outcome.durationMs / 1000);
    // Alerts are sent by Paybell itself and are not part of the entity's traffic.
    const isTraffic = delivery.webhookNo > 0;
    if (isTraffic && !isSuccess(outcome)) stats.failedAttempt(delivery.destination);
    // Redelivering a completed delivery does not complete it a second time.
    if (next.status === delivery.status) {
      if (isTraffic && isSuccess(outcome)) stats.deliveredAgain(delivery.destination);
      return;
    }
    if (next.status === 'failed') {
      metrics.deliveries.of('failed').inc();
      if (isTraffic) stats.failed(delivery.destination);
    }
    if (next.status !== 'delivered' || !isSuccess(outcome)) return;
    const latencyMs = Math.max(0, startedAtMs + outcome.durationMs - delivery.acceptedAtMs);
    metrics.deliveries.of('delivered').inc();
    metrics.latencySeconds.observe(latencyMs / 1000);
    if (isTraffic) stats.delivered(delivery.destination, latencyMs);
  }
}

function resultOf(outcome: Outcome): string {
  return outcome.kind === 'error' ? outcome.error : `${Math.floor(outcome.statusCode / 100)}xx`;
}
