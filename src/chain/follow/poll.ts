import type { FactChange, FoundFact, StoredFact } from '../../domain/chain/facts.ts';
import type { FollowedSource, FollowerStore, Lease, NetworkState, Step } from '../../store/chain/network-store.ts';
import type { Nodes } from '../rpc/nodes.ts';
import type { Clock } from '../rpc/rate-limit.ts';
import { keyOf } from './compare.ts';
import type { Memory } from './memory.ts';
import { troubleOf } from './witnesses/trouble.ts';
import type { Witnesses } from './witnesses/witnesses.ts';

export type FollowOptions = {
  readonly networkId: number;
  /** `CHAIN_FINALITY`: how many blocks below the head are final on a network that has no such tag; null for none. */
  readonly finalityDepth: number | null;
  /** `CHAIN_GRACE`: the number of blocks in which a lost fact may come back before Paybell retracts it. */
  readonly graceBlocks: number;
  /** `CHAIN_MIN_DEPTH`: the least distance of a final block from the head of the node that calls it final. */
  readonly leastDepth: number;
  /** `CHAIN_QUORUM`: how many nodes must agree; null for more than half of those that are present. */
  readonly quorum: number | null;
  /** `CHAIN_POLL`, or the default of the family: the least time from one poll to the next; null or absent for none. */
  readonly pollMs?: number | null | undefined;
  /** Limit on the changes of facts in one transaction. The simulator of the tests sets a smaller one. */
  readonly stepChanges?: number | undefined;
};

export type Follow = {
  readonly store: FollowerStore;
  readonly nodes: Nodes;
  readonly options: FollowOptions;
  readonly memory: Memory;
  readonly witnesses: Witnesses;
  readonly clock: Clock;
};

export type ChangeCounts = Record<FactChange['change'], number>;

export function noChanges(): ChangeCounts {
  return { seen: 0, moved: 0, lost: 0, retracted: 0, again: 0, judged: 0 };
}

/** Thrown if another instance has taken the network. Nothing was written, and this poll is over. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('Another instance follows this network now');
  }
}

/** Thrown if most nodes have another block at finality. The network is halted, and this poll is over. */
export class NetworkHalted extends Error {
  override readonly name = 'NetworkHalted';

  constructor() {
    super('The network is halted');
  }
}

const FACTS_A_READ = 1_000;

/** One poll of a network: the lease, the current state, and the counts of the changes. */
export class Poll<Shared extends Follow = Follow> {
  state: NetworkState;
  sources: readonly FollowedSource[];
  readonly changes: ChangeCounts = noChanges();
  /** The facts that this poll has found in a block, by their keys. The lease may still have them as lost. */
  readonly placed = new Set<string>();
  omissions = 0;
  reorgDepth = 0;
  /** How often two nodes had different blocks at the height that was about to become final. */
  disagreements = 0;
  paused = 0;
  /** Whether the leader has shown in this poll that it has the tip, or which anchors it has replaced. */
  isTipShared = false;
  lagBlocks: number;

  constructor(
    readonly follow: Shared,
    readonly lease: Lease,
  ) {
    this.state = lease.state;
    this.sources = lease.sources;
    this.lagBlocks = Math.max(0, (lease.state.head ?? 0) - (lease.state.tip?.number ?? 0));
  }

  /** Stores a step. Parts that are not given stay as they are. `safe` and `final` only rise. */
  async commit(part: Partial<Step>): Promise<void> {
    const { store, witnesses, memory, clock } = this.follow;
    const { tip, anchors, head, safe, final, blockTimeMs, headS, finalLagMs, learnedDepth } = this.state;
    const isNewHead = (part.head ?? head) !== head || (part.headS ?? headS) !== headS;
    const step: Step = {
      tip,
      anchors,
      head: head ?? 0,
      rangeBlocks: memory.rangeBlocks,
      blockTimeMs,
      changes: [],
      backfilled: [],
      asked: [],
      costs: memory.meter.due(clock.nowMs()),
      nodes: witnesses.health(blockTimeMs),
      ...{ headS, finalLagMs, learnedDepth },
      trouble: troubleOf(this, isNewHead),
      witnessesNeeded: witnesses.quorum,
      ...part,
      safe: higher(safe, part.safe),
      final: higher(final, part.final),
    };
    const lease = { ...this.lease, state: this.state, sources: this.sources };
    if (!(await store.commit(lease, step))) throw new LeaseLost();
    memory.committedAtMs = clock.nowMs();
    memory.meter.noteWritten(step.costs, clock.nowMs());
    for (const change of step.changes) {
      this.changes[change.change]++;
      if ('position' in change) this.placed.add(keyOf(change));
    }
    this.state = { ...this.state, ...levelsOf(step) };
    if (step.backfilled.length === 0) return;
    const progress = new Map(step.backfilled.map((each) => [`${each.entityId} ${each.sourceId}`, each]));
    this.sources = this.sources.map((source) => ({
      ...source,
      ...progress.get(`${source.entityId} ${source.sourceId}`),
    }));
  }

  async pause(sources: readonly FollowedSource[], reason: string): Promise<void> {
    const keys = sources.map(({ entityId, sourceId }) => ({ entityId, sourceId }));
    if (!(await this.follow.store.pauseSources(this.lease, keys, reason))) throw new LeaseLost();
    this.sources = this.sources.filter((source) => !sources.includes(source));
    this.paused += sources.length;
  }

  /** The stored facts that have the keys of the found facts. */
  async factsLike(found: readonly FoundFact[]): Promise<StoredFact[]> {
    const keys = [...new Map(found.map((fact) => [keyOf(fact), fact])).values()];
    const facts: StoredFact[] = [];
    for (let at = 0; at < keys.length; at += FACTS_A_READ) {
      facts.push(...(await this.follow.store.factsOf(keys.slice(at, at + FACTS_A_READ))));
    }
    return facts;
  }

  /** Whether the fact's source is followed in the fact's block. */
  readonly isFollowed = ({ entityId, sourceId, position }: StoredFact): boolean => {
    if (sourceId === undefined) return true;
    const source = this.sources.find((each) => each.sourceId === sourceId && each.entityId === entityId);
    return source !== undefined && (position === null || position.blockNumber >= source.fromBlock);
  };
}

function levelsOf(step: Step): Partial<NetworkState> {
  const { tip, anchors, head, safe, final, blockTimeMs, headS, finalLagMs, learnedDepth } = step;
  return { tip, anchors, head, safe, final, blockTimeMs, headS, finalLagMs, learnedDepth };
}

function higher(before: number | null, now: number | null | undefined): number | null {
  if (before === null || now === null || now === undefined) return now ?? before;
  return Math.max(before, now);
}
