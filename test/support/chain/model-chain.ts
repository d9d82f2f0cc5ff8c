import type { Log } from '../../../src/chain/evm/rpc/types.ts';

/**
 * A chain in memory, for tests by the ten thousand: blocks, transactions with logs, and forks of any depth. Its branches are
 * kept, so that a node that is behind still sees the branch that was left (`model-node.ts`).
 */

export type ModelLog = Pick<Log, 'address' | 'topics' | 'data'>;

export type ModelTransaction = {
  readonly hash: string;
  readonly logs: readonly ModelLog[];
  readonly isSuccess: boolean;
  /** The coin that it moves directly. */
  readonly transfer?: ModelTransfer;
};

export type ModelTransfer = { readonly from: string; readonly to: string; readonly value: bigint };

export type ModelBlock = {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampS: number;
  readonly transactions: readonly ModelTransaction[];
  readonly logs: readonly Log[];
};

/** What a node that has followed the network so far sees: the first `length` blocks of a branch. */
export type View = { readonly blocks: readonly ModelBlock[]; readonly length: number };

export type TransactionOptions = {
  readonly logs?: readonly ModelLog[];
  readonly isSuccess?: boolean;
  readonly transfer?: ModelTransfer;
};

export const GENESIS_S = 1_700_000_000;

export class ModelChain {
  /** Every head that the network had, the newest last. */
  readonly views: View[] = [];
  /** Every block of any branch that has the transaction. */
  readonly blocksOf = new Map<string, ModelBlock[]>();
  #branch: ModelBlock[] = [];
  #hashes = 0;

  constructor(readonly blockTimeS = 2) {
    this.mine();
  }

  get head(): number {
    return this.#branch.length - 1;
  }

  get blocks(): readonly ModelBlock[] {
    return this.#branch;
  }

  transaction({ logs = [], isSuccess = true, ...others }: TransactionOptions = {}): ModelTransaction {
    return { hash: this.#hash('a'), logs, isSuccess, ...others };
  }

  /** One block with these transactions; its head is seen by the nodes. */
  mine(transactions: readonly ModelTransaction[] = []): ModelBlock {
    const block = this.#append(transactions);
    this.#show();
    return block;
  }

  mineEmpty(count: number): void {
    for (let block = 0; block < count; block++) this.mine();
  }

  /** Replaces the newest blocks by others: nodes see the last one of them next. Returns the transactions that were dropped. */
  fork(depth: number, blocks: readonly (readonly ModelTransaction[])[]): ModelTransaction[] {
    const kept = Math.max(1, this.#branch.length - depth);
    const dropped = this.#branch.slice(kept).flatMap(({ transactions }) => transactions);
    // A new list: views of the branch that was left keep theirs.
    this.#branch = this.#branch.slice(0, kept);
    for (const transactions of blocks) this.#append(transactions);
    this.#show();
    return dropped;
  }

  /** The canonical logs up to this block. */
  logs(to = this.head): Log[] {
    return this.#branch.slice(0, to + 1).flatMap(({ logs }) => logs);
  }

  #append(transactions: readonly ModelTransaction[]): ModelBlock {
    const number = this.#branch.length;
    const hash = this.#hash('b');
    const logs = transactions
      .flatMap((transaction) => transaction.logs.map((log) => ({ ...log, transactionHash: transaction.hash })))
      .map((log, logIndex) => ({ ...log, blockNumber: number, blockHash: hash, logIndex }));
    const parentHash = this.#branch.at(-1)?.hash ?? `0x${'0'.repeat(64)}`;
    const timestampS = Math.floor(GENESIS_S + number * this.blockTimeS);
    const block = { number, hash, parentHash, timestampS, transactions, logs };
    this.#branch.push(block);
    for (const { hash: name } of transactions) this.blocksOf.set(name, [...(this.blocksOf.get(name) ?? []), block]);
    return block;
  }

  #show(): void {
    this.views.push({ blocks: this.#branch, length: this.#branch.length });
  }

  #hash(kind: string): string {
    return `0x${kind}${(++this.#hashes).toString(16).padStart(63, '0')}`;
  }
}

export function addressOf(number: number): string {
  return `0x${number.toString(16).padStart(40, '0')}`;
}

export function wordOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
