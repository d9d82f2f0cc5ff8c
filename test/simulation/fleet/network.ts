import type { ChainReader } from '../../../src/chain/follow/reader.ts';
import type { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { FactChange } from '../../../src/domain/chain/facts.ts';
import type { Lease, Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import type { PreparedSource } from '../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../src/store/database/database.ts';
import type { ModelChain } from '../../support/chain/model-chain.ts';
import { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { PaymentFields } from './amounts.ts';
import type { Provider } from './provider.ts';

/** A transaction of the network, in any block or in none. */
export type Transaction = { readonly hash: string };

/** A transaction that pays a contract or a wallet, and the fields of its payload. */
export type NewPayment = { readonly transaction: Transaction; readonly fields: PaymentFields };

/** A chain whose payments can be those of invoices. */
export type InvoicedChain = {
  readonly chain: ModelChain;
  /** The time of the newest block, in Unix seconds. */
  readonly timeS: number;
  /** A transaction that pays an address in the token of invoices, in no block yet. */
  readonly transfer: (address: string, base: bigint) => Transaction;
};

/** A model of a network with the nodes that Paybell asks, and the reader of its family. */
export interface Network {
  readonly networkId: number;
  /** The URLs that the settings name. */
  readonly providers: readonly Provider[];
  /** What was written about the facts of the network. */
  readonly steps: WrittenStep[];
  /** The number of the newest block. */
  readonly head: number;
  readonly maxReorgDepth: number;
  /** Rounds of new blocks at the end of a run: at least so many, and the most if payments are not final by then. */
  readonly lastRounds: { readonly least: number; readonly most: number };
  /** Hashes of the transactions that a reorg can still remove. */
  readonly recent: ReadonlySet<string>;
  /** Null on a network without invoices. */
  readonly invoiced: InvoicedChain | null;
  /** The least time from one poll to the next; null for none. */
  readonly pollMs: number | null;

  /** Each instance knows the health of the nodes by itself. */
  nodesFor(): Nodes;
  readerFor(db: Database): ChainReader;
  storeFor(db: Database, holder: string): NetworkStore;
  /** A source for all payments to a contract or wallet, with those before the source. */
  source(contract: number): PreparedSource;
  /** The fields of a payment that a sender names. */
  paymentOf(amount: number): PaymentFields;
  /** A payment that no block has yet. */
  newPayment(contract: number): NewPayment;
  /** A transaction without a payment, which an event is held for. */
  newTransaction(): Transaction;
  append(transactions?: readonly Transaction[]): void;
  /** Replaces the newest blocks. The transactions that are not dropped are in the new blocks, in any of them. */
  reorg(depth: number, isDropped: (hash: string) => boolean, draw: Random): void;
  isCanonical(transaction: Transaction): boolean;
  /** Whether the network would take a transaction into its next block. */
  mayAppend(transaction: Transaction): boolean;
  /** The number of the block on the chain that has the transaction; null for none. */
  blockOf(transaction: Transaction): number | null;
  /** Begins the fault of every node behind a URL, by its position in `providers`. */
  misbehave(fault: string, position: number): void;
  /** Lets one node lag, limit the rate or fail. Returns what ends that. */
  disturb(draw: Random): () => void;
  heal(): void;
}

/** Faults of nodes by name. */
export type NodeFaults = Readonly<Record<string, NodeFault>>;
export type NodeFault = {
  /** Whether it needs other nodes: nobody else would notice it, or the node would contradict what it has called final. */
  readonly needsOthers?: boolean;
};

/** So that the number of nodes changes no other number that a seed draws. */
const NODES = 0x40de5;

/** The nodes that the settings name. */
export function nodesOf(seed: number): number {
  return new Random(seed ^ NODES).oneOf(1, 2, 3, 5);
}

/** An attempt to write changes of facts: the commit is somewhere in its time, if there is one. */
export type WrittenStep = {
  readonly changes: readonly FactChange[];
  readonly startMs: number;
  /** Infinite while it is under way, and if its outcome is unknown. */
  endMs: number;
  isCommitted: boolean;
};

/** The real one, with a record of what it was asked to write. */
export class ObservedNetworkStore extends NetworkStore {
  constructor(
    db: Database,
    holder: string,
    private readonly steps: WrittenStep[],
  ) {
    const sources = new FollowedSources();
    super(db, holder, (queries, networkId) => sources.read(queries, networkId));
  }

  override async commit(lease: Lease, step: Step): Promise<boolean> {
    const { changes } = step;
    const written: WrittenStep = { changes, startMs: world.nowMs, endMs: Number.POSITIVE_INFINITY, isCommitted: false };
    if (changes.length > 0) this.steps.push(written);
    written.isCommitted = await super.commit(lease, step);
    written.endMs = world.nowMs;
    return written.isCommitted;
  }
}
