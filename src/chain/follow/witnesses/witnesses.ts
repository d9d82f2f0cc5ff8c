import {
  agreedBlock,
  capAlone,
  judgeVotes,
  type LearnedDepth,
  learnAlone,
  learnTogether,
  quorumOf,
  type Verdict,
  type Votes,
} from '../../../domain/chain/witnesses.ts';
import type { NetworkState, NodeHealth } from '../../../store/chain/network-store.ts';
import type { Node } from '../../rpc/node.ts';
import type { Nodes } from '../../rpc/nodes.ts';
import type { Clock } from '../../rpc/rate-limit.ts';
import type { Header } from '../header.ts';
import { type ClaimRules, type Tags, Witness } from './witness.ts';

export type WitnessRules = ClaimRules & {
  /** `CHAIN_QUORUM`: the nodes that must agree, if the operator fixes their number. */
  readonly quorum: number | null;
};

/** The blocks that the nodes agree on. */
export type Agreement = {
  readonly final: number | null;
  readonly safe: number | null;
  /** The nodes that must agree, and the present nodes with a credible claim. */
  readonly needed: number;
  readonly speakers: number;
};

const UNKNOWN_BLOCK_TIME_MS = 2_000;
const FROZEN_BLOCKS = 3;
/**
 * The least time before a node counts as frozen. Networks with several blocks a second are polled only once a second.
 */
const MIN_FROZEN_MS = 3_000;
const IMPLAUSIBLE_BLOCKS = 100;
const IMPLAUSIBLE_MS = 600_000;
const FUTURE_S = 60;
/** An older answer does not show the state of a node now. */
const FRESH_MS = 150_000;
/** A node that showed a log which most nodes deny does not lead for this long, if another node can. */
const DISTRUST_MS = 3_600_000;
const HOUR_MS = 3_600_000;
const SAME_MOMENT_MS = 1_000;

/** The nodes of a network, with the last answers of each. */
export class Witnesses {
  readonly all: readonly Witness[];
  /** When the leader was chosen. */
  ledSinceMs = Number.NEGATIVE_INFINITY;
  /** The least depth that a lone node has claimed since the start of the hour. */
  #hour: { readonly startMs: number; readonly least: number } | null = null;

  constructor(
    private readonly nodes: Nodes,
    private readonly clock: Clock,
    private readonly rules: WitnessRules,
  ) {
    this.all = nodes.all.map((node) => new Witness(node));
  }

  of(node: Node): Witness {
    const witness = this.all.find((each) => each.node === node);
    if (witness === undefined) throw new Error(`node ${node.name} is of another network`);
    return witness;
  }

  /** The highest plausible head in a fresh answer; null if there is none. */
  get highest(): number | null {
    const heads = this.#fresh().flatMap(({ head, isImplausible }) =>
      isImplausible || head === null ? [] : head.number,
    );
    return heads.length === 0 ? null : Math.max(...heads);
  }

  noteHead(node: Node, head: Header): void {
    const nowMs = this.clock.nowMs();
    this.of(node).noteHead(head, Math.max(this.highest ?? 0, head.number), nowMs);
    // A node that answered in the same moment with a lower head is behind this node.
    const recent = this.all.filter((each) => each.head !== null && nowMs - each.answeredAtMs <= SAME_MOMENT_MS);
    for (const each of recent) each.behindBlocks = Math.max(each.behindBlocks, head.number - (each.head?.number ?? 0));
  }

  noteTags(node: Node, head: Header, tags: Tags): void {
    this.of(node).noteTags(head, tags, this.rules);
  }

  /** The time for which a head may stay the same before the node counts as frozen. */
  static frozenMs(blockTimeMs: number | null): number {
    return Math.max(MIN_FROZEN_MS, FROZEN_BLOCKS * (blockTimeMs ?? UNKNOWN_BLOCK_TIME_MS));
  }

  /** Notes which nodes are useful, and which heads are implausible. `dateMs` is the database's time. */
  assess(blockTimeMs: number | null, dateMs: number): void {
    const nowMs = this.clock.nowMs();
    for (const witness of this.all) {
      witness.assess(nowMs);
      const { head, answeredAtMs, futureSinceMs } = witness;
      const isAhead = head !== null && isInFuture(head.timestampS, dateMs);
      witness.futureSinceMs = isAhead ? (futureSinceMs ?? answeredAtMs) : null;
      witness.isImplausible = this.#isImplausible(witness, blockTimeMs ?? UNKNOWN_BLOCK_TIME_MS, dateMs);
    }
    // If all heads are implausible, the clock that they were compared with is wrong.
    const fresh = this.#fresh();
    if (fresh.every(({ isImplausible }) => isImplausible)) for (const witness of fresh) witness.isImplausible = false;
  }

  /**
   * Whether the time of a block from this node is credible. A time in the future is credible only if all other nodes
   * have also shown a head in the future, since this node first did. `dateMs` is the database's time.
   */
  mayDate(node: Node, { timestampS }: Pick<Header, 'timestampS'>, dateMs: number): boolean {
    if (!isInFuture(timestampS, dateMs)) return true;
    const sinceMs = this.of(node).futureSinceMs ?? this.clock.nowMs();
    const others = this.all.filter((witness) => witness.node !== node);
    return others.every(
      ({ head, answeredAtMs }) => head !== null && isInFuture(head.timestampS, dateMs) && answeredAtMs >= sinceMs,
    );
  }

  #isImplausible(witness: Witness, blockTimeMs: number, dateMs: number): boolean {
    const { head } = witness;
    if (head === null) return false;
    if (isInFuture(head.timestampS, dateMs)) return true;
    // Does not compare with a frozen node, or with a node that has not answered since this head was first seen.
    const frozenMs = Witnesses.frozenMs(blockTimeMs);
    const isCompared = (each: Witness) =>
      each !== witness && each.answeredAtMs >= witness.changedAtMs && !each.isFrozen(frozenMs);
    const others = this.#fresh().flatMap((each) => (isCompared(each) ? (each.head?.number ?? []) : []));
    if (others.length === 0) return false;
    const above = head.number - Math.max(...others);
    return above > IMPLAUSIBLE_BLOCKS && above * blockTimeMs > IMPLAUSIBLE_MS;
  }

  #fresh(): Witness[] {
    const nowMs = this.clock.nowMs();
    return this.all.filter(({ head, answeredAtMs }) => head !== null && nowMs - answeredAtMs < FRESH_MS);
  }

  /** The nodes that count for the quorum. */
  get present(): Witness[] {
    const nowMs = this.clock.nowMs();
    return this.all.filter((witness) => !witness.isAbsent(nowMs));
  }

  get quorum(): number {
    return quorumOf(this.present.length, this.rules.quorum);
  }

  /**
   * The majority of the present nodes and the named nodes together. The named nodes have another chain than the stored
   * one.
   */
  majorityWith(names: ReadonlySet<string>): number {
    const nowMs = this.clock.nowMs();
    const voters = this.all.filter((witness) => names.has(witness.node.name) || !witness.isAbsent(nowMs));
    return quorumOf(voters.length, null);
  }

  /**
   * The verdict of these votes. A node that voted and has failed since then still counts for the majority. Otherwise
   * its vote alone could decide if few nodes are left. The vote of a node that the setting no longer names does not
   * count.
   */
  judge(votes: Votes, isComplete: boolean): Verdict {
    const nowMs = this.clock.nowMs();
    const hasVoted = (id: string) => votes.yes.includes(id) || votes.no.includes(id);
    const voters = this.all.filter((witness) => hasVoted(witness.node.id) || !witness.isAbsent(nowMs));
    const isVoter = (id: string) => voters.some(({ node }) => node.id === id);
    const counted = { yes: votes.yes.filter(isVoter), no: votes.no.filter(isVoter) };
    return judgeVotes(counted, quorumOf(voters.length, this.rules.quorum), isComplete);
  }

  /** The leader if it takes calls, otherwise the best node that takes calls. Null while no node takes calls. */
  leader(): Node | null {
    const free = this.all.filter(({ node }) => node.waitMs === 0);
    const current = free.find(({ node }) => node === this.nodes.preferred);
    const isUsable = ({ isOnOtherChain, isImplausible }: Witness) => !isOnOtherChain && !isImplausible;
    if (current !== undefined && isUsable(current)) return current.node;
    const [best] = free.toSorted((a, b) => this.#rank(b) - this.#rank(a));
    if (best === undefined) return null;
    if (best.node !== this.nodes.preferred) this.lead(best.node);
    return best.node;
  }

  /** Ranks usable nodes first, then nodes with a higher head. Among equal nodes, the order of the setting decides. */
  #rank(witness: Witness): number {
    const { head, isOnOtherChain, isImplausible } = witness;
    const groups = (isOnOtherChain ? 0 : 4) + (isImplausible ? 0 : 2) + (this.isDistrusted(witness) ? 0 : 1);
    return groups * 2 ** 45 + (head?.number ?? 0);
  }

  isDistrusted({ inventedAtMs }: Witness): boolean {
    return this.clock.nowMs() - inventedAtMs < DISTRUST_MS;
  }

  lead(node: Node): void {
    this.nodes.prefer(node);
    this.ledSinceMs = this.clock.nowMs();
  }

  /** The blocks that a quorum of present nodes calls final and safe. A lone claim is capped by the learned depth. */
  agree({ head, learnedDepth, anchors }: Pick<NetworkState, 'head' | 'learnedDepth' | 'anchors'>): Agreement {
    const { present, quorum } = this;
    const isLone = present.length === 1 && quorum === 1;
    const speakers = present.filter(isSpeaker).length;
    // A lone node with another block at finality is not excluded here: the logs that it lacks reveal it.
    const isOnOurs = (witness: Witness) => !witness.isOnOtherChain && !witness.isOnOtherBranch(anchors);
    const counted = isLone ? present : present.filter(isOnOurs);
    const claims = counted.map((witness) => (isLone ? witness.repeatedFinal : witness.final));
    const final = agreedBlock(claims, quorum);
    return {
      final: final === null || speakers > 1 ? final : capAlone(final, head ?? 0, learnedDepth),
      safe: agreedBlock(
        counted.map(({ safe }) => safe),
        quorum,
      ),
      needed: quorum,
      speakers,
    };
  }

  /** The block that a quorum calls final before the first block is read. A lone node need not repeat its claim here. */
  get firstFinal(): number | null {
    return agreedBlock(
      this.present.map(({ final }) => final),
      this.quorum,
    );
  }

  /** The depth of finality, learned from the newest claims. */
  learn(learned: LearnedDepth, dateMs: number): LearnedDepth {
    const speakers = this.present.filter(isSpeaker);
    const [first] = speakers;
    if (first === undefined) return learned;
    const together = agreedBlock(
      speakers.map(({ final }) => final),
      2,
    );
    if (together === null) return this.#learnAlone(learned, first.claimHead - (first.final ?? 0), dateMs);
    this.#hour = null;
    return learnTogether(learned, Math.max(...speakers.map(({ claimHead }) => claimHead)) - together);
  }

  #learnAlone(learned: LearnedDepth, depth: number, dateMs: number): LearnedDepth {
    const nowMs = this.clock.nowMs();
    const hour = { startMs: this.#hour?.startMs ?? nowMs, least: Math.min(this.#hour?.least ?? depth, depth) };
    const isOver = learned.least === null || nowMs - hour.startMs >= HOUR_MS;
    this.#hour = isOver ? null : hour;
    return isOver ? learnAlone(learned, hour.least, dateMs) : learned;
  }

  health(blockTimeMs: number | null): NodeHealth[] {
    const frozenMs = Witnesses.frozenMs(blockTimeMs);
    return this.all.map((witness) => {
      const { name, lastError, lastOkAtMs, limits, calls } = witness.node.contact;
      const { head, behindBlocks, finalized } = witness;
      const headFields = {
        head: head?.number ?? null,
        headS: head?.timestampS ?? null,
        behindBlocks: head && behindBlocks,
      };
      return { name, state: witness.stateAt(frozenMs), ...headFields, finalized, lastError, lastOkAtMs, limits, calls };
    });
  }

  /** Forgets conflicts, because the operator has resumed the network or its progress is lost. */
  noteNewStart(): void {
    for (const witness of this.all) witness.isOnOtherChain = false;
    for (const { node } of this.all) node.noteNewStart();
  }
}

/** Whether the node has a credible claim about the stored chain. */
function isSpeaker({ final, isOnOtherChain }: Witness): boolean {
  return final !== null && !isOnOtherChain;
}

function isInFuture(timestampS: number, dateMs: number): boolean {
  return timestampS > dateMs / 1000 + FUTURE_S;
}
