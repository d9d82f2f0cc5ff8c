import { BoundedMap } from '../../../bounded-map.ts';
import type { AccountProgress } from '../../../store/chain/network-store.ts';
import { Memory } from '../../follow/memory.ts';
import type { Transaction } from '../decode/transaction.ts';
import type { ListedSignature } from '../rpc/calls.ts';

/** Limit on the keys of all cached transactions together. Most transactions take a few kilobytes. */
const MAX_CACHED_KEYS = 200_000;

/** The state of an account at the end of a slot up to which a list explains its balance. */
export type Closing = { readonly balance: bigint; readonly signature: string; readonly before: string | null };

/** One reading of the list of an account. */
export type AccountList = {
  readonly voter: string;
  /** The final slot when the list was read. */
  readonly final: number;
  /** By slot: a digest of all transactions from the cursor to the end of the slot. */
  readonly digests: ReadonlyMap<number, string>;
  /** By slot: the balance after the slot, if the next transaction or the account itself confirms the balance. */
  readonly closings: ReadonlyMap<number, Closing>;
};

/** A difference of balances that no listed transaction explains. */
export type Gap = {
  readonly name: string;
  /** The head at which the gap was first found. */
  readonly head: number;
  readonly voters: Set<string>;
  readonly nodes: Set<string>;
};

/** The state of one account, which can be learned again from one list. */
export type AccountMemory = {
  /** The balance that the listed transactions explain; null if the account must be listed. */
  known: bigint | null;
  /** Newest first, one list of each voter. */
  lists: readonly AccountList[];
  gap: Gap | null;
  /** The newest slot above the cursor that has a transaction; null if there is none. */
  newestSlot: number | null;
  /** When the account was last listed. */
  listedAtMs: number;
};

/** The transactions of a source that were listed for its backfill. */
export type Backfill = {
  readonly source: string;
  readonly lastBlock: number;
  /** Lists that must still be read: two of each account, from two nodes if there are two. */
  pending: { readonly account: string; readonly pass: number; before: string | null }[];
  readonly signatures: Map<string, ListedSignature>;
  /** The transactions to read, oldest first; null until all lists are read. */
  queue: readonly ListedSignature[] | null;
  done: number;
};

/** The part of a follower's memory that only Solana needs. */
export class SolanaMemory extends Memory {
  readonly rangeBlocks = 1;
  /** The highest slot that a poll has read. It may be ahead of the stored head. */
  head: number | null = null;
  headS: number | null = null;
  /** The stored progress of accounts; null if it must be read again. */
  progress: Map<string, AccountProgress> | null = null;
  readonly accounts = new Map<string, AccountMemory>();
  /** By signature. A reorg may put a transaction into another slot, or change its balances. */
  readonly transactions = new BoundedMap<string, Transaction>(MAX_CACHED_KEYS, { weigh: ({ keys }) => keys.length });
  /** By fact and slot: the voters that call the fact finalized in the slot. */
  finalVotes = new Map<string, Set<string>>();
  /** By fact: the voters that do not have the fact. */
  absences = new Map<string, Set<string>>();
  /**
   * By signature and slot, for transactions found at or below finality: the voters that call the transaction finalized.
   */
  readonly lateVotes = new BoundedMap<string, Set<string>>(10_000);
  /** Polls in a row in which the node was behind. */
  behind = 0;
  backfill: Backfill | null = null;
  /** Rises with each use, so that nodes and accounts take turns. */
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
