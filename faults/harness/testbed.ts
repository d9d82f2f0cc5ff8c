import { type Instance, Instances } from '../../test/support/instances.ts';
import { Ledger, type Reply } from '../../test/support/ledger.ts';
import type { Client } from '../../test/support/service.ts';
import { type Finding, type RunOptions, recoveryLimitMs } from '../fault.ts';
import { registerCleanup, unregisterCleanup } from './cleanup.ts';
import { databaseTimeout } from './database-timeout.ts';
import { expireLeases } from './leases.ts';
import { bodyOf, Load } from './load.ts';
import { auditAtRest, countRows, withStore } from './store-audit.ts';

/** Short, because a lease lasts 15 s longer than an attempt may take, and it has to expire within a trial. */
const DELIVERY_TIMEOUT = '1s';
/** The webhooks that receive every event: an event has a delivery for each of them or for none. */
const PATHS = ['/first', '/second', '/third'];
const POLL_MS = 20;
/** What is held waits for a resume; everything else in the queue has to be completed, or recorded as cancelled. */
const NOT_HELD = `select count(*) as count from queue q
  left join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no where coalesce(h.blocked, 0) <> 1`;
/** Events of which deliveries are still to be made. */
const FAN_OUTS = 'select count(*) as count from tasks where event_no is not null';

type LoadSize = { concurrency?: number; most?: number; pauseMs?: number };
type TestbedOptions = {
  settings?: Record<string, string>;
  reply?: Reply;
  /** How many destinations the webhooks are spread over. */
  destinations?: number;
};

/** A store, service processes on it, a receiver that records every request, and the events that were acknowledged. */
export class Testbed implements AsyncDisposable {
  readonly acknowledged = new Set<string>();
  readonly violations: string[] = [];
  /** Events that were sent without a response; a sender has to send them again. */
  readonly toResend: string[] = [];
  /** Deliveries with a response that was never recorded: the service has to send them a second time. */
  readonly mustBeRepeated = new Set<string>();
  /** The webhooks that have to receive every acknowledged event, by their path, and the paths at which it may arrive. */
  readonly receivers = new Map<string, readonly string[]>(PATHS.map((path) => [path, [path]]));
  /** Whether every row was written by the service, which counts it. */
  countsAreTrue = true;
  /** The ids of the webhooks by their path. */
  readonly webhookIds = new Map<string, string>();
  #recoveredInMs = 0;
  #loads = 0;
  /** The target of each request in the ledger, up to `#read`. */
  readonly #arrived = new Set<string>();
  #read = 0;

  private constructor(
    readonly options: RunOptions,
    readonly instances: Instances,
    readonly ledger: Ledger,
  ) {}

  static async open(
    options: RunOptions,
    { settings = {}, reply, destinations }: TestbedOptions = {},
  ): Promise<Testbed> {
    // With a low concurrency `serve` does not have to restart itself, which is most of its start time.
    const concurrency = options.fast ? { DELIVERY_CONCURRENCY: '128' } : {};
    const common = { DELIVERY_TIMEOUT, LOG_LEVEL: 'warn', ...concurrency, ...databaseTimeout(options) };
    const instances = await Instances.on(options.engine, { ...common, ...settings });
    const testbed = new Testbed(options, instances, new Ledger(reply, destinations));
    registerCleanup(testbed);
    return testbed;
  }

  get url(): string {
    return this.instances.databaseUrl;
  }

  /** Starts another process on the store. The first one registers the webhooks. */
  async start(settings: Record<string, string> = {}): Promise<Instance> {
    const instance = await this.instances.start(settings);
    await this.register(instance.client);
    return instance;
  }

  async register(client: Client): Promise<void> {
    if (this.webhookIds.size > 0) return;
    for (const [index, path] of PATHS.entries()) {
      this.webhookIds.set(path, await client.register(this.ledger.url(path, index)));
    }
  }

  /** Every event that is acknowledged has to be delivered. */
  load(clients: readonly Client[], options: LoadSize = {}): Load {
    const load = this.untrackedLoad(clients, options);
    void load.ended.then(() => this.trackAcknowledged(load));
    return load;
  }

  /** Only the events acknowledged before `trackAcknowledged` is called have to be delivered. */
  untrackedLoad(clients: readonly Client[], options: LoadSize = {}): Load {
    return new Load(clients, { prefix: `load-${++this.#loads}`, ...options });
  }

  trackAcknowledged({ acknowledged }: Load): void {
    for (const eventId of acknowledged) this.acknowledged.add(eventId);
  }

  /** On PostgreSQL the leases of a dead instance have to expire. In fast mode this makes them expire at once. */
  async expireLeases(): Promise<void> {
    if (this.options.fast) await this.expireLeasesNow();
  }

  async expireLeasesNow(): Promise<void> {
    await expireLeases(this.url);
  }

  hasAllArrived(): boolean {
    return this.#missing().length === 0;
  }

  /** Waits until every acknowledged event has arrived and no delivery is due. The time counts from the end of the fault. */
  async recover(faultEndedAtMs = performance.now()): Promise<void> {
    if (await this.arrive(new Set(), faultEndedAtMs)) await this.#untilIdle();
  }

  /** Waits until every acknowledged event has arrived, except at the targets that are excused for now. */
  async arrive(excused: ReadonlySet<string>, faultEndedAtMs = performance.now()): Promise<boolean> {
    const elapsedMs = () => performance.now() - faultEndedAtMs;
    const missing = () => this.#missing().filter((target) => !excused.has(target));
    while (missing().length > 0 && elapsedMs() <= recoveryLimitMs(this.options)) await Bun.sleep(POLL_MS);
    this.#recoveredInMs = Math.max(this.#recoveredInMs, elapsedMs());
    const left = missing();
    if (left.length > 0) this.violations.push(`${left.length} requests had not arrived in time, such as ${left[0]}`);
    return left.length === 0;
  }

  /** Until then the number of duplicates may still grow, since a claimed delivery may be sent again. */
  async #untilIdle(): Promise<void> {
    const endsAtMs = performance.now() + recoveryLimitMs(this.options);
    const due = () =>
      withStore(this.url, async (db) => (await countRows(db, NOT_HELD)) + (await countRows(db, FAN_OUTS)));
    let waiting = await due();
    while (waiting > 0 && performance.now() < endsAtMs) {
      await Bun.sleep(POLL_MS * 5);
      waiting = await due();
    }
    if (waiting > 0)
      this.violations.push(`${waiting} deliveries were not completed in time after the last event had arrived`);
  }

  /** As targets: the event id and the path under which its webhook is known. */
  #missing(): string[] {
    const { requests } = this.ledger;
    for (; this.#read < requests.length; this.#read++) {
      const { eventId = '', path = '' } = requests[this.#read] ?? {};
      this.#arrived.add(targetOf(eventId, path));
    }
    const missing: string[] = [];
    for (const eventId of this.acknowledged) {
      for (const [webhook, paths] of this.receivers) {
        if (!paths.some((path) => this.#arrived.has(targetOf(eventId, path)))) missing.push(targetOf(eventId, webhook));
      }
    }
    return missing;
  }

  /** Ends the service, and reads the result from the ledger and the store. */
  async finding(): Promise<Finding> {
    await this.instances.killAll();
    this.violations.push(...this.#wrongRequests(), ...(await auditAtRest(this.url, this.countsAreTrue)));
    const deliveries = new Set(this.ledger.requests.map(({ deliveryId }) => deliveryId));
    return {
      acknowledged: this.acknowledged.size,
      delivered: this.acknowledged.size - new Set(this.#missing().map((target) => target.split(' ')[0])).size,
      duplicated: this.ledger.requests.length - deliveries.size,
      recoveredInMs: this.#recoveredInMs,
      violations: [...new Set(this.violations)],
    };
  }

  /** Every request for an event and a webhook, repeated or not, has the same id and the bytes that were accepted. */
  #wrongRequests(): string[] {
    const wrong: string[] = [];
    const times = new Map<string, number>();
    for (const { deliveryId } of this.ledger.requests) times.set(deliveryId, (times.get(deliveryId) ?? 0) + 1);
    for (const id of this.mustBeRepeated) if ((times.get(id) ?? 0) < 2) wrong.push(`${id} was not sent again`);
    const idOf = new Map<string, string>();
    for (const { eventId, path, deliveryId, body } of this.ledger.requests) {
      const target = targetOf(eventId, path);
      const known = idOf.get(target);
      if (known !== undefined && known !== deliveryId) wrong.push(`${target} arrived under two ids`);
      idOf.set(target, deliveryId);
      if (Buffer.from(body).toString() !== bodyOf(eventId))
        wrong.push(`${target} arrived with other bytes than were accepted`);
    }
    return wrong;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unregisterCleanup(this);
    await this.instances.stop();
    await this.ledger[Symbol.asyncDispose]();
  }
}

/** One delivery, as the receiver sees it. */
export function targetOf(eventId: string, path: string): string {
  return `${eventId} ${path}`;
}

/** Kills the process with SIGKILL and waits for its end. */
export async function kill({ served }: Instance): Promise<void> {
  served.child.kill('SIGKILL');
  await served.child.exited;
}

/** A random integer from 1 to `most`. */
export function randomUpTo(most: number): number {
  return 1 + Math.floor(Math.random() * most);
}
