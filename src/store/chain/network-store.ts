import type { CallMinute } from '../../domain/chain/call-minutes.ts';
import type { BlockRef, FactChange, FactKey, StoredFact } from '../../domain/chain/facts.ts';
import type { SourceDefinition } from '../../domain/chain/source-definition.ts';
import type { LearnedDepth } from '../../domain/chain/witnesses.ts';
import type { Book } from './addresses/address-set.ts';

/** How far a network was followed, as the last step left it. */
export type NetworkState = {
  /** The newest block whose logs are stored. */
  readonly tip: BlockRef | null;
  /** Blocks that were canonical when they were read: newest first, at most `MAX_ANCHORS`, the tip among them. */
  readonly anchors: readonly BlockRef[];
  readonly head: number | null;
  /** `safe` and `final` only rise. */
  readonly safe: number | null;
  readonly final: number | null;
  /** How many blocks the nodes were last able to read in one call. */
  readonly rangeBlocks: number | null;
  readonly blockTimeMs: number | null;
  readonly haltedAtMs: number | null;
  readonly haltedReason: string | null;
  /** The timestamp of the head, in seconds, and the database's time at which another head was seen. */
  readonly headS: number | null;
  readonly headChangedAtMs: number | null;
  readonly learnedDepth: LearnedDepth;
  /** How long blocks usually take to become final. */
  readonly finalLagMs: number | null;
};

/**
 * | reason             | meaning                                                                   |
 * |--------------------|---------------------------------------------------------------------------|
 * | `head_old`         | no node has a new block                                                   |
 * | `nodes_disagree`   | the nodes have different blocks at the same height                        |
 * | `final_waits`      | payments wait for finality, and too few nodes agree on what is final      |
 * |                    | or have decided about a payment that one of them shows                    |
 * | `payment_disputed` | as many nodes deny a payment as show it                                   |
 */
export type StallReason = 'head_old' | 'nodes_disagree' | 'final_waits' | 'payment_disputed';

/** Why a network stalls, and which node causes it; null if no single node does. */
export type Trouble = { readonly reason: StallReason; readonly node: string | null };

export const MAX_ANCHORS = 256;
/** How many changes of facts one step holds. */
export const MAX_STEP_CHANGES = 1_000;

export type SourceKey = { readonly entityId: string; readonly sourceId: string };

/** A source that is not paused. */
export type FollowedSource = SourceKey & {
  readonly networkId: number;
  /** In lower case, like all values that are compared with a log. */
  readonly contract: string;
  /** The first topic of its logs. */
  readonly topic: string;
  /**
   * The values that the source takes, for each topic of a log. `topic` is the first one. If the list is null or absent, the topic
   * may have any value.
   */
  readonly topics?: readonly (readonly string[] | null)[];
  readonly definition: SourceDefinition;
  readonly fromBlock: number;
  /** Whether the source reads the payments of invoices; absent if a request created the source. */
  readonly isForInvoices?: boolean;
  /** Blocks up to this one are history. */
  readonly createdHead: number;
  readonly deliverHistory: boolean;
  /** The blocks that are still to be read for this source alone; both are null until the follower has seen the source. */
  readonly nextBlock: number | null;
  readonly lastBlock: number | null;
  /** Counts the definitions of the source, from 1. */
  readonly revision?: number;
  /** The first block of this definition, if there are earlier ones. */
  readonly appliesFrom?: number;
  /** The last block of this definition; absent for the newest one. */
  readonly untilBlock?: number;
  /** Definitions for blocks before `appliesFrom`, oldest first. */
  readonly earlier?: readonly SourceVersion[];
  /** The addresses of which one must be in the topic `place`; absent for a source without an address book. */
  readonly book?: Book;
  /** The number of the last change of the source's book. */
  readonly bookRevision?: number;
  /** The number of the last change of the book that made the source read earlier blocks again. */
  readonly rereadRevision?: number;
};

/** A definition that a source had, and the blocks for which it counts. */
export type SourceVersion = Required<Pick<FollowedSource, 'revision' | 'definition' | 'fromBlock' | 'untilBlock'>> & {
  readonly topics: FollowedSource['topics'];
};

/**
 * Returns the source once for each of its definitions, with the blocks of the definition. The oldest stored definition counts for
 * all blocks before it too.
 */
export function versionsOf(source: FollowedSource): readonly FollowedSource[] {
  const { earlier = [], appliesFrom, fromBlock } = source;
  if (earlier.length === 0) return [source];
  const { topics: _, ...rest } = source;
  const versions = earlier.map(({ topics, ...version }, place) => ({
    ...rest,
    ...version,
    ...(topics === undefined ? {} : { topics }),
    fromBlock: place === 0 ? fromBlock : version.fromBlock,
    earlier: [],
  }));
  return [...versions, { ...source, fromBlock: appliesFrom ?? fromBlock, earlier: [] }];
}

/** The right to follow a network until another instance takes it, with the stored state of the network. */
export type Lease = {
  readonly networkId: number;
  /** Counts the holders, so that a late holder cannot write. */
  readonly token: number;
  readonly state: NetworkState;
  /** In the order of their creation. */
  readonly sources: readonly FollowedSource[];
  /** The number of the last change of an address book on the network. */
  readonly bookRevision?: number;
  /** The first block to read if there is no tip; null begins at the head. */
  readonly startBlock: number | null;
  /** Facts whose block is gone, at most 1,000. */
  readonly lost: readonly StoredFact[];
  /**
   * Held events for whose transactions the follower must ask nodes, at most 50. First come one event of each entity, then a
   * second one of each.
   */
  readonly held: readonly StoredFact[];
  /** The nodes as the last step left them. */
  readonly nodes: readonly NodeHealth[];
  /** Facts at or below finality that are not final, because too few nodes have shown them: at most 100. */
  readonly unconfirmed: readonly StoredFact[];
  /** Whether a payment or a held event waits for finality. */
  readonly isWaiting: boolean;
  /** Whether a node has to be asked for balances of invoices. */
  readonly areBalancesDue: boolean;
  /** The database's time. */
  readonly nowMs: number;
};

/**
 * | state                | meaning                                                                       |
 * |----------------------|-------------------------------------------------------------------------------|
 * | `ok`                 | the node responds and keeps up                                                |
 * | `behind`             | its head is some blocks below the head of another node                        |
 * | `frozen`             | its head has not changed for three block times, and another node has more     |
 * | `failing`            | its last call failed                                                          |
 * | `wrong_chain`        | it is on another network, or has another block at finality                    |
 * | `final_not_credible` | it calls blocks final that are too near to its head, or calls none final      |
 * | `implausible`        | its head is far above all others, or in the future                            |
 */
export type NodeState = 'ok' | 'behind' | 'frozen' | 'failing' | 'wrong_chain' | 'final_not_credible' | 'implausible';

/** The health of a node, without its URL, because the URL may contain a key. */
export type NodeHealth = {
  /** The network and the node's place in the setting, as in `8453#1`. */
  readonly name: string;
  readonly state: NodeState;
  readonly head: number | null;
  /** The timestamp of its head, in seconds. */
  readonly headS: number | null;
  /** Blocks from its head to the highest head of that moment. */
  readonly behindBlocks: number | null;
  /** The newest block that it calls final. */
  readonly finalized: number | null;
  /** The kind of the last failure. */
  readonly lastError: string | null;
  readonly lastOkAtMs: number | null;
  readonly limits: NodeLimits;
  /** The calls of the process that follows the network, by minute, for an hour. */
  readonly calls: readonly CallMinute[];
};

/** Limits that Paybell found by trial, and with which the next process starts. Only the cost of calls depends on them. */
export type NodeLimits = { readonly batch: BatchLimit | null; readonly logs: LogLimit | null };

export type BatchLimit = {
  /** The calls that the node accepts in one request. */
  readonly size: number;
  /** The time of day until which Paybell tries no larger size; null if it tries one again soon. */
  readonly untilMs: number | null;
};

/** The blocks of one `eth_getLogs`: the most that worked, and the fewest that the node refused. */
export type LogLimit = {
  readonly good: number | null;
  readonly refused: number;
  /** The time of day until which Paybell asks for fewer blocks; null if it tries more again soon. */
  readonly untilMs: number | null;
};

/** How far the backfill of a source has come. It is done if `nextBlock` is past `lastBlock`. */
export type BackfillProgress = SourceKey & { readonly nextBlock: number; readonly lastBlock: number };

/** The cost of a source since the last step that stored it. */
export type SourceCost = SourceKey & { readonly requests: number; readonly logs: number };

export type AskedFact = FactKey & { readonly isAbsent: boolean };

/** An invoice for whose balance a node has to be asked. */
export type DueBalance = { readonly entityId: string; readonly invoiceId: string; readonly address: string };

/** The balance that a node returned, in the smallest unit; null if it returned none. */
export type ReadBalance = Pick<DueBalance, 'entityId' | 'invoiceId'> & { readonly balance: bigint | null };

/** How far an account was read, on a network that is read by account. */
export type AccountProgress = {
  readonly account: string;
  /** The owner of the account, and its token as in facts. */
  readonly wallet: string;
  readonly contract: string;
  /** All transactions of the account up to this slot are stored. */
  readonly cursorSlot: number;
  /** The balance after these transactions, in the smallest unit. */
  readonly cursorBalance: string;
  /** A transaction of an earlier slot, at which the next list of transactions ends. Null if the list goes back to `cursorSlot`. */
  readonly untilSignature: string | null;
  /** A transaction of `cursorSlot`. */
  readonly lastSignature: string | null;
  /** When the account was last listed although its balance was the same, by the database's time. */
  readonly sweptAtMs: number;
};

/** The results of a poll, or of a part of it, written in one transaction. */
export type Step = {
  readonly tip: BlockRef | null;
  /** The anchors after this step. */
  readonly anchors: readonly BlockRef[];
  readonly head: number;
  readonly safe: number | null;
  readonly final: number | null;
  readonly rangeBlocks: number;
  readonly blockTimeMs: number | null;
  /** At most `MAX_STEP_CHANGES`, cut at a block boundary. */
  readonly changes: readonly FactChange[];
  readonly backfilled: readonly BackfillProgress[];
  /** Accounts whose progress changed, and accounts that are no longer read. Absent on networks with logs. */
  readonly accounts?: readonly AccountProgress[];
  readonly droppedAccounts?: readonly string[];
  /** The final block up to which all payments to accounts are stored. */
  readonly readFinal?: number | null;
  /** The held facts whose transaction was asked for, and whether it was absent. */
  readonly asked: readonly AskedFact[];
  readonly costs: readonly SourceCost[];
  readonly nodes: readonly NodeHealth[];
  readonly headS: number | null;
  /** The timestamp of the tip, in seconds; absent or null if it is not known. */
  readonly tipS?: number | null;
  readonly learnedDepth: LearnedDepth;
  readonly finalLagMs: number | null;
  readonly trouble: Trouble | null;
  /** The nodes that must agree on what is final. */
  readonly witnessesNeeded: number;
};

/** The part of the store that the follower of a network uses. */
export interface FollowerStore {
  /** Takes or renews the lease; null while another instance holds it. */
  lease(networkId: number): Promise<Lease | null>;
  /** The facts of these blocks that are `seen` or `final`. */
  factsIn(networkId: number, from: number, to: number): Promise<StoredFact[]>;
  /** The facts with these keys, in any state. */
  factsOf(keys: readonly FactKey[]): Promise<StoredFact[]>;
  /** The accounts of a network that is read by account. */
  accounts(networkId: number): Promise<AccountProgress[]>;
  /** Returns false, and writes nothing, if another instance now holds the lease. */
  commit(lease: Lease, step: Step): Promise<boolean>;
  halt(lease: Lease, reason: string): Promise<void>;
  /** Queues the next alerts about the network. A task queues the alerts of a halt. */
  queueAlerts(lease: Lease): Promise<void>;
  /** The balances to ask for, at most 50. */
  dueBalances(networkId: number): Promise<readonly DueBalance[]>;
  noteBalances(balances: readonly ReadBalance[]): Promise<void>;
  /** Returns false if another instance now holds the lease. */
  pauseSources(lease: Lease, sources: readonly SourceKey[], reason: string): Promise<boolean>;
}
