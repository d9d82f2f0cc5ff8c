import type { Config } from '../config.ts';
import { type AttemptTools, createAttemptTools } from '../delivery/attempt.ts';
import { DeliveryMetrics } from '../delivery/delivery-metrics.ts';
import { Workers } from '../delivery/worker-health.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics/paybell-metrics.ts';
import { InstrumentedDatabase } from '../store/database/admission.ts';
import type { Store } from '../store/open-store.ts';
import { StatsRecorder } from '../store/stats/recorder.ts';
import type { Tracer } from '../telemetry/tracer.ts';

/** Parts that the API and the delivery share. */
export type Core = Omit<Store, 'db'> & {
  readonly db: InstrumentedDatabase;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly stats: StatsRecorder;
  readonly counts: DeliveryMetrics;
  readonly tools: AttemptTools;
  readonly workers: Workers;
  /** Null if OpenTelemetry is off. */
  readonly tracer: Tracer | null;
};

export function createCore(
  config: Config,
  log: Logger,
  { db: store, box }: Store,
  metrics: Metrics,
  tracer: Tracer | null,
): Core {
  const db = new InstrumentedDatabase(store, metrics);
  db.writes.onChange = (problem) => {
    if (problem === null) log.info('the database accepts writes again');
    else log.error(problem, 'the database accepts no writes');
  };
  db.dialect.onWorker((worker, isSilent) => {
    if (isSilent) log.error({ worker }, 'a worker of Citus does not respond: its entities get 503 until it does');
    else log.info({ worker }, 'the worker of Citus responds again');
  });
  const stats = new StatsRecorder(db, log, Date.now, metrics.statsDropped);
  const counts = new DeliveryMetrics(metrics, stats);
  const tools = createAttemptTools(config, db, box, tracer);
  return { config, log, db, box, metrics, stats, counts, tools, workers: new Workers(), tracer };
}
