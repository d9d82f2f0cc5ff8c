import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import type { Database } from '../store/database/database.ts';
import type { Stepped } from '../store/tasks/run.ts';
import type { AttemptTools } from './attempt.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import { Engine } from './engine.ts';
import { Auditor, auditorJob } from './jobs/auditor.ts';
import { ClockStepDetector, clockStepJob } from './jobs/clock-step.ts';
import { endpointAlertsJob } from './jobs/endpoint-alerts.ts';
import type { Job } from './jobs/job.ts';
import { partitionsJob } from './jobs/partitions.ts';
import { retentionJob } from './jobs/retention.ts';
import { tasksJob } from './jobs/tasks.ts';
import { HealthRecorder, webhookHealthJob } from './jobs/webhook-health.ts';
import type { LocalResource } from './local-shortage.ts';
import { fileBudget } from './open-files.ts';
import type { Workers } from './worker-health.ts';

export type DeliveryOptions = {
  readonly config: Config;
  readonly db: Database;
  readonly log: Logger;
  readonly tools: AttemptTools;
  readonly metrics: Metrics;
  readonly counts: DeliveryMetrics;
  readonly workers: Workers;
};

/** The parts of an instance that delivers: the engine and its background jobs. */
export type Delivery = {
  readonly engine: Engine;
  readonly clock: ClockStepDetector;
  readonly auditor: Auditor;
  /** Runs the tasks of all entities; woken by every new task of this process. */
  readonly tasks: Job;
  readonly jobs: readonly Job[];
};

export function createDelivery({ config, db, log, tools, metrics, counts, workers }: DeliveryOptions): Delivery {
  const health = new HealthRecorder(db);
  const { limit, slots } = fileBudget(config);
  if (slots < config.DELIVERY_CONCURRENCY) {
    const message =
      'the limit of open files allows fewer requests at a time than DELIVERY_CONCURRENCY; raise LimitNOFILE (ulimit -n)';
    log.warn({ limit, slots, DELIVERY_CONCURRENCY: config.DELIVERY_CONCURRENCY }, message);
  }
  const onShortage = (resource: LocalResource) => metrics.localShortages.of(resource).inc();
  const engine = new Engine({ db, config, log, tools, slots, workers, onShortage, observers: [counts, health] });
  metrics.registry.read(
    'paybell_delivery_slots',
    'Requests to receivers that this instance may have in progress: DELIVERY_CONCURRENCY, or what the limit of open files allows.',
    () => slots,
  );
  metrics.registry.read('paybell_attempts_in_flight', 'Requests to receivers in progress.', () => engine.inFlight);
  metrics.registry.read(
    'paybell_breakers_open',
    'Unhealthy destinations, which get one request at a time until one succeeds.',
    () => engine.breakersOpen,
  );
  const clock = new ClockStepDetector({
    ...{ db, log, schedule: config.RETRY_SCHEDULE },
    onWork: () => engine.wake(),
  });
  const auditor = new Auditor({
    ...{ db, log, schedule: config.RETRY_SCHEDULE, audited: metrics.audited },
    onWork: () => engine.wake(),
  });
  const onStep = ({ made, due }: Stepped) => {
    counts.noteFannedOut(made);
    engine.wake(due === 'anywhere' ? undefined : [...made, ...due]);
  };
  const tasks = tasksJob(db, log, onStep, workers);
  return {
    engine,
    clock,
    auditor,
    tasks,
    jobs: [
      tasks,
      partitionsJob({ db, log, registry: metrics.registry }),
      retentionJob({ db, log, retentionMs: config.RETENTION, workers }),
      clockStepJob(clock, log, workers),
      auditorJob(auditor, log, workers),
      webhookHealthJob(health, log),
      endpointAlertsJob(db, log, () => engine.wake()),
    ],
  };
}
