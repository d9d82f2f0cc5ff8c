import { createApp } from './api/app.ts';
import { KeyUsage } from './api/auth/key-usage.ts';
import { RateLimits } from './api/auth/rate-limits.ts';
import { SharedLookup } from './api/auth/shared-lookup.ts';
import { ResponseCache } from './api/http/response-cache.ts';
import { listen } from './api/server.ts';
import type { Config } from './config.ts';
import { ACTORS } from './contract/audit.ts';
import type { AttemptTools } from './delivery/attempt.ts';
import { AttemptMetrics, observeEngine } from './delivery/attempt-metrics.ts';
import { createAttemptTools } from './delivery/attempt-tools.ts';
import { Engine } from './delivery/engine.ts';
import { BulkRedeliveryJob } from './delivery/jobs/bulk-redelivery.ts';
import { ClockStepJob } from './delivery/jobs/clock-step.ts';
import { RetentionJob } from './delivery/jobs/retention.ts';
import { sendTestRequest } from './delivery/test-request.ts';
import type { DestinationKey } from './domain/destination.ts';
import type { Logger } from './log.ts';
import { Metrics } from './metrics/paybell-metrics.ts';
import { observeProcess } from './metrics/process-metrics.ts';
import { InstrumentedDatabase } from './store/database/admission.ts';
import type { Database } from './store/database/database.ts';
import { type Migration, migrate, pendingMigrations } from './store/database/migrate.ts';
import { openDatabase } from './store/database/open.ts';
import { WorkNotifier } from './store/database/postgres/notify.ts';
import { Backlog } from './store/deliveries/backlog.ts';
import { observeQueue, QueueDepth } from './store/deliveries/queue-depth.ts';
import { AcceptQueue } from './store/events/accept-queue.ts';
import { StatsRecorder } from './store/stats/recorder.ts';
import { findKeyHolders } from './store/tenants/api-keys.ts';
import { type Provisioned, provisionFirstEntity } from './store/tenants/provision.ts';
import type { SecretBox } from './store/tenants/secret-box.ts';
import { openSecretBox } from './store/tenants/secret-key.ts';
import { WebhookListCache } from './store/webhooks/list-cache.ts';
import { version } from './version.ts';

/** Long enough for a load balancer's next look at /readyz, short enough for a person at a terminal. */
const READINESS_GRACE_MS = 250;
const KEY_USAGE_INTERVAL_MS = 60_000;
const STATS_INTERVAL_MS = 2_000;

export type Service = {
  readonly url: string;
  /** Made because the store was empty; the key is nowhere else. */
  readonly firstEntity: Provisioned | null;
  readonly stop: () => Promise<void>;
};

export class PendingMigrationsError extends Error {
  override readonly name = 'PendingMigrationsError';

  constructor(pending: readonly Migration[]) {
    const names = pending.map(({ version, name }) => `${version} (${name})`).join(', ');
    super(`AUTO_MIGRATE is false and the store lacks migrations: ${names}`);
  }
}

/** Composition root: settings in, a running service out. */
export async function startService(config: Config, log: Logger): Promise<Service> {
  const metrics = new Metrics();
  const { db: store, box } = await openStore(config);
  const db = new InstrumentedDatabase(store, metrics);
  const stats = new StatsRecorder(db, log, Date.now, metrics.statsDropped);
  let engine: Engine | null = null;
  let running: Awaited<ReturnType<typeof startApi>> | null = null;
  try {
    const tools = createAttemptTools(config, db, box);
    const record = new AttemptMetrics(metrics, stats);
    engine = config.ROLE === 'api' ? null : new Engine({ db, config, log, tools, record });
    await engine?.start();
    const clockWatch = engine === null ? null : createClockWatch(config, db, log, engine);
    const api = startApi({ config, db, box, log, tools, engine, clockWatch, metrics, stats });
    running = api;
    // Only now that the port is ours: the key is shown once, and a start that fails would show it to nobody.
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    const firstEntity = await provisionFirstEntity(db, box, change);
    const housekeeping = engine === null ? null : new RetentionJob({ db, log, retentionMs: config.RETENTION });
    housekeeping?.start();
    clockWatch?.start();
    const stopObserving = observe(config, db, engine, metrics, stats);
    const stop = async () => {
      // At once, so that nothing more is claimed from the signal on: what is still accepted waits in the store.
      await Promise.all([api.stop(), housekeeping?.stop(), clockWatch?.stop(), engine?.stop()]);
      await stopObserving();
      await db.close();
    };
    return { url: api.url, firstEntity, stop };
  } catch (error) {
    // It runs already when the port turns out to be taken, and would hold the process.
    await Promise.all([running?.stop(), engine?.stop()]);
    await db.close();
    throw error;
  }
}

function createClockWatch(config: Config, db: Database, log: Logger, engine: Engine): ClockStepJob {
  const patience = { schedule: config.RETRY_SCHEDULE, leaseMs: engine.leaseMs };
  return new ClockStepJob({ db, log, patience, onWork: () => engine.wake() });
}

/** What is read when somebody scrapes, and what is written every few seconds. Answers how to stop. */
function observe(
  config: Config,
  db: Database,
  engine: Engine | null,
  { registry }: Metrics,
  stats: StatsRecorder,
): () => Promise<void> {
  const about = [version, db.engine, config.ROLE];
  registry.readLabelled('paybell_info', 'What runs here.', ['version', 'store', 'role'], () => [[about, 1]]);
  observeQueue(registry, new QueueDepth(db));
  if (engine !== null) observeEngine(registry, engine);
  const stopObservingProcess = observeProcess(registry);
  const statsTimer = setInterval(() => void stats.flush(), STATS_INTERVAL_MS);
  return async () => {
    stopObservingProcess();
    clearInterval(statsTimer);
    await stats.flush();
  };
}

type ApiParts = {
  config: Config;
  db: Database;
  box: SecretBox;
  log: Logger;
  tools: AttemptTools;
  engine: Engine | null;
  clockWatch: ClockStepJob | null;
  metrics: Metrics;
  stats: StatsRecorder;
};

function startApi({ config, db, box, log, tools, engine, clockWatch, metrics, stats }: ApiParts) {
  let ready = true;
  const keyUsage = new KeyUsage();
  const announce = new WorkNotifier(db, log);
  const onWork = () => {
    engine?.wake();
    announce.soon();
  };
  const countAccepted = (entityId: string, destinations: readonly DestinationKey[]) => {
    metrics.eventsAccepted.inc();
    stats.accepted(entityId, destinations);
  };
  const onDue = (due: ReadonlyMap<DestinationKey, number>) => {
    engine?.expect(due.keys());
    clockWatch?.saw(Math.max(...due.values()));
    announce.soon();
  };
  const acceptQueue = new AcceptQueue(db, onDue, countAccepted, engine);
  const backlog = new Backlog(db, config.ENTITY_BACKLOG_LIMIT);
  const redeliveries = new BulkRedeliveryJob(db, log, onWork);
  const app = createApp({
    config,
    db,
    box,
    log,
    acceptQueue,
    backlog,
    keyUsage,
    keyHolders: new SharedLookup((keyHashes) => findKeyHolders(db, keyHashes, Math.floor(Date.now() / 1000))),
    answers: new ResponseCache(metrics.listAnswers.of('kept')),
    views: new WebhookListCache(db, {
      fromView: metrics.listAnswers.of('view'),
      fromStore: metrics.listAnswers.of('store'),
    }),
    limits: new RateLimits(config, metrics),
    metrics,
    onWork,
    runRedeliveries: () => redeliveries.kick(),
    sendTest: (...post) => sendTestRequest(tools, ...post),
    nowMs: Date.now,
    isReady: () => ready,
  });
  const server = listen(app, config, log);
  // After the port is ours: where it is taken, a timer would hold the process.
  redeliveries.start();
  const saveKeyUsage = () =>
    keyUsage.flush(db).catch((error) => log.warn({ err: error }, 'could not note when keys were last used'));
  const keyUsageTimer = setInterval(saveKeyUsage, KEY_USAGE_INTERVAL_MS);
  const stop = async () => {
    ready = false;
    await Bun.sleep(READINESS_GRACE_MS);
    await server.stop();
    await redeliveries.stop();
    clearInterval(keyUsageTimer);
    await saveKeyUsage();
  };
  return { url: server.url, stop };
}

/** The store with its schema up to date and its secrets readable, or an error that says what to mend. */
export async function openStore(config: Config): Promise<{ db: Database; box: SecretBox }> {
  const db = await openDatabase(config.DATABASE_URL);
  try {
    if (config.AUTO_MIGRATE) await migrate(db);
    else {
      const pending = await pendingMigrations(db);
      if (pending.length > 0) throw new PendingMigrationsError(pending);
    }
    return { db, box: await openSecretBox(db, config) };
  } catch (error) {
    await db.close();
    throw error;
  }
}
