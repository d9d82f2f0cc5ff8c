import { BoundedMap } from '../../../bounded-map.ts';
import type { BlockRef, FoundFact } from '../../../domain/chain/facts.ts';
import type { Votes } from '../../../domain/chain/witnesses.ts';
import type { FollowedSource, Lease } from '../../../store/chain/network-store.ts';
import type { Header } from '../../follow/header.ts';
import { Memory } from '../../follow/memory.ts';
import type { Log } from '../rpc/types.ts';
import { TAIL_BLOCKS } from './blocks/anchors.ts';
import { BlockRange } from './blocks/block-range.ts';
import { BookModes } from './blocks/book-modes.ts';
import { MAX_CONTRACTS } from './blocks/log-filters.ts';
import { Readings } from './witnesses/readings.ts';

const DISTRUSTED_RESPONSES = 100;
const MAX_SUSPECTS = 1_000;
/** The least time between two readings of the tail, while no node leaves anything out. */
const TAIL_MS = 10_000;
const MAX_DENIED = 10_000;
const LONG_AGO = Number.NEGATIVE_INFINITY;

/** The progress of the readings that a block needs before it becomes final. */
export type ConfirmProgress = {
  readonly target: BlockRef;
  /** The last block of the readings. It only falls, because earlier readings say nothing about blocks above it. */
  to: number;
  /** Responses since the last one with a new fact. */
  readings: number;
  total: number;
  /** The nodes that have the target, and those that have another block there, by their ids. */
  readonly readers: Set<string>;
  readonly others: Set<string>;
  /** The votes on facts, by their keys and blocks. */
  readonly votes: Map<string, Votes>;
  /**
   * Facts that a reading has shown, but on which too few nodes could vote. They are not stored, and finality waits for
   * them.
   */
  open: readonly FoundFact[];
};

/** One node's pass over the transactions of the blocks above a reorg. */
export type LostTrace = {
  readonly node: string;
  /** The lost facts that the pass is about. */
  readonly facts: ReadonlySet<string>;
  next: number;
  readonly transactions: Set<string>;
};

/** The blocks that are being read for one source alone. */
export type BackfillProgress = {
  readonly source: string;
  readonly from: number;
  readonly to: number;
  readings: number;
  total: number;
  isInDoubt: boolean;
  readonly facts: Map<string, FoundFact>;
  /** The votes on facts, by their keys and blocks. */
  readonly votes: Map<string, Votes>;
  /** The last reading with its decoded facts. If the next reading has the same sources and logs, they are not decoded again. */
  last: {
    readonly node: string;
    readonly sources: readonly FollowedSource[];
    readonly logs: readonly Log[];
    readonly found: readonly FoundFact[];
  } | null;
};

/** The part of a follower's memory that only EVM networks need. */
export class EvmMemory extends Memory {
  range = new BlockRange(null);
  contractsPerCall = MAX_CONTRACTS;
  /** Sources whose logs of one block a network's only node refused, with the number of that poll. */
  readonly suspects = new BoundedMap<string, number>(MAX_SUSPECTS);
  /** The head that was seen last. */
  head: number | null = null;
  /** An older head, from which the block time is learned. */
  paceFrom: Header | null = null;
  /** When the tail was last read, and the tip of that moment. */
  tailReadAtMs = LONG_AGO;
  tailTip = 0;
  /** When a node other than the leader last read the tail, and the tip of that moment. */
  othersTail = { tip: 0, atMs: LONG_AGO };
  readonly readings = new Readings();
  /** Responses about the tail that a follower still needs before it reads the tail less often. */
  #tailReadings = DISTRUSTED_RESPONSES;
  /** When a head was last known to descend from the tip. */
  verifiedAtMs = LONG_AGO;
  /** Nodes that refuse filters by block hash: how often in a row. */
  readonly hashRefusals = new Map<string, number>();
  /** The lowest block that every reorg since the oldest lost fact has left in place; null if that is not known. */
  reorgBase: number | null = null;
  trace: LostTrace | null = null;
  /** Lost transactions that are in a block again, so that their receipts are asked for. */
  readonly included = new Set<string>();
  /** Facts, with the block in which nodes have denied them. */
  readonly denied = new BoundedMap<string, true>(MAX_DENIED);
  /** When nodes were last asked again about payments on which they are tied. */
  reviewedAtMs = LONG_AGO;
  /** The head at which Paybell last asked for held events, and the events that it asked for. */
  heldHead: string | null = null;
  readonly heldAsked = new Set<string>();
  /** The head of the leader if it was behind in the last poll; null if it was not. */
  lowHead: number | null = null;
  /** Polls in a row in which a node had a head below the tip, and another block at the anchor. */
  shortForks = 0;
  /** The block at which a node agreed last. */
  agreed: BlockRef | null = null;
  /** After a node has left facts out: the number of complete responses still needed before nodes are trusted again. */
  #distrust = 0;
  /** The block that the nodes agree is final, before its logs are confirmed. */
  candidate: BlockRef | null = null;
  confirm: ConfirmProgress | null = null;
  backfill: BackfillProgress | null = null;
  readonly bookModes: BookModes;
  backfillTurn = 0;
  /** The next backfill begins at this time at the earliest. */
  backfillAtMs = LONG_AGO;
  readonly backfillRanges = new Map<string, BlockRange>();
  /** For each lost fact, the nodes that answered without it, one entry for each answer. */
  readonly absences = new Map<string, string[]>();

  constructor(isPractice = false) {
    super();
    this.bookModes = new BookModes(isPractice);
  }

  /** Notes a response that left out this number of facts. */
  noteOmissions(count: number): void {
    this.#distrust = count > 0 ? DISTRUSTED_RESPONSES : Math.max(0, this.#distrust - 1);
  }

  get isInDoubt(): boolean {
    return this.#distrust > 0;
  }

  noteTail(tip: number, nowMs: number): void {
    this.tailTip = tip;
    this.tailReadAtMs = nowMs;
    this.#tailReadings = Math.max(0, this.#tailReadings - 1);
  }

  /**
   * Whether the leader reads the tail again. In doubt, and for the first responses, the leader does so in every poll,
   * because payments near the head could be missing. Later, another node reads the tail, if there is one.
   */
  isTailDue(tip: number, nowMs: number, hasOthers: boolean): boolean {
    if (this.isInDoubt || this.#tailReadings > 0) return true;
    return !hasOthers && tip - this.tailTip >= TAIL_BLOCKS && nowMs - this.tailReadAtMs >= TAIL_MS;
  }

  /**
   * In doubt, another node also reads the tail in every poll, because the leader may leave the same log out of every
   * response.
   */
  isOthersTailDue(tip: number, nowMs: number): boolean {
    if (this.isInDoubt) return true;
    return tip - this.othersTail.tip >= TAIL_BLOCKS && nowMs - this.othersTail.atMs >= TAIL_MS;
  }

  /**
   * Notes that a reorg has replaced the blocks above `base`. If facts are lost and the base of an earlier reorg is
   * unknown, it stays unknown.
   */
  noteReorg(base: number, hasLost: boolean): void {
    this.trace = null;
    this.readings.cut(base);
    if (hasLost && this.reorgBase === null) return;
    this.reorgBase = Math.min(this.reorgBase ?? base, base);
  }

  override get isUndecided(): boolean {
    return this.confirm !== null && this.confirm.open.length > 0;
  }

  get rangeBlocks(): number {
    return this.range.blocks;
  }

  protected forget({ state }: Lease): void {
    this.range = new BlockRange(state.rangeBlocks);
    this.head = null;
    this.lowHead = null;
    this.shortForks = 0;
    this.agreed = null;
    this.paceFrom = null;
    this.verifiedAtMs = LONG_AGO;
    this.readings.clear();
    this.reorgBase = null;
    this.trace = null;
    this.included.clear();
    this.heldHead = null;
    this.candidate = null;
    this.confirm = null;
    this.backfill = null;
    this.backfillRanges.clear();
    this.absences.clear();
  }
}
