import type { Config } from '../config.ts';
import type { NetworkNodes } from '../domain/chain/network-nodes.ts';
import { isMadeUp } from '../domain/chain/practice.ts';
import { DomainError } from '../domain/errors.ts';
import type { Logger } from '../log.ts';
import type { Registry } from '../metrics/registry.ts';
import { findEntries } from '../store/chain/addresses/books.ts';
import { acceptFactEvents, type FactEventOptions } from '../store/chain/fact-events.ts';
import type { FollowerStore, Lease, Step } from '../store/chain/network-store.ts';
import { NetworkStore, RENEW_MS } from '../store/chain/networks.ts';
import { FollowedSources } from '../store/chain/sources/followed.ts';
import { readTokens as readStoredTokens, saveTokens } from '../store/chain/tokens.ts';
import type { Database } from '../store/database/database.ts';
import type { EntityUsage } from '../store/deliveries/counts/usage.ts';
import type { AcceptQueue } from '../store/events/accept-queue.ts';
import { newId } from '../store/new-id.ts';
import { ChainMetrics } from './chain-metrics.ts';
import { contractCalls, type RpcCall } from './evm/decode/contract-calls.ts';
import { LogDecoder } from './evm/decode/decoder.ts';
import { SourceTools } from './evm/source-tools.ts';
import { FactEventPublisher } from './fact-event-publisher.ts';
import { loadFamilies } from './families.ts';
import type { Family } from './family.ts';
import { Follower } from './follow/follower.ts';
import type { FollowOptions } from './follow/poll.ts';
import type { PollResult } from './follow/poll-result.ts';
import type { ChainReader } from './follow/reader.ts';
import { leastDepthIn } from './least-depth.ts';
import { NetworkTools } from './network-tools.ts';
import { exchangeOf } from './rpc/exchange-of.ts';
import { Node } from './rpc/node.ts';
import { Nodes } from './rpc/nodes.ts';

type Families = ReadonlyMap<number, Family>;

type NetworkOptions = { readonly callsPerSecond: number; readonly metrics: ChainMetrics; readonly families: Families };

/** The networks that the settings name, with the nodes of each. */
class Networks {
  readonly #nodes: ReadonlyMap<number, Nodes>;

  constructor(
    private readonly networks: readonly NetworkNodes[],
    options: NetworkOptions,
  ) {
    this.#nodes = new Map(networks.map((network) => [network.networkId, nodesOf(network, options)]));
  }

  get ids(): number[] {
    return [...this.#nodes.keys()];
  }

  of(networkId: number): Nodes {
    const nodes = this.#nodes.get(networkId);
    if (nodes === undefined) throw new Error(`no nodes are named for network ${networkId}`);
    return nodes;
  }

  isMadeUp(networkId: number): boolean {
    return this.networks.some((network) => network.networkId === networkId && isMadeUp(network));
  }

  /** Sends any call to the first node of the network that takes it. */
  readonly call: RpcCall = (networkId, method, params) =>
    this.of(networkId).ask({ method, params, read: (result) => result });
}

function nodesOf({ networkId, urls }: NetworkNodes, { callsPerSecond, metrics, families }: NetworkOptions): Nodes {
  const family = familyIn(families, networkId);
  return new Nodes(
    urls.map(
      (url, index) =>
        new Node({
          name: `${networkId}#${index + 1}`,
          // Identifies a node by its URL, so that no node votes twice after the order in the setting changes.
          id: Bun.SHA256.hash(url, 'hex').slice(0, 8),
          identity: family.identity(networkId),
          dialect: family.dialect,
          exchange: exchangeOf(url, networkId, family),
          callsPerSecond,
          hasOthers: urls.length > 1,
          onCall: metrics.noteCall,
        }),
    ),
  );
}

function familyIn(families: Families, networkId: number): Family {
  const family = families.get(networkId);
  if (family === undefined) throw new Error(`the family of network ${networkId} is not loaded`);
  return family;
}

export type Chain = {
  readonly families: Families;
  readonly networks: Networks;
  readonly metrics: ChainMetrics;
  readonly tools: NetworkTools;
};

/** The parts that every instance with `CHAIN_RPC` needs, even if its role follows no network. */
export async function createChain(
  { CHAIN_RPC, CHAIN_RPC_RATE }: Config,
  db: Database,
  registry: Registry,
): Promise<Chain> {
  const families = await loadFamilies(CHAIN_RPC.map(({ networkId }) => networkId));
  const metrics = new ChainMetrics(registry);
  const networks = new Networks(CHAIN_RPC, { callsPerSecond: CHAIN_RPC_RATE, metrics, families });
  const tokens = { readTokens: readStoredTokens.bind(null, db), saveTokens: saveTokens.bind(null, db) };
  const read = { ...tokens, findEntries: findEntries.bind(null, db) };
  const dialectOf = (networkId: number) => familyIn(families, networkId).dialect;
  const logs = new SourceTools({ networkIds: networks.ids, call: networks.call, dialectOf, ...read });
  const others = [...families].flatMap(([id, { newTools }]) =>
    newTools === undefined ? [] : [[id, newTools({ call: networks.call, isPractice: networks.isMadeUp(id) })] as const],
  );
  const tools = new NetworkTools(logs, new Map(others), networks.ids);
  return { families, networks, metrics, tools };
}

export type FollowerOptions = {
  readonly chain: Chain;
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  readonly acceptQueue: AcceptQueue;
  readonly usage: EntityUsage;
  /** Called after a transaction has added tasks for the job. */
  readonly onTask: () => void;
};

/** Follows one network in the background. */
export type NetworkFollower = { readonly start: () => void; readonly stop: () => Promise<void> };

/** A follower for each network of the settings. Leases in the database decide which instance follows a network. */
export async function createFollowers(options: FollowerOptions): Promise<NetworkFollower[]> {
  const { chain, config, log, db, acceptQueue, usage, onTask } = options;
  const { networks, metrics } = chain;
  const sources = new FollowedSources();
  const store = new NetworkStore(db, newId('ins'), (queries, networkId) => sources.read(queries, networkId));
  // With a single process, any lease found at startup belongs to a dead process.
  if (db.engine === 'sqlite') await store.releaseAll();
  const tokens = { read: readStoredTokens.bind(null, db), save: saveTokens.bind(null, db) };
  const decoder = new LogDecoder({
    tokens,
    callContract: contractCalls(networks.call),
    findEntries: findEntries.bind(null, db),
    onSkipped: metrics.noteSkipped,
  });
  const acceptance: FactEventOptions = {
    acceptQueue,
    isFull: (entityId) => isFull(usage, entityId),
    firstDelayMs: config.RETRY_SCHEDULE[0] ?? 0,
    onTask,
  };
  for (const { networkId, urls } of config.CHAIN_RPC) {
    if (isMadeUp({ urls })) log.warn({ networkId }, 'practice mode: all payments are made up');
    else if (urls.length === 1)
      log.warn({ networkId }, 'with only one node, Paybell cannot notice wrong or missing payments');
  }
  return networks.ids.map((networkId) => {
    const family = familyIn(chain.families, networkId);
    return followNetwork({
      ...{ networkId, store, db, acceptance, log },
      reader: family.newReader({ decoder, isPractice: networks.isMadeUp(networkId) }),
      nodes: networks.of(networkId),
      finalityDepth: config.CHAIN_FINALITY.find((one) => one.networkId === networkId)?.depth ?? null,
      leastDepth: leastDepthIn(config, networkId),
      quorum: config.CHAIN_QUORUM.find((one) => one.networkId === networkId)?.nodes ?? null,
      graceBlocks: config.CHAIN_GRACE,
      pollMs: config.CHAIN_POLL.find((one) => one.networkId === networkId)?.pollMs ?? family.pollMs,
      onPoll: (result) => metrics.notePoll(networkId, result),
    });
  });
}

export type FollowedNetwork = FollowOptions & {
  readonly nodes: Nodes;
  readonly reader: ChainReader;
  readonly store: NetworkStore;
  readonly db: Database;
  readonly acceptance: FactEventOptions;
  readonly onPoll?: (result: PollResult) => void;
  readonly log: Logger;
};

/** Reads one network and accepts the events that its facts lead to, while this instance holds the lease of the network. */
export function followNetwork(options: FollowedNetwork): NetworkFollower {
  const { networkId, nodes, reader, store, db, acceptance, onPoll, log } = options;
  const { finalityDepth, graceBlocks, stepChanges, leastDepth, quorum, pollMs } = options;
  const publisher: FactEventPublisher = new FactEventPublisher(
    () => acceptFactEvents(db, networkId, { ...acceptance, onWaiting: () => publisher.wakeSoon() }),
    (error) => log.warn({ err: error, networkId }, 'Paybell could not accept events of a network, and tries again'),
  );
  const follower = new Follower({
    store: new WakingStore(store, publisher),
    ...{ nodes, reader, networkId, finalityDepth, graceBlocks, stepChanges, leastDepth, quorum, pollMs },
    onPoll: (result) => {
      onPoll?.(result);
      if (result.reorgDepth > 0) log.info({ networkId, depth: result.reorgDepth }, 'a reorg replaced blocks');
      if (result.paused > 0) log.warn({ networkId, sources: result.paused }, 'sources with too many logs were paused');
    },
    onError: (error) => log.warn({ err: error, networkId }, 'Paybell could not follow a network, and tries again'),
  });
  return leased({ follower, publisher, store, networkId, log });
}

type Leased = {
  readonly follower: NetworkFollower;
  readonly publisher: FactEventPublisher;
  readonly store: NetworkStore;
  readonly networkId: number;
  readonly log: Logger;
};

/** Keeps the lease of a network while its follower runs, and releases it at the end. */
function leased({ follower, publisher, store, networkId, log }: Leased): NetworkFollower {
  let timer: Timer | undefined;
  const renew = () => {
    store.renew(networkId).catch((error) => log.debug({ err: error, networkId }, 'a lease was not renewed'));
  };
  return {
    start: () => {
      follower.start();
      timer = setInterval(renew, RENEW_MS);
    },
    stop: async () => {
      await Promise.all([follower.stop(), publisher.stop()]);
      clearInterval(timer);
      await store.release(networkId);
    },
  };
}

async function isFull(usage: EntityUsage, entityId: string): Promise<boolean> {
  try {
    await usage.requireRoom(entityId);
    return false;
  } catch (error) {
    if (error instanceof DomainError) return true;
    throw error;
  }
}

/** Wakes the publisher after each stored step. It then also publishes events that another instance left behind. */
class WakingStore implements FollowerStore {
  constructor(
    private readonly store: NetworkStore,
    private readonly publisher: FactEventPublisher,
  ) {}

  lease(networkId: number): Promise<Lease | null> {
    return this.store.lease(networkId);
  }

  factsIn(...range: Parameters<FollowerStore['factsIn']>) {
    return this.store.factsIn(...range);
  }

  factsOf(...facts: Parameters<FollowerStore['factsOf']>) {
    return this.store.factsOf(...facts);
  }

  accounts(networkId: number) {
    return this.store.accounts(networkId);
  }

  async commit(lease: Lease, step: Step): Promise<boolean> {
    const isHolder = await this.store.commit(lease, step);
    if (isHolder) this.publisher.wake();
    return isHolder;
  }

  halt(...halted: Parameters<FollowerStore['halt']>) {
    return this.store.halt(...halted);
  }

  queueAlerts(lease: Lease) {
    return this.store.queueAlerts(lease);
  }

  dueBalances(networkId: number) {
    return this.store.dueBalances(networkId);
  }

  noteBalances(...noted: Parameters<FollowerStore['noteBalances']>) {
    return this.store.noteBalances(...noted);
  }

  pauseSources(...paused: Parameters<FollowerStore['pauseSources']>) {
    return this.store.pauseSources(...paused);
  }
}
