import { type App, createApp } from '../api/app.ts';
import { RateLimits } from '../api/auth/rate-limits.ts';
import { EventStreams } from '../api/http/event-stream.ts';
import { Feeds } from '../api/routes/endpoints/feeds.ts';
import { Listeners } from '../api/routes/listen/listeners.ts';
import { WebhookListCache } from '../api/routes/webhooks/list-cache.ts';
import { type ListeningServer, listen } from '../api/server.ts';
import type { Chain } from '../chain/chain.ts';
import { operatorKeys, storageLimitBytes } from '../config.ts';
import { headersFor } from '../delivery/attempt.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { Job } from '../delivery/jobs/job.ts';
import { listenSessionsJob } from '../delivery/jobs/listen-sessions.ts';
import { sendTestRequest } from '../delivery/test-request.ts';
import type { OperatorKey } from '../domain/keys/operator-keys.ts';
import type { DestinationKey } from '../domain/post-url.ts';
import type { Logger } from '../log.ts';
import { WorkNotifier } from '../store/database/postgres/notify.ts';
import { EntityUsage } from '../store/deliveries/counts/usage.ts';
import { AcceptQueue } from '../store/events/accept-queue.ts';
import { KeyLookup } from '../store/tenants/key-lookup.ts';
import type { Core } from './core.ts';
import { READINESS_GRACE_MS } from './stop-times.ts';

const KEY_USAGE_INTERVAL_MS = 60_000;

/** The time after a start. A request that comes earlier loads the operations that it needs. */
const LOAD_OPERATIONS_AFTER_MS = 1_000;

export type ServiceOptions = {
  /** Used instead of ADMIN_KEY and ADMIN_KEYS. */
  readonly operators?: readonly OperatorKey[];
  /** The metrics of all processes behind the port, if there are several. */
  readonly metricsText?: () => Promise<string>;
};

export type Api = {
  readonly app: App;
  /** Returns the URL. */
  readonly listen: () => Promise<string>;
  readonly stop: () => Promise<void>;
  readonly jobs: readonly Job[];
  readonly acceptQueue: AcceptQueue;
  readonly usage: EntityUsage;
  readonly onTask: () => void;
};

export function createApi(core: Core, delivery: Delivery | null, chain: Chain | null, options: ServiceOptions): Api {
  const { config, log, db, box, tools, metrics, counts, workers, tracer } = core;
  let isReady = true;
  let server: ListeningServer | null = null;
  let loading: Timer | undefined;
  const { onWork, onDue, onTask } = wakersOf(delivery, new WorkNotifier(db, log));
  const keys = new KeyLookup(db, Date.now);
  const streams = new EventStreams((keyHash) => keys.find(keyHash), log);
  metrics.registry.read('paybell_event_streams', 'Streams of server-sent events that are open.', () => streams.size);
  const feeds = new Feeds(db, log, config.FEED_LIMIT);
  const listeners = new Listeners();
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
      loading = setTimeout(() => void loadOperations(app, log), LOAD_OPERATIONS_AFTER_MS);
      return server.url;
    },
    stop: async () => {
      if (server === null) return;
      isReady = false;
      clearTimeout(loading);
      // Ends streams at once, so that their clients connect to another instance. Draining would wait for their end.
      streams.close();
      feeds.watch.close();
      await Bun.sleep(READINESS_GRACE_MS);
      await server.stop();
    },
    jobs: [listenSessionsJob(db, log), keyUsageJob(keys, log)],
  };
}

/**
 * Loads all operations, so that later requests wait for no module, and an update of the files cannot mix two versions.
 */
async function loadOperations(app: App, log: Logger): Promise<void> {
  try {
    await app.loadOperations();
  } catch (error) {
    log.error({ err: error }, 'some operations of the API cannot be loaded; a request to them tries again');
  }
}

function keyUsageJob(keys: KeyLookup, log: Logger): Job {
  const everyMs = KEY_USAGE_INTERVAL_MS;
  return new Job({ name: 'key usage', log, everyMs, runAtStop: true, run: () => keys.saveUses() });
}

/** Wakes the delivery of this process and, for work that other instances can do, these instances. */
function wakersOf(delivery: Delivery | null, notifier: WorkNotifier) {
  const onTask = () => delivery?.tasks.wake();
  const onWork = () => {
    delivery?.engine.wake();
    onTask();
    notifier.notify();
  };
  const onDue = (due: ReadonlySet<DestinationKey>, nowMs: number) => {
    delivery?.engine.wake(due);
    delivery?.clock.noteDatabaseTime(nowMs);
    notifier.notify();
  };
  return { onTask, onWork, onDue };
}
