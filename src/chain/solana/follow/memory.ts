import { BoundedMap } from '../../../bounded-map.ts';
import type { AccountProgress } from '../../../store/chain/network-store.ts';
import { Memory } from '../../follow/memory.ts';
import type { Transaction } from '../decode/transaction.ts';
import type { ListedSignature } from '../rpc/calls.ts';

/** Keys, balances and texts together, as in most transactions a few kilobytes each. */
const MAX_CACHED_KEYS = 200_000;

/** The end of a slot, up to which a list of an account closes. */
export type Closing = { readonly balance: bigint; readonly signature: string; readonly before: string | null };

/** One reading of the list of an account. */
export type AccountList = {
  readonly voter: string;
  /** The finality when it was read. */
  readonly final: number;
  /** By slot: a digest of all transactions from the cursor to the end of the slot. */
  readonly digests: ReadonlyMap<number, string>;
  /** By slot: the balance after it, if the next transaction or the account itself confirms the balance. */
  readonly closings: ReadonlyMap<number, Closing>;
};

/** A difference of balances that no listed transaction explains. */
export type Gap = {
  readonly name: string;
  /** The head at which it was first found. */
  readonly head: number;
  readonly voters: Set<string>;
  readonly nodes: Set<string>;
};

/** The state of one account. One list is enough to learn it again. */
export type AccountMemory = {
  /** The balance that the listed transactions explain; null if the account must be listed. */
  known: bigint | null;
  /** Newest first, one of each voter. */
  lists: readonly AccountList[];
  gap: Gap | null;
  /** The newest slot above the cursor that has a transaction; null if there is none. */
  newestSlot: number | null;
  /** When it was listed last. */
  listedAtMs: number;
};

/** The transactions of a source that were listed for its backfill. */
export type Backfill = {
  readonly source: string;
  readonly lastBlock: number;
  /** Lists that are still to be read: of each account by each of two nodes. */
  pending: { readonly account: string; readonly pass: number; before: string | null }[];
  readonly signatures: Map<string, ListedSignature>;
  /** Oldest first, once everything is listed. */
  queue: readonly ListedSignature[] | null;
  done: number;
};

/** The part of a follower's memory that only Solana needs. */
export class SolanaMemory extends Memory {
  readonly rangeBlocks = 1;
  /** The highest slot that a poll has read; it may be ahead of the stored one. */
  head: number | null = null;
  headS: number | null = null;
  /** The stored progress of accounts; null if it must be read again. */
  progress: Map<string, AccountProgress> | null = null;
  readonly accounts = new Map<string, AccountMemory>();
  /** By signature. A reorg may put a transaction into another slot, or change its balances. */
  readonly transactions = new BoundedMap<string, Transaction>(MAX_CACHED_KEYS, { weigh: ({ keys }) => keys.length });
  /** By fact and slot: the voters that call it finalized there. */
  finalVotes = new Map<string, Set<string>>();
  /** By fact: the voters that do not have it. */
  absences = new Map<string, Set<string>>();
  /** By signature and slot: the voters that call a transaction finalized that was found at or below finality. */
  readonly lateVotes = new BoundedMap<string, Set<string>>(10_000);
  /** Polls in a row in which the node was behind. */
  behind = 0;
  backfill: Backfill | null = null;
  /** Polls until other nodes are asked for a second list; accounts take turns. */
  turn = 0;

  accountOf(account: string): AccountMemory {
    let known = this.accounts.get(account);
    if (known === undefined) {
      known = { known: null, lists: [], gap: null, newestSlot: null, listedAtMs: Number.NEGATIVE_INFINITY };
      this.accounts.set(account, known);
    }
    return known;
  }

  protected forget(): void {
    this.head = null;
    this.headS = null;
    this.progress = null;
    this.accounts.clear();
    this.transactions.clear();
    this.finalVotes.clear();
    this.absences.clear();
    this.lateVotes.clear();
    this.backfill = null;
  }
}
