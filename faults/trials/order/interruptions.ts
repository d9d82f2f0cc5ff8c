import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import { changeEndpoint, findEndpoint, readWholeFeed, wrongNumbers } from '../../../test/support/endpoint-feed.ts';
import { type Instance, Instances } from '../../../test/support/instances.ts';
import { ENGINES } from '../../../test/support/stores.ts';
import type { Fault, Finding, RunOptions } from '../../fault.ts';
import { registerCleanup, unregisterCleanup } from '../../harness/cleanup.ts';
import { databaseTimeout } from '../../harness/database-timeout.ts';
import { expireLeases } from '../../harness/leases.ts';
import { auditAfterKill, auditAtRest } from '../../harness/store-audit.ts';
import { kill } from '../../harness/testbed.ts';
import { OrderedLoad, type Size } from './ordered-load.ts';
import { OrderedReceiver } from './ordered-receiver.ts';

/** One URL with seven webhooks and the ordering `agreement`: two instances on PostgreSQL, one on SQLite. */

const FULL: Size = { agreements: 1_000, eventsEach: 20 };
const SMALL: Size = { agreements: 40, eventsEach: 8 };
/** So many attempts that none fails for good. */
const SETTINGS = { RETRY_SCHEDULE: `0s${',1s'.repeat(49)}`, DELIVERY_TIMEOUT: '2s', LOG_LEVEL: 'warn' };
const STALLED_AFTER_MS = 60_000;
const POLL_MS = 50;

export const restartedWhileOrdering: Fault = {
  name: 'restart-ordered',
  what: 'SIGTERM and a new start while the events of 1,000 agreements are delivered in order, 15 % of the requests failing',
  engines: ENGINES,
  trials: { long: 5, short: 1 },
  run: (options) => throughInterruptions(options, async ({ served }) => void (await served.stop('SIGTERM'))),
};

export const killedWhileOrdering: Fault = {
  name: 'kill-ordered',
  what: 'SIGKILL while the events of 1,000 agreements are delivered in order, 15 % of the requests failing',
  engines: ENGINES,
  trials: { long: 10, short: 2 },
  run: (options) => throughInterruptions(options, kill),
};

type Interrupt = (instance: Instance) => Promise<void>;

/** Without `agreement`, the trial has to find requests out of order: a test holds it to that. */
export async function throughInterruptions(
  options: RunOptions,
  interrupt: Interrupt,
  ordering: 'agreement' | 'none' = 'agreement',
): Promise<Finding> {
  const common = { ...SETTINGS, ...databaseTimeout(options), ...(options.fast ? { DELIVERY_CONCURRENCY: '128' } : {}) };
  await using site = await OrderedSite.open(options, await Instances.on(options.engine, common), ordering);
  const size = options.fast ? SMALL : FULL;
  const load = new OrderedLoad(() => site.running.map(({ client }) => client), size);
  // Awaited below; a rejection before that is not unhandled.
  load.ended.catch(() => undefined);
  const events = size.agreements * size.eventsEach;
  for (let round = 1; round <= options.trials; round++) {
    await site.untilReceived(Math.floor((events * round) / (options.trials + 1)), load);
    options.progress(`interruption ${round} of ${options.trials}`);
    await site.interrupt(round % site.running.length, interrupt);
  }
  const interruptedAtMs = performance.now();
  options.progress('delivering the rest');
  await load.ended;
  await site.untilIdle();
  return await site.finding(load, performance.now() - interruptedAtMs);
}

class OrderedSite implements AsyncDisposable {
  readonly running: Instance[] = [];
  readonly #receiver = new OrderedReceiver();
  readonly #violations: string[] = [];
  #endpointId = '';

  private constructor(
    private readonly options: RunOptions,
    private readonly instances: Instances,
  ) {}

  static async open(options: RunOptions, instances: Instances, ordering: string): Promise<OrderedSite> {
    const site = new OrderedSite(options, instances);
    registerCleanup(site);
    const first = await instances.start();
    const url = site.#receiver.ledger.url();
    await first.client.register(url, [...EVENT_KINDS]);
    site.#endpointId = (await findEndpoint(first.client, url)).endpointId;
    await changeEndpoint(first.client, site.#endpointId, { ordering });
    site.running.push(first);
    if (options.engine === 'postgres') site.running.push(await instances.start());
    return site;
  }

  /** The load may have ended, and with superseded deliveries fewer requests arrive than events were sent. */
  async untilReceived(requests: number, load: OrderedLoad): Promise<void> {
    const { ledger } = this.#receiver;
    const isIdle = async () => {
      await load.ended;
      await this.untilIdle();
      return true;
    };
    const idle = isIdle();
    idle.catch(() => undefined);
    while (ledger.requests.length < requests) {
      if (await Promise.race([idle, Bun.sleep(POLL_MS).then(() => false)])) {
        this.#violations.push('everything was delivered before the last interruption, which therefore tested nothing');
        return;
      }
    }
  }

  /** On SQLite nothing runs until the new process listens. */
  async interrupt(which: number, interrupt: Interrupt): Promise<void> {
    const instance = this.running[which];
    if (instance === undefined) return;
    this.running.splice(which, 1);
    await interrupt(instance);
    if (this.options.engine === 'sqlite') this.#violations.push(...(await auditAfterKill(this.instances.databaseUrl)));
    if (this.options.fast) await expireLeases(this.instances.databaseUrl);
    this.running.splice(which, 0, await this.instances.start());
  }

  /** Until nothing waits; as long as requests arrive, it may take any time. */
  async untilIdle(): Promise<void> {
    const { ledger } = this.#receiver;
    let seen = ledger.requests.length;
    let seenAtMs = performance.now();
    while ((await this.#waiting()) !== 0) {
      if (ledger.requests.length > seen) [seen, seenAtMs] = [ledger.requests.length, performance.now()];
      if (performance.now() - seenAtMs > STALLED_AFTER_MS) {
        this.#violations.push('deliveries waited, and none was sent for a minute');
        return;
      }
      await Bun.sleep(POLL_MS * 4);
    }
  }

  /** Null while no instance answers. */
  async #waiting(): Promise<number | null> {
    const [instance] = this.running;
    if (instance === undefined) return null;
    const url = this.#receiver.ledger.url();
    return findEndpoint(instance.client, url).then(
      ({ waiting }) => waiting,
      () => null,
    );
  }

  async finding(load: OrderedLoad, recoveredInMs: number): Promise<Finding> {
    const [instance] = this.running;
    if (instance === undefined) throw new Error('no instance runs');
    const entries = await readWholeFeed(instance.client, this.#endpointId);
    await this.instances.killAll();
    const { ledger, answered } = this.#receiver;
    const isExplained = new Set(
      entries.flatMap(({ eventId, status }) => {
        const hasEnded = status === 'superseded' || (status === 'delivered' && answered.has(eventId ?? ''));
        return hasEnded && eventId !== null ? eventId : [];
      }),
    );
    const superseded = entries.filter(({ status }) => status === 'superseded').length;
    const requests = ledger.requests.length;
    this.options.progress(`${requests} requests, ${this.#receiver.failed} failed, ${superseded} superseded`);
    return {
      acknowledged: load.acknowledged.size,
      delivered: [...load.acknowledged].filter((eventId) => isExplained.has(eventId)).length,
      duplicated: this.#receiver.repeated,
      recoveredInMs,
      violations: [
        ...this.#violations,
        ...wrongNumbers(entries, load.acknowledged.size),
        ...this.#receiver.violations(entries),
        ...(await auditAtRest(this.instances.databaseUrl, true)),
      ],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unregisterCleanup(this);
    await this.instances.stop();
    await this.#receiver[Symbol.asyncDispose]();
  }
}
