import type { BlockRef } from '../../../domain/chain/facts.ts';
import { credibleClaim } from '../../../domain/chain/witnesses.ts';
import type { NodeState } from '../../../store/chain/network-store.ts';
import type { Node } from '../../rpc/node.ts';
import type { Header } from '../header.ts';

/** The blocks that one node calls final and safe. */
export type Tags = { readonly finalized: Header | null; readonly safe: Header | null };

export type ClaimRules = {
  /** The least distance of a claim from its claimant's head. */
  readonly leastDepth: number;
  /** `CHAIN_FINALITY`: the depth that counts as final if a node does not report a final block; null for none. */
  readonly finalityDepth: number | null;
};

type Claim = {
  readonly head: number;
  readonly final: number | null;
  readonly safe: number | null;
  /** The blocks that the node named, which show on which branch it is. */
  readonly blocks: readonly BlockRef[];
};

/** A node that lags by this many blocks is useless for finality. */
const FAR_BEHIND_BLOCKS = 10;
/** A node whose head is this many blocks below the highest head is behind. */
const BEHIND_BLOCKS = 2;
/** A node that fails, is on another chain, lags or makes no credible claim still counts for the quorum for this long. */
const ABSENT_AFTER_MS = 600_000;

/** The newest answers of one node, and the time since which it has been useless for finality. */
export class Witness {
  head: Header | null = null;
  /** Blocks from the node's head to the highest known head at that moment. */
  behindBlocks = 0;
  /** The newest block that the node calls final, whether or not that is credible. */
  finalized: number | null = null;
  /** Whether the node has another block than Paybell at finality. */
  isOnOtherChain = false;
  isImplausible = false;
  /** The time since which all heads of the node were in the future; null if the last one is not. */
  futureSinceMs: number | null = null;
  /** When the node showed a log that most nodes deny. */
  inventedAtMs = Number.NEGATIVE_INFINITY;
  answeredAtMs = Number.NEGATIVE_INFINITY;
  /** When the current head was first seen. */
  changedAtMs = Number.NEGATIVE_INFINITY;
  #claim: Claim | null = null;
  /** The newest claim at a lower head. */
  #earlier: Claim | null = null;
  #uselessSinceMs: number | null = null;

  constructor(readonly node: Node) {}

  noteHead(head: Header, highest: number, nowMs: number): void {
    if (head.hash !== this.head?.hash) this.changedAtMs = nowMs;
    this.head = head;
    this.behindBlocks = Math.max(0, highest - head.number);
    this.answeredAtMs = nowMs;
  }

  /** Replaces the claim of the node, even if the new claim is lower. */
  noteTags(head: Header, { finalized, safe }: Tags, { leastDepth, finalityDepth }: ClaimRules): void {
    const operatorsFinal = finalityDepth === null ? null : Math.max(0, head.number - finalityDepth);
    const claim: Claim = {
      head: head.number,
      final: credibleClaim(finalized?.number ?? null, head.number, leastDepth) ?? operatorsFinal,
      safe: credibleClaim(safe?.number ?? null, head.number, Math.min(leastDepth, 1)),
      blocks: [finalized, safe].filter((header) => header !== null),
    };
    if (this.#claim !== null && this.#claim.head < claim.head) this.#earlier = this.#claim;
    this.#claim = claim;
    this.finalized = finalized?.number ?? null;
  }

  get final(): number | null {
    return this.#claim?.final ?? null;
  }

  get safe(): number | null {
    return this.#claim?.safe ?? null;
  }

  /** Whether the node's claim is about another branch: at the height of an anchor, it named a block with another hash. */
  isOnOtherBranch(anchors: readonly BlockRef[]): boolean {
    const named = this.#claim?.blocks ?? [];
    return named.some(({ number, hash }) => anchors.some((anchor) => anchor.number === number && anchor.hash !== hash));
  }

  /** The head at the moment of the claim. */
  get claimHead(): number {
    return this.#claim?.head ?? 0;
  }

  /** The block that the node has called final at two heads. The claim of a lone node must be repeated. */
  get repeatedFinal(): number | null {
    const before = this.#earlier?.final ?? null;
    return before === null || this.final === null ? null : Math.min(before, this.final);
  }

  /** Whether the head of the node stayed the same for this long, up to its last answer. */
  isFrozen(frozenMs: number): boolean {
    return this.answeredAtMs - this.changedAtMs >= frozenMs;
  }

  /** Notes whether the node is useful for finality now. */
  assess(nowMs: number): void {
    const isUseless =
      this.isOnOtherChain ||
      this.node.contact.state !== 'ok' ||
      this.behindBlocks >= FAR_BEHIND_BLOCKS ||
      (this.#claim !== null && this.#claim.final === null);
    if (!isUseless) this.#uselessSinceMs = null;
    else this.#uselessSinceMs ??= nowMs;
  }

  /** Whether the node fails, is on another chain, lags far behind, or makes no credible claim. */
  get isUseless(): boolean {
    return this.#uselessSinceMs !== null;
  }

  /**
   * Whether the node no longer counts for the quorum. Until then, the other nodes cannot make a block final with a smaller
   * quorum.
   */
  isAbsent(nowMs: number): boolean {
    return this.#uselessSinceMs !== null && nowMs - this.#uselessSinceMs >= ABSENT_AFTER_MS;
  }

  stateAt(frozenMs: number): NodeState {
    const { state } = this.node.contact;
    if (this.isOnOtherChain) return 'wrong_chain';
    if (state !== 'ok') return state;
    if (this.isImplausible) return 'implausible';
    if (this.behindBlocks > 0 && this.isFrozen(frozenMs)) return 'frozen';
    if (this.behindBlocks >= BEHIND_BLOCKS) return 'behind';
    return this.#claim !== null && this.#claim.final === null ? 'final_not_credible' : 'ok';
  }
}
