import { hostname } from 'node:os';
import { type App, createApp } from './api/app.ts';
import { RateLimits } from './api/auth/rate-limits.ts';
import { EventStreams } from './api/http/event-stream.ts';
import { Feeds } from './api/routes/endpoints/feeds.ts';
import { Listeners } from './api/routes/listen/listeners.ts';
import { WebhookListCache } from './api/routes/webhooks/list-cache.ts';
import { DRAIN_MS, type ListeningServer, listen } from './api/server.ts';
import type { Chain } from './chain/chain.ts';
import { type Config, delivers, exportsTelemetry, followsChains, operatorKeys, storageLimitBytes } from './config.ts';
import { ACTORS } from './contract/audit.ts';
import { type AttemptTools, createAttemptTools, headersFor } from './delivery/attempt.ts';
import { createDelivery, type Delivery } from './delivery/delivery.ts';
import { DeliveryMetrics } from './delivery/delivery-metrics.ts';
import { Heartbeat } from './delivery/jobs/heartbeat.ts';
import { Job } from './delivery/jobs/job.ts';
import { listenSessionsJob } from './delivery/jobs/listen-sessions.ts';
import { FleetShare, shareOfCap } from './delivery/queue/fleet-share.ts';
import { sendTestRequest } from './delivery/test-request.ts';
import { Workers } from './delivery/worker-health.ts';
import type { OperatorKey } from './domain/keys/operator-keys.ts';
import type { DestinationKey } from './domain/post-url.ts';
import type { Logger } from './log.ts';
import { Metrics } from './metrics/paybell-metrics.ts';
import { EventLoopLag, observeProcess } from './metrics/process-metrics.ts';
import { InstrumentedDatabase } from './store/database/admission.ts';
import { WorkNotifier } from './store/database/postgres/notify.ts';
import { observeQueue, QueueDepth } from './store/deliveries/counts/queue-depth.ts';
import { EntityUsage } from './store/deliveries/counts/usage.ts';
import { AcceptQueue } from './store/events/accept-queue.ts';
import { openStoreForServer, type Store } from './store/open-store.ts';
import { StatsRecorder } from './store/stats/recorder.ts';
import { KeyLookup } from './store/tenants/key-lookup.ts';
import { type Provisioned, provisionFirstEntity } from './store/tenants/provision.ts';
import type { Telemetry } from './telemetry/open-telemetry.ts';
import type { Tracer } from './telemetry/tracer.ts';
import { version } from './version.ts';

/** The settings on which the length of a stop depends. */
type StopSettings = Pick<Config, 'DELIVERY_TIMEOUT' | 'DATABASE_TIMEOUT'>;

/** Long enough for a load balancer to see /readyz fail, short enough for a person at a terminal. */
const READINESS_GRACE_MS = 250;
/** Beyond the deadline of a statement, which is what the last writes can wait for. */
const LAST_WORK_MARGIN_MS = 3_000;
const lastWorkMs = ({ DATABASE_TIMEOUT }: StopSettings) => DATABASE_TIMEOUT + LAST_WORK_MARGIN_MS;
/**
 * Spans and metrics that the collector has not taken by then are lost. They must not keep the service from stopping.
 */
const LAST_TELEMETRY_MS = 2_000;
/** Attempts in flight end with their timeout. Then their results are written, and claims are returned. */
const attemptsEndMs = (config: StopSettings) => config.DELIVERY_TIMEOUT + 2 * lastWorkMs(config);

/**
 * The longest that a stop can take: requests and attempts end side by side, then the background work, then the store. A
 * supervisor has to wait longer than this before it kills the process; the unit and the compose file do.
 */
export function longestStopMs(config: StopSettings): number {
  return Math.max(READINESS_GRACE_MS + DRAIN_MS, attemptsEndMs(config)) + 2 * lastWorkMs(config);
}

const STATS_INTERVAL_MS = 2_000;
const KEY_USAGE_INTERVAL_MS = 60_000;

export type Service = {
  readonly url: string;
  /** Created because the store was empty. Its key is shown nowhere else. */
  readonly firstEntity: Provisioned | null;
  /** The metrics of this process. */
  readonly metricsText: () => Promise<string>;
  readonly stop: () => Promise<void>;
};

export type ServiceOptions = {
  /** Instead of ADMIN_KEY and ADMIN_KEYS. */
  readonly operators?: readonly OperatorKey[];
  /** The metrics of all processes behind the port, if there are several. */
  readonly metricsText?: () => Promise<string>;
};

/** Background work next to requests and deliveries. */
type Background = Pick<Job, 'start'> & { readonly stop: () => Promise<void> | void };

/** Composition root: settings in, a running service out. */
export async function startService(config: Config, log: Logger, options: ServiceOptions = {}): Promise<Service> {
  const { lock, ...store } = await openStoreForServer(config);
  const metrics = new Metrics();
  const telemetry = exportsTelemetry(config) ? await loadTelemetry(config, log, metrics) : null;
  const core = createCore(config, log, store, metrics, telemetry?.tracer ?? null);
  const delivery = delivers(config) ? createDelivery(core) : null;
  const chain = config.CHAIN_RPC.length === 0 ? null : await loadChain(core);
  const api = createApi(core, delivery, chain, options);
  const heartbeat = createHeartbeat(core, delivery);
  const followers = chain !== null && followsChains(config) ? await followNetworks(core, chain, api) : [];
  const background: readonly Background[] = [
    ...followers,
    ...(delivery?.jobs ?? []),
    ...api.jobs,
    heartbeat,
    ...observe(core),
  ];
  const stop = async () => {
    // The engine claims nothing from here on. Events that the API still accepts wait in the database.
    const attempts = delivery === null ? null : endsWithin(attemptsEndMs(config), delivery.engine.stop());
    await Promise.all([api.stop(), attempts]);
    const rest = async () => {
      await delivery?.engine.claimsReturned();
      // Afterwards, because the last run of a job writes the results of the last requests and attempts.
      await Promise.all(background.map((job) => job.stop()));
    };
    const ended = endsWithin(lastWorkMs(config), rest());
    // All requests and attempts have ended, and the store can still be read for the last metrics.
    if (telemetry !== null) await endsWithin(LAST_TELEMETRY_MS, telemetry.stop());
    if (!(await ended)) log.warn('background work did not end in time and is cut off');
    await endsWithin(lastWorkMs(config), core.db.close());
    lock.release();
  };
  try {
    // Before the first claim, which is to know how many instances share the requests to a receiver.
    await heartbeat.join();
    await delivery?.engine.start();
    const url = await api.listen();
    // Only once the port is bound: the key is shown once, and a start that fails would lose it.
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    const firstEntity = await provisionFirstEntity(core.db, core.box, change);
    for (const job of background) job.start();
    return { url, firstEntity, metricsText: () => core.metrics.registry.text(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Lets a stop always end. Work that is cut off was not acknowledged, or becomes due again in the database. */
async function endsWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const deadline = Promise.withResolvers<boolean>();
  const timer = setTimeout(deadline.resolve, ms, false);
  try {
    return await Promise.race([work.then(() => true), deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Parts that the API and the delivery share. */
type Core = Omit<Store, 'db'> & {
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

/** Loaded only if the settings name a collector. */
async function loadTelemetry(config: Config, log: Logger, { registry }: Metrics): Promise<Telemetry> {
  const { startTelemetry } = await import('./telemetry/open-telemetry.ts');
  return startTelemetry(config, log, registry);
}

function createCore(
  config: Config,
  log: Logger,
  { db: store, box }: Store,
  metrics: Metrics,
  tracer: Tracer | null,
): Core {
  const db = new InstrumentedDatabase(store, metrics);
  db.writes.onChange = (problem) => {
    if (problem === null) log.info('the store accepts writes again');
    else log.error(problem, 'the store cannot be written');
  };
  const stats = new StatsRecorder(db, log, Date.now, metrics.statsDropped);
  const counts = new DeliveryMetrics(metrics, stats);
  const tools = createAttemptTools(config, db, box, tracer);
  return { config, log, db, box, metrics, stats, counts, tools, workers: new Workers(), tracer };
}

/** The HTTP app on an open store, for one operator. It does not listen, and nothing runs in the background. */
export function createLocalApp(config: Config, log: Logger, store: Store, operator: OperatorKey): App {
  return createApi(createCore(config, log, store, new Metrics(), null), null, null, { operators: [operator] }).app;
}

/** Registers the metrics that are read at a scrape. */
function observe({ config, log, db, metrics: { registry }, stats, workers }: Core): Background[] {
  const labels = [version, db.engine, config.ROLE];
  registry.readLabelled(
    'paybell_info',
    'Version, store and role of this instance.',
    ['version', 'store', 'role'],
    () => [[labels, 1]],
  );
  observeQueue(registry, new QueueDepth(db));
  observeProcess(registry);
  workers.observe(registry);
  return [
    new EventLoopLag(registry),
    new Job({ name: 'stats', log, everyMs: STATS_INTERVAL_MS, runAtStop: true, run: () => stats.flush() }),
  ];
}

function createHeartbeat(
  { config, log, db, metrics: { registry }, workers }: Core,
  delivery: Delivery | null,
): Heartbeat {
  const share = () => shareOfCap(config.DESTINATION_CONCURRENCY, heartbeat.delivering);
  const heartbeat = new Heartbeat({
    db,
    log,
    role: config.ROLE,
    host: `${hostname()} (process ${process.pid})`,
    workers,
    onInstances: (delivering, own) => {
      if (delivery === null) return;
      delivery.auditor.setInstances(delivering, own);
      delivery.engine.limitDestinations(new FleetShare(config.DESTINATION_CONCURRENCY, own, delivering));
      const cap = { instances: delivering.length, destinationConcurrency: share() };
      log.info(
        cap,
        'the instances that deliver have changed; each has its share of DESTINATION_CONCURRENCY and rate limits',
      );
    },
  });
  registry.read('paybell_instances', 'Instances that deliver, on this store.', () => heartbeat.delivering);
  if (delivery !== null) {
    registry.read(
      'paybell_destination_concurrency',
      'Requests that this instance may have in progress to one destination: its share of DESTINATION_CONCURRENCY.',
      share,
    );
  }
  return heartbeat;
}

/** Loaded only if the settings name networks, so that a start without them does not pay for it. */
async function loadChain({ config, db, metrics: { registry } }: Core): Promise<Chain> {
  const { createChain } = await import('./chain/chain.ts');
  return createChain(config, db, registry);
}

async function followNetworks({ config, log, db }: Core, chain: Chain, api: Api): Promise<Background[]> {
  const { createFollowers } = await import('./chain/chain.ts');
  const { acceptQueue, usage, onTask } = api;
  return createFollowers({ chain, config, log, db, acceptQueue, usage, onTask });
}

type Api = {
  readonly app: App;
  /** Returns the URL. */
  readonly listen: () => Promise<string>;
  readonly stop: () => Promise<void>;
  readonly jobs: readonly Job[];
  readonly acceptQueue: AcceptQueue;
  readonly usage: EntityUsage;
  readonly onTask: () => void;
};

function createApi(core: Core, delivery: Delivery | null, chain: Chain | null, options: ServiceOptions): Api {
  const { config, log, db, box, tools, metrics, counts, workers, tracer } = core;
  let isReady = true;
  let server: ListeningServer | null = null;
  const notifier = new WorkNotifier(db, log);
  const onWork = () => {
    delivery?.engine.wake();
    delivery?.tasks.wake();
    notifier.notify();
  };
  const onDue = (due: ReadonlySet<DestinationKey>, nowMs: number) => {
    delivery?.engine.wake(due);
    delivery?.clock.noteDatabaseTime(nowMs);
    notifier.notify();
  };
  const keys = new KeyLookup(db, Date.now);
  const streams = new EventStreams((keyHash) => keys.find(keyHash), log);
  metrics.registry.read('paybell_event_streams', 'Streams of server-sent events that are open.', () => streams.size);
  const feeds = new Feeds(db, log, config.FEED_LIMIT);
  const listeners = new Listeners();
  const onTask = () => delivery?.tasks.wake();
  const onAccepted = (entityId: string, destinations: readonly DestinationKey[]) => {
    counts.noteAccepted(entityId, destinations);
    if (!feeds.watch.isIdle) feeds.watch.wake(destinations);
    if (!listeners.isIdle) listeners.wake(entityId);
  };
  const directDispatch = delivery?.engine ?? null;
  const acceptQueue = new AcceptQueue(db, { onDue, onAccepted, onTask, directDispatch, tracer });
  const usage = new EntityUsage(db, config.ENTITY_BACKLOG_LIMIT, storageLimitBytes(config));
  const app = createApp({
    config,
    db,
    box,
    log,
    acceptQueue,
    usage,
    keys,
    operators: options.operators ?? operatorKeys(config),
    webhookLists: new WebhookListCache(db, metrics.listResponses),
    limits: new RateLimits(config, metrics),
    streams,
    feeds,
    listeners,
    metrics,
    metricsText: options.metricsText ?? (() => metrics.registry.text()),
    tracer,
    chain: chain?.tools ?? null,
    onWork,
    onTask,
    sendTest: (...request) => sendTestRequest(tools, ...request),
    headersFor,
    nowMs: Date.now,
    failingWorkers: () => workers.failing(),
    writeProblem: () => db.writes.problem,
    isReady: () => isReady,
  });
  return {
    ...{ app, acceptQueue, usage, onTask },
    listen: async () => {
      // Wakes feeds for deliveries that another instance has accepted and does not dispatch itself.
      await db.onWork(() => feeds.watch.wake());
      server = listen(app, config, log);
      return server.url;
    },
    stop: async () => {
      if (server === null) return;
      isReady = false;
      // At once, so that their clients connect to another instance; draining would wait for them to end.
      streams.close();
      feeds.watch.close();
      await Bun.sleep(READINESS_GRACE_MS);
      await server.stop();
    },
    jobs: [listenSessionsJob(db, log), keyUsageJob(keys, log)],
  };
}

function keyUsageJob(keys: KeyLookup, log: Logger): Job {
  const everyMs = KEY_USAGE_INTERVAL_MS;
  return new Job({ name: 'key usage', log, everyMs, runAtStop: true, run: () => keys.saveUses() });
}
