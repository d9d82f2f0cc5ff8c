import { hostname } from 'node:os';
import type { App } from './api/app.ts';
import type { Chain } from './chain/chain.ts';
import { type Config, delivers, exportsTelemetry, followsChains } from './config.ts';
import { createDelivery, type Delivery } from './delivery/delivery.ts';
import { Heartbeat } from './delivery/jobs/heartbeat.ts';
import { Job } from './delivery/jobs/job.ts';
import { FleetShare, shareOfCap } from './delivery/queue/fleet-share.ts';
import { ACTORS } from './domain/keys/actors.ts';
import type { OperatorKey } from './domain/keys/operator-keys.ts';
import type { Logger } from './log.ts';
import { Metrics } from './metrics/paybell-metrics.ts';
import { EventLoopLag, observeProcess } from './metrics/process-metrics.ts';
import { type Api, createApi, type ServiceOptions } from './service/api.ts';
import { type Core, createCore } from './service/core.ts';
import { attemptsEndMs, endsWithin, LAST_TELEMETRY_MS, lastWorkMs } from './service/stop-times.ts';
import { observeQueue, QueueDepth } from './store/deliveries/counts/queue-depth.ts';
import { openStoreForServer, type Store } from './store/open-store.ts';
import { type Provisioned, provisionFirstEntity } from './store/tenants/provision.ts';
import type { Telemetry } from './telemetry/open-telemetry.ts';
import { version } from './version.ts';

const STATS_INTERVAL_MS = 2_000;

export type Service = {
  readonly url: string;
  /** Created because the store was empty. Its key is shown nowhere else. */
  readonly firstEntity: Provisioned | null;
  /** The metrics of this process. */
  readonly metricsText: () => Promise<string>;
  readonly stop: () => Promise<void>;
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

/** Loaded only if the settings name a collector. */
async function loadTelemetry(config: Config, log: Logger, { registry }: Metrics): Promise<Telemetry> {
  const { startTelemetry } = await import('./telemetry/open-telemetry.ts');
  return startTelemetry(config, log, registry);
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
