import { BoundedMap } from '../../bounded-map.ts';
import type { BlockRef } from '../../domain/chain/facts.ts';
import type { Lease } from '../../store/chain/network-store.ts';
import { BlockRange } from './blocks/block-range.ts';
import { MAX_CONTRACTS } from './blocks/log-filters.ts';

const DISTRUSTED_RESPONSES = 100;
const MAX_SUSPECTS = 1_000;

/** How far the second opinion on blocks that are to become final has come. */
export type ConfirmProgress = {
  readonly target: BlockRef;
  /** Responses that were read since the last one that had something new. */
  readings: number;
  total: number;
  /** How often the other node had not got the block. */
  unanswered: number;
};

/** The blocks that are being read for one source alone. */
export type BackfillProgress = {
  readonly source: string;
  readonly from: number;
  readonly to: number;
  readings: number;
  total: number;
  isInDoubt: boolean;
  readonly facts: Set<string>;
};

/** What a follower remembers between polls. Nothing here has to survive: it is learned again within a few polls. */
export class Memory {
  /** Of the lease that all of this was learned under. */
  token: number | null = null;
  range = new BlockRange(null);
  contractsPerCall = MAX_CONTRACTS;
  /** Contracts whose logs of one block a single node refused, with the poll in which it did. */
  readonly suspects = new BoundedMap<string, number>(MAX_SUSPECTS);
  polls = 0;
  /** The head that was seen last. */
  head: number | null = null;
  /** The head of the node that was behind last; null after one that was not. */
  lowHead: number | null = null;
  /** Polls in a row in which a node had a head below the tip, and another block at the anchor. */
  shortForks = 0;
  /** Responses in a row that contradicted the one before. */
  doubts = 0;
  /** The block at which a node agreed last. */
  agreed: BlockRef | null = null;
  /** Whether the last poll found that no block above finality is left. */
  isSuspicious = false;
  /** Responses that still have to be complete before nodes are trusted again after one of them left facts out. */
  #distrust = 0;
  /** What was to become final at the end of the last poll. */
  candidate: BlockRef | null = null;
  confirm: ConfirmProgress | null = null;
  backfill: BackfillProgress | null = null;
  backfillTurn = 0;
  readonly backfillRanges = new Map<string, BlockRange>();
  /** How often the transaction of a lost fact was asked for and was in no block. */
  readonly absences = new Map<string, number>();

  /** After a response that left out so many facts. */
  noteOmissions(count: number): void {
    this.#distrust = count > 0 ? DISTRUSTED_RESPONSES : Math.max(0, this.#distrust - 1);
  }

  get isInDoubt(): boolean {
    return this.#distrust > 0;
  }

  /** Another holder may have moved the network since. */
  begin({ token, state }: Lease): void {
    this.polls++;
    if (this.token === token) return;
    this.token = token;
    this.range = new BlockRange(state.rangeBlocks);
    this.head = null;
    this.lowHead = null;
    this.shortForks = 0;
    this.isSuspicious = false;
    this.agreed = null;
    this.candidate = null;
    this.confirm = null;
    this.backfill = null;
    this.backfillRanges.clear();
    this.absences.clear();
  }
}
