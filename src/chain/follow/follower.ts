import type { FollowerStore } from '../../store/chain/network-store.ts';
import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';
import type { Nodes } from '../rpc/nodes.ts';
import { type Clock, SYSTEM_CLOCK } from '../rpc/rate-limit.ts';
import { InDoubt } from './doubt.ts';
import { type Follow, type FollowOptions, LeaseLost, NetworkHalted, noChanges, Poll } from './poll.ts';
import { type LoopHooks, PollLoop } from './poll-loop.ts';
import type { NetworkHealth, PollOutcome, PollResult } from './poll-result.ts';
import type { ChainReader, ReadResult } from './reader.ts';
import { noteConflict } from './witnesses/conflict.ts';
import { Witnesses } from './witnesses/witnesses.ts';

/** Limit on the attempts of a poll. Each attempt shrinks a range, pauses a source or changes to the next node. */
const MAX_ATTEMPTS = 24;
const DOUBTS_BEFORE_NEXT_NODE = 3;

export type FollowerOptions = FollowOptions &
  LoopHooks & {
    readonly store: FollowerStore;
    readonly nodes: Nodes;
    readonly reader: ChainReader;
    readonly clock?: Clock | undefined;
  };

/** Follows one network. `poll` reads it once and stores the changes. Polls never run at the same time. */
export class Follower {
  private readonly follow: Follow;
  readonly #reader: ChainReader;
  readonly #loop: PollLoop;

  constructor(options: FollowerOptions) {
    const { store, nodes, reader, clock = SYSTEM_CLOCK } = options;
    const { networkId, finalityDepth, graceBlocks, stepChanges, leastDepth, quorum, pollMs } = options;
    const limits = { networkId, finalityDepth, graceBlocks, stepChanges, leastDepth, quorum, pollMs };
    const witnesses = new Witnesses(nodes, clock, limits);
    this.#reader = reader;
    this.follow = reader.prepare({ store, nodes, options: limits, witnesses, clock });
    this.#loop = new PollLoop({
      poll: () => this.poll(),
      backfill: () => this.backfill(),
      nodesWaitMs: () => nodes.waitMs,
      catchesUp: reader.catchesUp,
      ...options,
    });
  }

  /** Polls until `stop` is called. */
  start(): void {
    this.#loop.start();
  }

  /** Resolves when the poll in progress has ended. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Reads the new blocks, lets finality rise, and reads one range of older blocks if a source needs it. */
  async poll(): Promise<PollResult> {
    return this.#underLease(async (poll) => {
      const { memory, witnesses, clock, store } = this.follow;
      witnesses.assess(poll.state.blockTimeMs, poll.lease.nowMs);
      const withTags = areTagsDue(poll);
      if (withTags) memory.tagsAskedAtMs = clock.nowMs();
      let live = await this.#followLive(poll, withTags);
      const liveCounts = this.#counts();
      if (await this.#changeLeader(poll, live, withTags)) live = await this.#followLive(poll, withTags);
      const { node } = live;
      if (node !== null) {
        for (const check of this.#reader.checks(poll, node)) await this.#runAlongside(check);
        await this.#runAlongside(() => this.#reader.backfill(poll, node));
      } else if (live.outcome !== 'halted' && poll.state.head !== null) {
        // Stores the state of the nodes, even if the poll has found nothing else.
        await poll.commit({});
      }
      await store.queueAlerts(poll.lease);
      return { outcome: live.outcome, liveCounts };
    });
  }

  /** Asks the other nodes if that is due or the leader gives a reason. Returns whether another node leads now. */
  async #changeLeader(poll: Poll, { node, outcome }: Live, withTags: boolean): Promise<boolean> {
    const { nodes, witnesses } = this.follow;
    const leader = node ?? witnesses.leader();
    if (leader === null || nodes.count === 1 || outcome === 'halted') return false;
    return this.#reader.consult(poll, leader, { withTags, isBehind: outcome === 'behind' });
  }

  /** Reads one range of older blocks and nothing else. */
  async backfill(): Promise<PollResult> {
    return this.#underLease(async (poll) => {
      const node = this.follow.witnesses.leader();
      const liveCounts = this.#counts();
      if (node === null) return { outcome: 'failed', liveCounts };
      await this.#runAlongside(() => this.#reader.backfill(poll, node));
      return { outcome: 'followed', liveCounts };
    });
  }

  async #underLease(work: (poll: Poll) => Promise<Work>): Promise<PollResult> {
    const { store, options, memory } = this.follow;
    const before = this.#counts();
    const lease = await store.lease(options.networkId);
    if (lease === null) return this.#result(null, { outcome: 'idle', liveCounts: before }, before);
    if (memory.token !== lease.token) {
      if (lease.state.tip === null) this.follow.witnesses.noteNewStart();
      this.follow.nodes.restore(lease.nodes);
    }
    memory.begin(lease);
    const poll = new Poll(this.follow, lease);
    if (lease.state.haltedAtMs !== null) return this.#result(poll, { outcome: 'halted', liveCounts: before }, before);
    try {
      return this.#result(poll, await work(poll), before);
    } catch (error) {
      const liveCounts = this.#counts();
      if (error instanceof NetworkHalted) return this.#result(poll, { outcome: 'halted', liveCounts }, before);
      if (!(error instanceof LeaseLost)) throw error;
      return this.#result(null, { outcome: 'idle', liveCounts }, before);
    }
  }

  /** Tries each node that can be asked until one leads to an outcome. */
  async #followLive(poll: Poll, withTags: boolean): Promise<Live> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const node = this.follow.witnesses.leader();
      if (node === null) break;
      try {
        const result = await this.#reader.follow(poll, node, withTags);
        // After `minority`, a node that has the stored branch leads.
        if (result.kind !== 'again' && result.kind !== 'minority') return await this.#conclude(poll, node, result);
      } catch (error) {
        if (error instanceof InDoubt) return this.#doubt(node);
        if (!(error instanceof RpcFailure)) throw error;
        // If only some calls of a request failed, the node has not counted a failure yet.
        if (node.waitMs === 0) node.noteFailure(new RpcFailure(error.kind === 'too_large' ? 'garbage' : error.kind));
      }
    }
    return { outcome: 'failed', node: null };
  }

  async #conclude(poll: Poll, node: Node, { kind }: ReadResult): Promise<Live> {
    if (kind === 'followed') return { outcome: 'followed', node };
    if (kind === 'behind') return { outcome: 'behind', node: null };
    if (!(await noteConflict(poll, node))) return { outcome: 'in_doubt', node: null };
    return { outcome: 'halted', node: null };
  }

  #doubt(node: Node): Live {
    const { memory, nodes, witnesses } = this.follow;
    const [next] = nodes.others(node);
    if (++memory.doubts % DOUBTS_BEFORE_NEXT_NODE === 0 && next !== undefined) witnesses.lead(next);
    return { outcome: 'in_doubt', node: null };
  }

  /** Runs a part of the poll other than the live part. If a node fails, the next poll continues the work. */
  async #runAlongside(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof RpcFailure || error instanceof InDoubt)) throw error;
    }
  }

  #counts(): Counts {
    const { calls, requests } = this.follow.nodes;
    return { calls, requests };
  }

  #result(poll: Poll | null, { outcome, liveCounts }: Work, before: Counts): PollResult {
    const now = this.#counts();
    const state = poll?.state;
    return {
      outcome,
      calls: now.calls - before.calls,
      requests: now.requests - before.requests,
      liveCalls: liveCounts.calls - before.calls,
      liveRequests: liveCounts.requests - before.requests,
      ...(poll?.changes ?? noChanges()),
      omissions: poll?.omissions ?? 0,
      disagreements: poll?.disagreements ?? 0,
      reorgDepth: poll?.reorgDepth ?? 0,
      paused: poll?.paused ?? 0,
      lagBlocks: poll?.lagBlocks ?? 0,
      hasBackfill: poll !== null && this.#reader.hasBackfill(poll),
      blockTimeMs: state?.blockTimeMs ?? null,
      network: poll === null ? null : this.#health(poll),
    };
  }

  #health({ state, lease }: Poll): NetworkHealth {
    const { headS, head, final, blockTimeMs, tip } = state;
    const isKnown = headS !== null && head !== null && final !== null && blockTimeMs !== null;
    return {
      tipHash: tip?.hash ?? null,
      headS,
      finalS: isKnown ? headS - ((head - final) * blockTimeMs) / 1000 : null,
      disputed: lease.unconfirmed.filter(({ isDisputed }) => isDisputed).length,
      nodes: this.follow.witnesses.health(blockTimeMs),
    };
  }
}

type Counts = { readonly calls: number; readonly requests: number };
type Work = { readonly outcome: PollOutcome; readonly liveCounts: Counts };
type Live = { readonly outcome: PollOutcome; readonly node: Node | null };

const MIN_TAGS_MS = 3_000;
const MAX_TAGS_MS = 60_000;
/**
 * The time between two questions for finality while no payment waits for it. Finality then lags only a little when a
 * payment comes.
 */
const IDLE_TAGS_MS = 120_000;
/** A share of the usual time to finality. */
const TAGS_SHARE = 1 / 8;

/** If a setting spaces polls to save calls, every third poll asks for the final block. */
const POLLS_PER_TAGS = 3;

/** Whether to ask the nodes what is final. */
function areTagsDue({ state, lease, follow }: Poll): boolean {
  const sparseMs = POLLS_PER_TAGS * (follow.options.pollMs ?? 0);
  const leastMs = Math.max(MIN_TAGS_MS, state.blockTimeMs ?? 0, sparseMs);
  const usualMs = Math.min(MAX_TAGS_MS, Math.max(leastMs, (state.finalLagMs ?? 0) * TAGS_SHARE));
  return follow.clock.nowMs() - follow.memory.tagsAskedAtMs >= (lease.isWaiting ? usualMs : IDLE_TAGS_MS);
}
