import { followNetwork } from '../../../src/chain/chain.ts';
import type { AttemptTools } from '../../../src/delivery/attempt.ts';
import { createDelivery } from '../../../src/delivery/delivery.ts';
import { DeliveryMetrics } from '../../../src/delivery/delivery-metrics.ts';
import { Heartbeat } from '../../../src/delivery/jobs/heartbeat.ts';
import { FleetShare } from '../../../src/delivery/queue/fleet-share.ts';
import { SigningKeyCache } from '../../../src/delivery/signing-key-cache.ts';
import { Workers } from '../../../src/delivery/worker-health.ts';
import { EventNumbers } from '../../../src/domain/ids.ts';
import type { DestinationKey } from '../../../src/domain/post-url.ts';
import { Metrics } from '../../../src/metrics/paybell-metrics.ts';
import type { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { WorkNotifier } from '../../../src/store/database/postgres/notify.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { StatsRecorder } from '../../../src/store/stats/recorder.ts';
import type { Owner } from '../world/owners.ts';
import { world } from '../world/world.ts';
import type { Network } from './network.ts';
import type { Receivers } from './receivers.ts';
import { box, config, log, STEP_CHANGES } from './settings.ts';

export type InstanceOptions = {
  readonly owner: Owner;
  readonly db: Database;
  readonly receivers: Receivers;
  readonly networkStore: NetworkStore;
  readonly network: Network;
};

/** What requests to an instance reach. */
export type Instance = {
  readonly owner: Owner;
  readonly db: Database;
  readonly acceptQueue: AcceptQueue;
  /** Deliveries may be due, as after a resume. */
  readonly onWork: () => void;
  readonly onTask: () => void;
};

function attemptTools(db: Database, receivers: Receivers): AttemptTools {
  return {
    sender: { send: (request) => receivers.send(request) },
    keys: new SigningKeyCache(db, box, config.SIGN_ASYMMETRIC, config.BODY_SIGNATURE_KEY),
    schedule: config.RETRY_SCHEDULE,
    bodySignatureHeader: undefined,
    nowMs: Date.now,
    random: Math.random,
  };
}

/**
 * Wires one instance as `service.ts` does, without its HTTP server. Throws if the database fails meanwhile, as the program
 * would end.
 */
export async function startInstance({
  owner,
  db,
  receivers,
  networkStore,
  network,
}: InstanceOptions): Promise<Instance> {
  const metrics = new Metrics();
  const counts = new DeliveryMetrics(metrics, new StatsRecorder(db, log, Date.now, metrics.statsDropped));
  const workers = new Workers();
  const tools = attemptTools(db, receivers);
  const delivery = createDelivery({ config, db, log, tools, metrics, counts, workers });
  const { engine, clock, tasks } = delivery;
  const notifier = new WorkNotifier(db, log);
  const onWork = () => {
    engine.wake();
    tasks.wake();
    notifier.notify();
  };
  const onDue = (due: ReadonlySet<DestinationKey>, nowMs: number) => {
    engine.wake(due);
    clock.noteDatabaseTime(nowMs);
    notifier.notify();
  };
  const numbers = new EventNumbers((bytes) => world.random.fill(bytes));
  const onTask = () => tasks.wake();
  const acceptQueue = new AcceptQueue(db, { onDue, onTask, directDispatch: engine, numbers });
  const heartbeat = new Heartbeat({
    ...{ db, log, workers, role: config.ROLE, host: owner.name },
    onInstances: (delivering, own) => {
      delivery.auditor.setInstances(delivering, own);
      engine.limitDestinations(new FleetShare(config.DESTINATION_CONCURRENCY, own, delivering));
    },
  });
  const follower = followNetwork({
    ...{ networkId: network.networkId, nodes: network.nodesFor(), reader: network.readerFor(db), store: networkStore },
    ...{ db, log, pollMs: network.pollMs },
    acceptance: { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask },
    ...{ finalityDepth: null, graceBlocks: config.CHAIN_GRACE, stepChanges: STEP_CHANGES },
    ...{ leastDepth: 1, quorum: null },
  });
  if (db.engine === 'sqlite') await networkStore.releaseAll();
  await heartbeat.join();
  await engine.start();
  for (const job of [follower, ...delivery.jobs, heartbeat]) job.start();
  return { owner, db, acceptQueue, onWork, onTask };
}
