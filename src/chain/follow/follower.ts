import type { FollowerStore, Lease } from '../../store/chain/network-store.ts';
import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';
import type { Nodes } from '../rpc/nodes.ts';
import { backfillOnce, hasBackfill } from './backfill.ts';
import { InDoubt } from './blocks/doubt.ts';
import { confirmFinality } from './confirm.ts';
import { followLive, type LiveResult } from './live.ts';
import type { Look } from './look.ts';
import { Memory } from './memory.ts';
import { type ChangeCounts, type Decoder, type Follow, type FollowOptions, LeaseLost, Poll } from './poll.ts';
import { type LoopHooks, PollLoop } from './poll-loop.ts';
import type { PollOutcome, PollResult } from './poll-result.ts';

/** Each shrinks a range, pauses a source or moves on to the next node. */
const MAX_ATTEMPTS = 24;
const DOUBTS_BEFORE_NEXT_NODE = 3;

export type FollowerOptions = FollowOptions &
  LoopHooks & { readonly store: FollowerStore; readonly nodes: Nodes; readonly decoder: Decoder };

/** Follows one network. `poll` is one look at it, and what it found is in the store. Polls never run at the same time. */
export class Follower {
  private readonly follow: Follow;
  readonly #loop: PollLoop;

  constructor(options: FollowerOptions) {
    const { store, nodes, decoder, networkId, finalityDepth, graceBlocks, stepChanges } = options;
    const limits = { networkId, finalityDepth, graceBlocks, stepChanges };
    this.follow = { store, nodes, decoder, options: limits, memory: new Memory() };
    this.#loop = new PollLoop({
      poll: () => this.poll(),
      backfill: () => this.backfill(),
      nodesWaitMs: () => nodes.waitMs,
      ...options,
    });
  }

  /** Polls until it is stopped. */
  start(): void {
    this.#loop.start();
  }

  /** Resolves when the poll in progress has ended. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Reads the tail again and what is new, rises finality, and reads one range of older blocks where a source needs it. */
  async poll(): Promise<PollResult> {
    return this.#underLease(async (poll) => {
      const live = await this.#followLive(poll);
      const liveCounts = this.#counts();
      if (live.node !== null && live.look !== null) {
        const { node, look } = live;
        await this.#aside(() => confirmFinality(poll, node, look));
        await this.#aside(() => backfillOnce(poll, node));
      } else if (live.outcome !== 'halted' && poll.state.head !== null) {
        // How the nodes are is worth knowing also when nothing else is.
        await poll.commit({});
      }
      return { outcome: live.outcome, liveCounts };
    });
  }

  /** Reads one range of older blocks and nothing else. */
  async backfill(): Promise<PollResult> {
    return this.#underLease(async (poll) => {
      const node = this.follow.nodes.current();
      const liveCounts = this.#counts();
      if (node === null) return { outcome: 'failed', liveCounts };
      await this.#aside(() => backfillOnce(poll, node));
      return { outcome: 'followed', liveCounts };
    });
  }

  async #underLease(work: (poll: Poll) => Promise<Work>): Promise<PollResult> {
    const { store, options, memory } = this.follow;
    const before = this.#counts();
    const lease = await store.lease(options.networkId);
    if (lease === null) return this.#result(null, { outcome: 'idle', liveCounts: before }, before);
    if (lease.state.tip === null && memory.token !== lease.token) this.follow.nodes.noteNewStart();
    if (memory.token !== lease.token) this.follow.nodes.restore(lease.nodes);
    memory.begin(lease);
    const poll = new Poll(this.follow, lease);
    if (lease.state.haltedAtMs !== null) return this.#result(poll, { outcome: 'halted', liveCounts: before }, before);
    try {
      return this.#result(poll, await work(poll), before);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      return this.#result(null, { outcome: 'idle', liveCounts: this.#counts() }, before);
    }
  }

  /** With each node that can be asked, until one leads to an outcome. */
  async #followLive(poll: Poll): Promise<Live> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const node = this.follow.nodes.current();
      if (node === null) break;
      try {
        const result = await followLive(poll, node);
        if (result.kind !== 'again') return await this.#conclude(poll, node, result);
      } catch (error) {
        if (error instanceof InDoubt) return this.#doubt(node);
        if (!(error instanceof RpcFailure)) throw error;
        // One call that failed among others has not been counted yet.
        if (node.waitMs === 0) node.noteFailure(new RpcFailure(error.kind === 'too_large' ? 'garbage' : error.kind));
      }
    }
    return { outcome: 'failed', node: null, look: null };
  }

  async #conclude(poll: Poll, node: Node, result: Exclude<LiveResult, { kind: 'again' }>): Promise<Live> {
    if (result.kind === 'followed') return { outcome: 'followed', node, look: result.look };
    if (result.kind === 'behind') {
      if (node.noteBehind(result.head)) this.follow.nodes.moveOn(node);
      return { outcome: 'behind', node: null, look: null };
    }
    const { memory, nodes, store } = this.follow;
    // Another node says whether it is the network or this node.
    if (nodes.count > 1) node.noteFailure(new RpcFailure('wrong_chain'));
    if (!memory.isSuspicious) {
      memory.isSuspicious = true;
      return { outcome: 'in_doubt', node: null, look: null };
    }
    await store.halt(poll.lease, reasonOf(poll.lease));
    return { outcome: 'halted', node: null, look: null };
  }

  #doubt(node: Node): Live {
    const { memory, nodes } = this.follow;
    if (++memory.doubts % DOUBTS_BEFORE_NEXT_NODE === 0) nodes.moveOn(node);
    return { outcome: 'in_doubt', node: null, look: null };
  }

  /** Work beside the live poll, which goes on with the next poll where it fails. */
  async #aside(work: () => Promise<void>): Promise<void> {
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
    const none: ChangeCounts = { seen: 0, moved: 0, lost: 0, retracted: 0, again: 0 };
    return {
      outcome,
      calls: now.calls - before.calls,
      requests: now.requests - before.requests,
      liveCalls: liveCounts.calls - before.calls,
      liveRequests: liveCounts.requests - before.requests,
      ...(poll?.changes ?? none),
      omissions: poll?.omissions ?? 0,
      disagreements: poll?.disagreements ?? 0,
      reorgDepth: poll?.reorgDepth ?? 0,
      paused: poll?.paused ?? 0,
      lagBlocks: poll?.lagBlocks ?? 0,
      hasBackfill: poll !== null && hasBackfill(poll),
      blockTimeMs: state?.blockTimeMs ?? null,
    };
  }
}

type Counts = { readonly calls: number; readonly requests: number };
type Work = { readonly outcome: PollOutcome; readonly liveCounts: Counts };
type Live = { readonly outcome: PollOutcome; readonly node: Node | null; readonly look: Look | null };

function reasonOf({ state }: Lease): string {
  const final = state.final === null ? '' : ` block ${state.final} is final, and`;
  return `The network was reorganised too deeply:${final} the nodes have none of the newer blocks that were read.`;
}
