import type { CanonicalPayment } from '../../../demo/chain/ledger.ts';
import { resumeNetwork } from '../../../src/store/chain/networks.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import type { SqlInteger } from '../../../src/store/database/database.ts';
import type { ModelTransaction } from '../../../test/support/chain/model-chain.ts';
import { type Instance, Instances } from '../../../test/support/instances.ts';
import { Ledger } from '../../../test/support/ledger.ts';
import type { Client } from '../../../test/support/service.ts';
import { type Finding, type RunOptions, recoveryLimitMs } from '../../fault.ts';
import { registerCleanup, unregisterCleanup } from '../../harness/cleanup.ts';
import { databaseTimeout } from '../../harness/database-timeout.ts';
import { expireLeases } from '../../harness/leases.ts';
import { auditAtRest, countRows, withStore } from '../../harness/store-audit.ts';
import { randomUpTo } from '../../harness/testbed.ts';
import type { HttpNode } from './http-node.ts';
import { FaultyNetwork, FINALITY_BLOCKS } from './network.ts';
import { keyOf, Told } from './told.ts';

/** Two receivers, of which one waits for some confirmations. Both hear of what is final. */
const RECEIVERS = [
  { path: '/seen', finality: 'seen' },
  { path: '/confirmed', finality: 4 },
] as const;
const ALERTS = '/alerts';
const EVENTS = { processed: 'TransferProcessed', finalized: 'TransferFinalized' };

/** So many attempts that none fails for good. */
const SETTINGS = {
  RETRY_SCHEDULE: `0s${',1s'.repeat(49)}`,
  DELIVERY_TIMEOUT: '1s',
  DELIVERY_CONCURRENCY: '128',
  LOG_LEVEL: 'warn',
};
const FAILING_SHARE = 0.05;
const MOST_TRIES = 10;
const MOST_RESPONSE_MS = 15;
const POLL_MS = 50;
/** Nothing may come after everything has arrived. */
const QUIET_MS = 1_500;

const WAITING = `select (select count(*) from queue) + (select count(*) from tasks where event_no is not null)
  + (select count(*) from fact_events where event_no is null) as count`;

/** A store, processes that follow some networks on it, and receivers that are told of the payments. */
export class ChainSite implements AsyncDisposable {
  readonly ledger = new Ledger(() => this.#reply());
  readonly told = new Told(
    this.ledger.requests,
    RECEIVERS.map(({ path }) => path),
  );
  readonly violations: string[] = [];
  /** Payments that the trial itself looks after. */
  readonly setAside = new Set<string>();
  recoveredInMs = 0;
  readonly #nodes: ReadonlyMap<FaultyNetwork, readonly HttpNode[]>;

  private constructor(
    readonly options: RunOptions,
    readonly instances: Instances,
    readonly networks: readonly FaultyNetwork[],
  ) {
    // Two nodes each, so that one has a second opinion on the other.
    this.#nodes = new Map(networks.map((network) => [network, [network.openNode(), network.openNode()]]));
  }

  /** The first process creates the entity, its webhooks and its sources, and is ended. */
  static async open(
    options: RunOptions,
    { networkIds = [8453], settings = {} }: { networkIds?: number[]; settings?: Record<string, string> } = {},
  ): Promise<ChainSite> {
    const instances = await Instances.on(options.engine, { ...SETTINGS, ...databaseTimeout(options), ...settings });
    const site = new ChainSite(
      options,
      instances,
      networkIds.map((networkId) => new FaultyNetwork(networkId)),
    );
    registerCleanup(site);
    const { client } = await instances.start();
    await site.#register(client);
    await instances.killAll();
    const change = { actor: 'faults', nowS: Math.floor(Date.now() / 1000) };
    for (const { source, chain } of site.networks) {
      await withStore(site.url, (db) => createSource(db, instances.credentials.entityId, source, 100, change));
      // No fork reaches below the block from which on the source reads.
      chain.mineEmpty(FINALITY_BLOCKS);
    }
    return site;
  }

  get url(): string {
    return this.instances.databaseUrl;
  }

  async #register(client: Client): Promise<void> {
    const networkIds = this.networks.map(({ networkId }) => networkId);
    // Each may be repeated, and on a slow machine the store may not respond in time.
    const call = async (method: string, path: string, body: object, triesLeft = MOST_TRIES): Promise<void> => {
      const response = await client.request(method, path, JSON.stringify(body));
      if (response.status === 503 && triesLeft > 1) return call(method, path, body, triesLeft - 1);
      if (!response.ok) throw new Error(await response.text());
    };
    for (const { path, finality } of RECEIVERS) {
      const postUrl = this.ledger.url(path);
      const processed = { postUrl, networkIds, events: [EVENTS.processed], options: { finality } };
      await call('POST', '/webhooks/classic', processed);
      await call('POST', '/webhooks/classic', { postUrl, networkIds, events: [EVENTS.finalized] });
    }
    await call('PUT', '/webhooks/notice-url', { noticeUrl: this.ledger.url(ALERTS) });
  }

  async #reply(): Promise<Response> {
    await Bun.sleep(randomUpTo(MOST_RESPONSE_MS));
    return Math.random() < FAILING_SHARE ? new Response('try again', { status: 503 }) : new Response('ok');
  }

  get alerts(): string[] {
    const requests = this.ledger.requests.filter(({ path }) => path === ALERTS);
    return [...new Map(requests.map(({ deliveryId, body }) => [deliveryId, Buffer.from(body).toString()])).values()];
  }

  nodesOf(network: FaultyNetwork): readonly HttpNode[] {
    return this.#nodes.get(network) ?? [];
  }

  /** Starts a process that follows every network through the given nodes of it. */
  start(nodesOf = (network: FaultyNetwork) => this.nodesOf(network)): Promise<Instance> {
    const chainRpc = this.networks.map((network) => network.settingOf(nodesOf(network))).join(',');
    // The models call blocks final that are nearer to the head than those of the networks whose ids they have.
    const leastDepths = this.networks.map(({ networkId }) => `${networkId}=1`).join(',');
    return this.instances.start({ CHAIN_RPC: chainRpc, CHAIN_MIN_DEPTH: leastDepths });
  }

  /** On PostgreSQL, what a dead process held is free when its leases end. This ends them now. */
  async expireLeases(): Promise<void> {
    await expireLeases(this.url);
    if (!this.url.startsWith('sqlite:')) await this.write('update chains set lease_ms = 0');
  }

  async write(...statements: readonly string[]): Promise<void> {
    await withStore(this.url, (db) =>
      db.transaction(async (queries) => {
        for (const sql of statements) await queries.run(sql);
      }),
    );
  }

  async resume({ networkId }: FaultyNetwork, fromBlock: number): Promise<void> {
    if (!(await withStore(this.url, (db) => resumeNetwork(db, networkId, fromBlock))))
      this.violations.push('a halted network could not be resumed');
  }

  /** What the store says of a network; undefined before it was followed. */
  async stateOf({
    networkId,
  }: FaultyNetwork): Promise<{ token: number; isHalted: boolean; final: number } | undefined> {
    const row = await withStore(this.url, (db) =>
      db.get<{ token: SqlInteger; halted: SqlInteger; final: SqlInteger | null }>(
        `select token, case when halted_at_ms is null then 0 else 1 end as halted, final
         from chains where network_id = $1`,
        [networkId],
      ),
    );
    if (row === undefined) return undefined;
    return { token: Number(row.token), isHalted: Number(row.halted) === 1, final: Number(row.final ?? -1) };
  }

  set mood(mood: FaultyNetwork['mood']) {
    for (const network of this.networks) network.mood = mood;
  }

  /** How long it takes from the end of a fault until every receiver is told of a payment that was made then. */
  async probe(network: FaultyNetwork, faultEndedAtMs = performance.now()): Promise<ModelTransaction> {
    network.mood = 'calm';
    const payment = network.payment();
    network.chain.mine([payment]);
    const isHeard = () => {
      this.told.read();
      return this.told.hasHeard(network.networkId, payment.hash);
    };
    const elapsedMs = () => performance.now() - faultEndedAtMs;
    while (!isHeard() && elapsedMs() <= recoveryLimitMs(this.options)) await Bun.sleep(POLL_MS);
    this.recoveredInMs = Math.max(this.recoveredInMs, elapsedMs());
    if (!isHeard()) this.violations.push('the receivers were not told in time of a payment after the end of a fault');
    return payment;
  }

  canonical(): Map<string, CanonicalPayment> {
    return new Map(
      this.networks.flatMap((network) =>
        [...network.payments()].map(([hash, payment]) => [keyOf(network.networkId, hash), payment] as const),
      ),
    );
  }

  /** Blocks without payments, until the receivers were told of exactly what is in the chain; and then nothing more. */
  async settle(): Promise<void> {
    this.mood = 'calm';
    const canonical = this.canonical();
    const endsAtMs = performance.now() + recoveryLimitMs(this.options);
    const isSettled = async () =>
      this.#errors(canonical).length === 0 && (await withStore(this.url, (db) => countRows(db, WAITING))) === 0;
    while (!(await isSettled()) && performance.now() < endsAtMs) await Bun.sleep(4 * POLL_MS);
    if (!(await isSettled())) this.violations.push('what was to be told was not told in time');
    await Bun.sleep(QUIET_MS);
  }

  #errors(canonical: ReadonlyMap<string, CanonicalPayment>): string[] {
    return this.told.errors(canonical).filter((error) => !this.setAside.has(keyIn(error)));
  }

  /** Ends the service, and reads the result from what the receivers were told and from the store. */
  async finding(): Promise<Finding> {
    this.mood = 'still';
    await this.instances.killAll();
    const canonical = this.canonical();
    const errors = this.#errors(canonical);
    const wrong = new Set(errors.map(keyIn));
    const audit = await auditAtRest(this.url, true);
    return {
      acknowledged: canonical.size,
      delivered: [...canonical.keys()].filter((key) => !wrong.has(key)).length,
      duplicated: this.told.repeated,
      recoveredInMs: this.recoveredInMs,
      violations: [...new Set([...this.violations, ...summary(errors), ...audit])],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unregisterCleanup(this);
    await this.instances.stop();
    for (const network of this.networks) await network[Symbol.asyncDispose]();
    await this.ledger[Symbol.asyncDispose]();
  }
}

/** The key of the payment that a sentence is about. */
function keyIn(error: string): string {
  return /[0-9]+-0x[0-9a-f]{64}/.exec(error)?.[0] ?? '';
}

const SHOWN = 5;

function summary(errors: readonly string[]): string[] {
  if (errors.length === 0) return [];
  return [`${errors.length} payments were told wrongly, such as:`, ...errors.slice(0, SHOWN)];
}
